## ---- nexmark ----

.PHONY: run nexmark nexmark-quick nexmark-report profile

run: need-go need-gcc need-jdk need-mvn ## Nexmark Q=q18 EVENTS=2000000 with stock Flink and with Drey, compared
	@nexmark/run.sh

# Figures to keep: every query, fresh JVMs, alternating. nexmark/run.sh lists what else can be set.
nexmark: need-go need-gcc need-jdk need-mvn ## every Nexmark query, measured in fresh JVMs: Q=all PAIRS=5 RUNG=replay BACKEND=heap
	@Q=$${Q:-all} PAIRS=$${PAIRS:-5} FRESH_JVM=$${FRESH_JVM:-true} CSV=$${CSV:-nexmark/out/results.csv} RESUME=true nexmark/run.sh && nexmark/run.sh report

nexmark-quick: need-go need-gcc need-jdk need-mvn ## every Nexmark query once, small: results compared, figures rough
	@Q=$${Q:-all} EVENTS=$${EVENTS:-300000} WARMUP=$${WARMUP:-50000} nexmark/run.sh

# Both engines under async-profiler: flame graphs and stacks in nexmark/out/profile.
profile: need-go need-gcc need-jdk need-mvn ## where the CPU of Q=q18 goes with either engine, by layer, side by side
	@PROFILE=nexmark/out/profile EVENTS=$${EVENTS:-5000000} WARMUP=$${WARMUP:-1000000} nexmark/run.sh

nexmark-report: need-jdk need-mvn ## tables and nexmark/out/report.html from what `make nexmark` has measured (README=README.md: also there)
	@nexmark/run.sh report
