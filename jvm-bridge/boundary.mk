# The boundary between the JVM and the library: what it costs, and how much abuse it bears.
SECONDS ?= 120

.PHONY: bench-boundary soak soak-signals

bench-boundary: ## JMH: nanoseconds of a native call, and of batches of rows in and out
	@$(MAKE) bench-jmh BENCH=BoundaryJmh

soak:: soak-signals

soak-signals: lib need-mvn ## signal stress for SECONDS=120 in each of four JVM set-ups
	@$(MVN) -pl :drey-flink test -Dtest=SignalStressTest -Dsurefire.failIfNoSpecifiedTests=false -Ddrey.stress.seconds=$(SECONDS)
