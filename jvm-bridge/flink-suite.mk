# Flink's own published tests with Drey on: make flink-suite CLASSES='DeduplicateITCase @deduplicate' [FLINK=2.2.1]
#   OPTIONS='drey.batch.rows=1' sets options of Drey.
#   REWRITE=1 writes what this run did into the baseline. SHARE=1 runs all classes in one virtual machine.
CLASSES ?= @all
# 2.3.0 unless asked otherwise: the one line whose test helpers are all published.
FLINK_SUITE_LINE = $(if $(filter file,$(origin FLINK)),2.3.0,$(FLINK))
FLINK_SUITE_OUT = jvm-bridge/flink-suite/target/flink-$(FLINK_SUITE_LINE)

flink-suite-build: lib need-mvn
	@$(MVN) -q -Pflink-suite -pl :drey-flink-suite -am -Dflink.version=$(FLINK_SUITE_LINE) process-test-classes

flink-suite: flink-suite-build ## Flink's own tests with Drey on (CLASSES=, FLINK=, REWRITE=1)
	@"$$JAVA_HOME/bin/java" -cp $(FLINK_SUITE_OUT)/test-classes:$$(cat $(FLINK_SUITE_OUT)/class-path) \
	  -Ddrey.suite.module=jvm-bridge/flink-suite -Ddrey.suite.out=$(FLINK_SUITE_OUT) -Ddrey.suite.flink=$(FLINK_SUITE_LINE) \
	  $(OPTIONS:%=-D%) $(if $(REWRITE),-Ddrey.suite.rewrite=true) $(if $(SHARE),-Ddrey.suite.share=true) drey.suite.FlinkSuite $(CLASSES)

flink-suite-quick: ## a short selection of flink-suite, for make test
	@$(MAKE) flink-suite CLASSES=@quick SHARE=1

flink-suite-coverage: flink-suite-build ## write the table of native and stock executions from the baselines into the README
	@"$$JAVA_HOME/bin/java" -cp $(FLINK_SUITE_OUT)/test-classes:$$(cat $(FLINK_SUITE_OUT)/class-path) \
	  -Ddrey.suite.module=jvm-bridge/flink-suite drey.suite.WhyStock jvm-bridge/flink-suite/README.md $(FLINK_LINES)

.PHONY: flink-suite flink-suite-coverage flink-suite-build flink-suite-quick
