#!/bin/bash
# go.sh run PACKAGES BENCH COUNT BENCHTIME: Go benchmarks into bench/out/go.txt, and benchstat's summary of it.
# go.sh benchstat ARGS...: benchstat, built from the pinned tools.
set -euo pipefail
cd "$(dirname "$0")/.."

benchstat() {
  mkdir -p .ci/bin
  (cd .ci/tools && go build -o ../bin/ golang.org/x/perf/cmd/benchstat)
  .ci/bin/benchstat "$@"
}

case $1 in
run)
  mkdir -p bench/out
  # shellcheck disable=SC2086
  go test -run '^$' -bench "$3" -count "$4" -benchtime "$5" -short -timeout 60m $2 | tee bench/out/go.txt | grep --line-buffered -E '^(pkg|FAIL|ok)' >&2
  ! grep -q '^FAIL' bench/out/go.txt
  benchstat bench/out/go.txt
  ;;
benchstat)
  shift
  benchstat "$@"
  ;;
*)
  sed -n '2,3s/^# //p' "$0" >&2
  exit 2
  ;;
esac
