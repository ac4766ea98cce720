# A real cluster of separate processes; part of test-java, here by itself.
CLUSTER_MVN = $(MVN) -pl :drey-cluster -am verify -Dtest=None -Dsurefire.failIfNoSpecifiedTests=false
SUBMISSIONS ?= 200

.PHONY: test-cluster soak

test-cluster: lib need-mvn ## the cluster tests alone: kill -9, savepoint, repeated submission
	@$(CLUSTER_MVN)

soak:: soak-signals ## long runs: signal stress, then SUBMISSIONS=200 jobs in the same TaskManagers

soak:: lib need-mvn
	@$(CLUSTER_MVN) -Dit.test='OperatorsClusterIT#jobsComeAndGo' -Dsubmissions=$(SUBMISSIONS)
