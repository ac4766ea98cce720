# The boundary between the JVM and the library: what it costs, and how much abuse it bears.
SECONDS ?= 120

.PHONY: bench-boundary soak soak-signals

BOUNDARY_OUT = jvm-bridge/target/flink-$(FLINK)

bench-boundary: lib need-mvn ## nanoseconds of a native call, and of a row in and out
	@$(MVN) -q -pl :drey-flink test-compile dependency:build-classpath -Dmdep.outputFile=$(CURDIR)/$(BOUNDARY_OUT)/test-class-path -Dmdep.includeScope=test
	@"$$JAVA_HOME/bin/java" -cp $(BOUNDARY_OUT)/classes:$(BOUNDARY_OUT)/test-classes:$$(cat $(BOUNDARY_OUT)/test-class-path) drey.batch.BoundaryBenchmark

soak:: soak-signals

soak-signals: lib need-mvn ## signal stress for SECONDS=120 in each of four JVM set-ups
	@$(MVN) -pl :drey-flink test -Dtest=SignalStressTest -Dsurefire.failIfNoSpecifiedTests=false -Ddrey.stress.seconds=$(SECONDS)
