## ---- nexmark ----

.PHONY: run nexmark nexmark-quick

run: need-go need-gcc need-jdk need-mvn ## Nexmark Q=q18 EVENTS=2000000 with stock Flink and with Drey, compared
	@nexmark/run.sh

# Figures to keep: every query, fresh JVMs, alternating. nexmark/run.sh lists what else can be set.
nexmark: need-go need-gcc need-jdk need-mvn ## every Nexmark query, measured in fresh JVMs: Q=all PAIRS=5 RUNG=replay BACKEND=heap
	@Q=$${Q:-all} PAIRS=$${PAIRS:-5} FRESH_JVM=$${FRESH_JVM:-true} CSV=$${CSV:-nexmark/out/results.csv} nexmark/run.sh

nexmark-quick: need-go need-gcc need-jdk need-mvn ## every Nexmark query once, small: results compared, figures rough
	@Q=$${Q:-all} EVENTS=$${EVENTS:-300000} WARMUP=$${WARMUP:-50000} nexmark/run.sh
