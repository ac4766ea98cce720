## ---- nexmark ----

.PHONY: run nexmark nexmark-quick nexmark-scale nexmark-layers nexmark-report nexmark-plans profile

NEXMARK_NEEDS = need-go need-gcc need-jdk need-mvn
RESULTS       = nexmark/out/results.csv

run: $(NEXMARK_NEEDS) ## Nexmark Q=q18 EVENTS=2000000 with stock Flink and with Drey, compared
	@nexmark/run.sh

# Figures to keep: fresh JVMs, alternating, everything that isn't named, the most telling first. Stopped and started again, it goes on.
nexmark: $(NEXMARK_NEEDS) ## all that can be measured, or Q=q18,q19 RUNG=replay BACKEND=rocksdb of it; FACTORS=0: plain settings only, PAIRS=5
	@Q=$${Q:-all} RUNG=$${RUNG:-replay,generator,kafka} BACKEND=$${BACKEND:-heap,rocksdb} MINIBATCH=$${MINIBATCH:-false,true} \
	  PARALLELISM=$${PARALLELISM:-1,2} OBJECT_REUSE=$${OBJECT_REUSE:-true,false} PAIRS=$${PAIRS:-5} FRESH_JVM=true STATE=$${STATE:-true} \
	  CSV=$${CSV:-$(RESULTS)} RESUME=true nexmark/run.sh && rc=0 || rc=$$?; CSV=$${CSV:-$(RESULTS)} nexmark/run.sh report; exit $$rc

nexmark-quick: $(NEXMARK_NEEDS) ## every Nexmark query once, small: results compared, figures rough
	@Q=$${Q:-all} EVENTS=$${EVENTS:-300000} WARMUP=$${WARMUP:-50000} nexmark/run.sh

# Rows to replay take 0.3 KB each: from 20 million on they are made while the query runs.
nexmark-scale: $(NEXMARK_NEEDS) ## how the cost per event grows: Q=q17 at SCALE="1000000 10000000 50000000" events, OPS= at KEYS="10000 ... 10000000" keys
	@nexmark/scale.sh "$(or $(SCALE),1000000 10000000 50000000)" "$(or $(OPS),deduplicate aggregate)" "$(if $(filter command% environment,$(origin KEYS)),$(KEYS),10000 100000 1000000 10000000)"

# Both engines under async-profiler: flame graphs and stacks in nexmark/out/profile.
profile: $(NEXMARK_NEEDS) ## where the CPU of Q=q18 goes with either engine, by layer, side by side
	@PROFILE=nexmark/out/profile EVENTS=$${EVENTS:-5000000} WARMUP=$${WARMUP:-1000000} nexmark/run.sh

nexmark-layers: $(NEXMARK_NEEDS) ## the same for every query, into the report: what is left to win
	@Q=$${Q:-all} CSV=nexmark/out/results-layers.csv PROFILE=nexmark/out/profile nexmark/run.sh

nexmark-report: need-jdk need-mvn ## tables and nexmark/out/report.html from what was measured (README=README.md: also there, and nexmark/RESULTS.md)
	@nexmark/run.sh report

nexmark-plans: $(NEXMARK_NEEDS) ## what is native of each query, and why the rest is not, into nexmark/PLANS.md
	@PLANS=nexmark/PLANS.md nexmark/run.sh
