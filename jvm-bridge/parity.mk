# What runs operators on Flink's harness is among the tests of drey-flink.
PARITY_OUT = jvm-bridge/target/flink-$(FLINK)
PARITY_CP = $(PARITY_OUT)/classes:$(PARITY_OUT)/test-classes:$$(cat $(PARITY_OUT)/test-class-path)

.PHONY: parity-build
parity-build: lib need-mvn
	@$(MVN) -q -pl :drey-flink test-compile dependency:build-classpath -Dmdep.outputFile=$(CURDIR)/$(PARITY_OUT)/test-class-path -Dmdep.includeScope=test

# An operator's changelog against Flink's own, row by row, over more rows than the tests have time for.
PARITY_ROWS = $(if $(filter command%,$(origin ROWS)),$(ROWS),10000000)

.PHONY: parity-full

parity-full: parity-build ## OP=deduplicate on Flink's harness against Flink's own: ROWS=10000000 SEED=
	@"$$JAVA_HOME/bin/java" -Xmx4g -cp $(PARITY_CP) \
	  drey.parity.ParityFull $(OP) $(PARITY_ROWS) $(SEED)

# The same input with other batches, restores, subtasks and kernels: the output must not depend on them.
.PHONY: metamorphic
METAMORPHIC_ROWS = $(if $(filter command%,$(origin ROWS)),$(ROWS),3000)

metamorphic: parity-build ## OPS="deduplicate rank join aggregate" in many ways, one output: ROWS=3000 per subject, SEED=1
	@for op in $(or $(OPS),deduplicate rank join aggregate); do first=; \
	  for kernel in portable $$(if grep -qw vaes /proc/cpuinfo; then echo aesni vaes512; elif [ $$(uname -m) = aarch64 ]; then echo armaes; elif grep -qw aes /proc/cpuinfo; then echo aesni; fi); do \
	    last=$$(DREY_SIMD=$$kernel "$$JAVA_HOME/bin/java" -Xmx2g -cp $(PARITY_CP) \
	      drey.parity.Metamorphic $$op $(METAMORPHIC_ROWS) $(if $(filter command%,$(origin SEED)),$(SEED),1) | tail -1); echo "$$last, kernels $$kernel"; \
	    [ -z "$$first" ] || [ "$$first" = "$$last" ] || { echo "metamorphic: other kernels, other output" >&2; exit 1; }; first=$$last; \
	  done; done
