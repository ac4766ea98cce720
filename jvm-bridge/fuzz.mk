# Random SQL against stock Flink: make fuzz-sql SEED=7 MINUTES=30 [FLINK=2.2.1]; without SEED one is drawn. Several seeds share the time.
MINUTES ?= 5
SEED ?= $(shell od -An -N4 -tu4 /dev/urandom)
FUZZ_OUT = jvm-bridge/fuzz/target/flink-$(FLINK)
FUZZ_JAVA = "$$JAVA_HOME/bin/java" -Xmx3g -Xmn1g -XX:+UseSerialGC $(if $(filter 1 2 3 4 5,$(MINUTES)),-XX:TieredStopAtLevel=1 )-XX:ReservedCodeCacheSize=256m $(foreach p,lang util nio time util.concurrent,--add-opens=java.base/java.$(p)=ALL-UNNAMED) \
  -cp $(FUZZ_OUT)/classes:$$(cat $(FUZZ_OUT)/class-path)

.PHONY: fuzz-sql replay fuzz-sql-build fuzz-sql-quick

fuzz-sql-build: lib need-mvn
	@$(MVN) -q -pl :drey-fuzz -am process-classes

fuzz-sql: fuzz-sql-build ## random SQL, stock Flink against Drey: SEED=, MINUTES=5
	@$(FUZZ_JAVA) drey.fuzz.FuzzSql $(FUZZ_OUT)/found $(MINUTES) $(SEED)

fuzz-sql-quick:
	@$(MAKE) fuzz-sql MINUTES=2 SEED="1 2 3 $$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')"

replay: fuzz-sql-build ## run a case that fuzz-sql has found: F=file
	@$(FUZZ_JAVA) drey.fuzz.Replay $(F)
