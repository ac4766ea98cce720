# An operator's changelog against Flink's own, row by row, over more rows than the tests have time for.
PARITY_ROWS = $(if $(filter command%,$(origin ROWS)),$(ROWS),10000000)

.PHONY: parity-full

parity-full: lib need-mvn ## OP=deduplicate on Flink's harness against Flink's own: ROWS=10000000 SEED=
	@$(MVN) -q -pl :drey-flink test-compile dependency:build-classpath -Dmdep.outputFile=$(CURDIR)/$(BOUNDARY_OUT)/test-class-path -Dmdep.includeScope=test
	@"$$JAVA_HOME/bin/java" -Xmx4g -cp $(BOUNDARY_OUT)/classes:$(BOUNDARY_OUT)/test-classes:$$(cat $(BOUNDARY_OUT)/test-class-path) \
	  drey.parity.ParityFull $(OP) $(PARITY_ROWS) $(SEED)
