# Every verb a developer or CI uses. `make help` lists them; bench/, nexmark/ and jvm-bridge/ add their own in *.mk files.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

FLINK       ?= 2.2.1
FLINK_LINES ?= 2.2.1 2.3.0
FUZZTIME    ?= 30s
JAVA_HOME   ?= $(shell javac=$$(command -v javac) && dirname "$$(dirname "$$(readlink -f "$$javac")")")
export JAVA_HOME

MVN    := .ci/mvn -f jvm-bridge/parent/pom.xml -Dflink.version=$(FLINK)
TALLY  := .ci/bin/tally
LIB    := cgo/build/linux-amd64/libdrey.so
JAR     = jvm-bridge/target/flink-$(FLINK)/drey-flink-0.1.0-SNAPSHOT.jar
EXPORT := $(wildcard cgo/libdrey.map)

.PHONY: help need-% $(TALLY) lib jar test lint test-go test-invariants test-purego test-race test-arm64 test-java fmt fmt-check \
        tidy-check generate-check fuzz hooks clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+::?.*## / { printf "  %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

need-%:
	@.ci/need $*

## ---- build ----

lib: need-go need-gcc need-jdk ## build the native library
	@CGO_ENABLED=1 CGO_CFLAGS="-O2 -I$$JAVA_HOME/include -I$$JAVA_HOME/include/linux" go build -tags jni -buildmode=c-shared \
	  -trimpath -ldflags '-w -X "main.build=@(#)libdrey commit=$(COMMIT);" $(if $(EXPORT),-extldflags "-Wl$(comma)--version-script=$(CURDIR)/$(EXPORT)")' -o $(LIB) ./cgo
	@.ci/licenses cgo/build/licenses

comma  := ,
COMMIT  = $(or $(shell git describe --always --dirty --abbrev=12 2>/dev/null),unknown)

jar: lib need-mvn ## build the jar for FLINK=2.2.1, the one file that goes into Flink's lib/
	@$(MVN) -q -pl :drey-flink package -DskipTests
	@echo $(JAR)

## ---- test ----

test: need-go need-gcc need-jdk need-mvn ## run everything: format, lint, Go in four ways, Java on every Flink line
	@.ci/test $(FLINK_LINES)

lint: need-go need-gcc $(TALLY) ## import directions, forbidden calls, vet, staticcheck, file sizes
	@go test -C .ci/tools ./tally
	@$(TALLY) go lint -count=1 ./native/internal/lint

# The lint package sees every build variant by itself: the other Go stages leave it out.
PACKAGES = $$(go list ./... | grep -v /internal/lint)

test-go: need-go need-gcc $(TALLY) ## Go tests
	@$(TALLY) go test-go $(PACKAGES)

test-invariants: need-go need-gcc $(TALLY) ## Go tests with internal checks switched on
	@$(TALLY) go test-invariants -tags invariants $(PACKAGES)

test-purego: need-go need-gcc $(TALLY) ## Go tests without assembly
	@$(TALLY) go test-purego -tags purego $(PACKAGES)

test-race: need-go need-gcc $(TALLY) ## Go tests under the race detector
	@$(TALLY) go test-race -race -short $(PACKAGES)

test-arm64: need-go ## Go tests of the state engine for arm64, in an emulator (qemu-aarch64-static) on other machines
	@GOARCH=arm64 CGO_ENABLED=0 go test -short -timeout 40m $(if $(filter aarch64 arm64,$(shell uname -m)),,-exec qemu-aarch64-static) ./simd ./rowstate/...

test-java: lib need-mvn $(TALLY) ## Java tests against FLINK=2.2.1 of every module, or of MODULES=:drey-flink
	@rm -rf $(REPORTS)
	@rc=0; $(MVN) -fae $(if $(MODULES),-pl $(MODULES) -am) verify || rc=1; $(TALLY) surefire test-java-$(FLINK) $(REPORTS) || rc=1; exit $$rc

REPORTS = {jvm-bridge,jvm-bridge/*,nexmark,nexmark/broker,bench/jmh}/target/flink-$(FLINK)/{surefire,failsafe}-reports

fuzz: need-go ## run every Go fuzz test for FUZZTIME=30s
	@grep -rl --include='*_test.go' '^func Fuzz' simd rowstate native cgo | while read -r file; do \
	  for f in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$$file"); do \
	    echo "== $$(dirname "$$file") $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) "./$$(dirname "$$file")" </dev/null; done; done

## ---- house ----

fmt: need-go need-jdk need-mvn ## format Go, Java and C
	@.ci/format write

fmt-check: need-go need-jdk need-mvn ## fail on files that `make fmt` would change
	@.ci/format check

tidy-check: need-go ## fail when go.mod is not tidy
	@go mod tidy -diff

hooks: ## check formatting and vet before each commit
	@git config core.hooksPath .githooks

clean: ## remove everything built
	@rm -rf cgo/build .ci/bin nexmark/out bench/out {jvm-bridge,jvm-bridge/*,nexmark,nexmark/*,bench/jmh}/target

$(TALLY):
	@cd .ci/tools && go build -o ../bin/ ./tally

-include bench/*.mk nexmark/*.mk jvm-bridge/*.mk
