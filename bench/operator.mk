## ---- an operator alone ----

OP    ?= deduplicate
ROWS  ?= 2000000
KEYS  ?= $(or $(KEYS.$(OP)),500000)
PAIRS ?= 5

# Of Top-N the keys are partitions, of the retracting one the rows of all partitions, of 10,000 each, or of one. With
# REUSE=true the harness has object reuse on, and nobody knows what comes behind the operator: the native one copies rows then.
KEYS.rank         = 100000
KEYS.rank-retract = 200000
KEYS.rank-million = 1000000

.PHONY: bench-operator
bench-operator: parity-build ## OP=deduplicate|rank|rank-retract|rank-million|join|aggregate alone on Flink's harness, native against stock: ROWS= KEYS= PAIRS= HEAP=6g REUSE=
	@"$$JAVA_HOME/bin/java" -Xmx$(or $(HEAP),6g) $(if $(REUSE),-Ddrey.bench.objectReuse=$(REUSE)) -cp $(PARITY_CP) \
	  drey.parity.OperatorBenchmark $(OP) $(ROWS) $(KEYS) $(PAIRS) $(KEYS_CSV)
