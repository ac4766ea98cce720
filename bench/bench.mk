## ---- benchmarks of parts, and of one revision against another ----

.PHONY: bench-jmh bench-jmh-build bench-go bench-ab

JMH_OUT = bench/jmh/target/flink-$(FLINK)

bench-jmh-build: lib need-mvn
	@$(MVN) -q -Pjmh -pl :drey-jmh -am test-compile

bench-jmh: bench-jmh-build ## JMH: the boundary, and operators beside Flink's on its harness: BENCH='BoundaryJmh|OperatorJmh' JMH='-p operator=join'; results in bench/out/jmh.json
	@mkdir -p bench/out
	@"$$JAVA_HOME/bin/java" -cp $(JMH_OUT)/classes:$$(cat $(JMH_OUT)/class-path) org.openjdk.jmh.Main -foe true -rf json -rff bench/out/jmh.json $(JMH) '$(or $(BENCH),BoundaryJmh|OperatorJmh)'

# Packages of the state engine, of the kernels and of the operators; benchstat gives medians with their confidence.
bench-go: need-go need-gcc ## Go benchmarks with benchstat: PKG='./rowstate/... ./simd/...' BENCH=. COUNT=6 BENCHTIME=0.2s, results in bench/out/go.txt
	@bench/go.sh run "$(or $(PKG),./rowstate/... ./simd/... ./native/...)" "$(or $(BENCH),.)" "$(or $(COUNT),6)" "$(or $(BENCHTIME),0.2s)"

bench-ab: need-go need-gcc ## one revision against another, by turns, with benchstat: A=main~1 B=main PKG=./native/agg BENCH=Push COUNT=6 BENCHTIME=0.2s
	@bench/ab "$(A)" "$(B)" "$(PKG)" "$(or $(BENCH),.)" "$(or $(COUNT),6)" "$(or $(BENCHTIME),0.2s)"
