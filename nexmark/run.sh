#!/bin/bash
# Runs Nexmark queries with stock Flink and with Drey on the same events. Builds what is missing first.
#
#   Q=q18              a query, a comma-separated list of them, or all
#   EVENTS=2000000     events to run
#   RUNG=replay        replay: events prepared in memory; generator: made while the query runs; kafka: JSON in a broker's
#                      topic to another topic, exactly once, a checkpoint every second
#   BACKEND=heap       heap or rocksdb: where stock operators keep their state
#   PARALLELISM=1      OBJECT_REUSE=true  MINIBATCH=false (true: 2 s, 50,000 rows). These three, RUNG and BACKEND may be lists
#   PAIRS=1            how often each engine runs; they alternate
#   FRESH_JVM=false    true: every run in a JVM of its own, warmed up; slower, and what figures should come from
#   FACTORS=9          of a list of settings: how many may differ from the plain ones at a time
#   STATE=false        true: also the state's size, a full checkpoint, and recovery after kill -9, under plain settings
#   PACE=0             events per second of wall time that the source emits; 0: as fast as possible
#   RATE=10000         events per second of event time
#   SEED=1             CHANGELOG=no-update-before (or all)  SINK=digest (or blackhole: nothing is compared)
#   WARMUP=500000      events run with each engine before anything is measured
#   HEAP=              most Java heap (-Xmx); by default enough for the events
#   MANAGED=4g         Flink's managed memory: what native state and RocksDB may use
#   CHECKPOINT=        how often to take one: 1s; none by default, but 1s with RUNG=kafka
#   CONF=              further Flink options: key=value;key=value
#   README=            with `report`: file to write the table of medians into, between its marks
#   CSV=               file to append a line per run to; RESUME=true leaves out what it has already
#   PLANS=             file: write what is native of each query, and why the rest is not, and run nothing
#   PROFILE=           folder: profile both engines instead of timing them
#   FLINK=2.2.1        Flink line
#   JAVA_OPTS=         further options of the JVM
set -euo pipefail
cd "$(dirname "$0")/.."

flink=${FLINK:-2.2.1}
target=nexmark/target/flink-$flink
jar=$target/drey-nexmark-0.1.0-SNAPSHOT.jar
lib=cgo/build/linux-amd64/libdrey.so

fail() { echo "nexmark: $*" >&2; exit 2; }

if [ -z "${JAVA_HOME:-}" ] && javac=$(command -v javac); then
  JAVA_HOME=$(dirname "$(dirname "$(readlink -f "$javac")")")
  export JAVA_HOME
fi
for tool in jdk mvn; do .ci/need $tool || exit 2; done
java=$JAVA_HOME/bin/java

newer() { # OUTPUT FOLDER...: whether a source in one of the folders is newer than the output, or the output is missing
  local output=$1
  shift
  [ ! -e "$output" ] || [ -n "$(find "$@" -newer "$output" -type f \
    \( -name '*.go' -o -name '*.s' -o -name '*.c' -o -name '*.h' -o -name '*.java' -o -name '*.sql' -o -name 'pom.xml' \) \
    -not -path '*/target/*' -print -quit)" ]
}

if newer $lib cgo native rowstate simd go.mod; then
  echo "building the native library" >&2
  make -s lib || fail "the native library could not be built (make lib)"
fi
if newer "$jar" nexmark jvm-bridge || [ $lib -nt "$jar" ] || [ ! -e "$target/classpath.txt" ]; then
  echo "building the Java modules against Flink $flink" >&2
  .ci/mvn -q -f jvm-bridge/parent/pom.xml -Dflink.version="$flink" -pl :drey-nexmark -am package -DskipTests ||
    fail "the Java modules could not be built (see above; Maven needs its repository, the first time from the network)"
  touch "$jar" # which Maven leaves alone where only tests have changed
fi

classpath=$jar:$(cat "$target/classpath.txt")
if [ "${1:-}" = report ]; then
  mkdir -p nexmark/out
  exec "$java" -cp "$classpath" drey.nexmark.report.Report "${CSV:-nexmark/out/results.csv}" nexmark/out/report.html nexmark/out/report.md \
    ${README:+"$README" nexmark/RESULTS.md}
fi

events=${EVENTS:-2000000}
events=${events//[_,]/}
[[ $events =~ ^[0-9]+$ ]] || fail "EVENTS must be a number, is '$EVENTS'"
# Rows that are replayed lie outside the Java heap. Of stock Flink's state on the heap q18 takes the most: 0.6 KB an event.
heap=${HEAP:-$((2 + events * 6 / 10000000 + 1))g}
free=$(awk '/MemAvailable/ { print int($2 / 1024) }' /proc/meminfo 2>/dev/null || echo 0)
# Rows to replay take 0.3 KB an event, state up to 0.6 KB.
need=$((1500 + events / 1100))
if [[ ,${RUNG:-replay}, == *,replay,* ]] && [ "$free" -gt 0 ] && [ "$need" -gt "$free" ]; then
  fail "$events events need about $need MB of memory, $free MB are free: use fewer EVENTS, or RUNG=generator"
fi

progress=false
[ -t 2 ] && progress=true

opens=()
for package in java.lang java.util java.nio java.time java.util.concurrent; do
  opens+=(--add-opens=java.base/$package=ALL-UNNAMED)
done

if [[ ,${RUNG:-}, == *,kafka,* ]] && newer nexmark/broker/target/classpath.txt nexmark/broker/pom.xml; then
  echo "getting the Kafka broker" >&2
  .ci/mvn -q -f nexmark/broker/pom.xml package || fail "the Kafka broker's artifacts can't be had (see above)"
fi

args=()
option() { # NAME VALUE: passed on only if the variable was set
  [ -n "$2" ] && args+=("--$1" "$2")
  return 0
}
option q "${Q:-}"
option events "$events"
option rung "${RUNG:-}"
option backend "${BACKEND:-}"
option parallelism "${PARALLELISM:-}"
option pairs "${PAIRS:-}"
option fresh-jvm "${FRESH_JVM:-}"
option object-reuse "${OBJECT_REUSE:-}"
option minibatch "${MINIBATCH:-}"
option rate "${RATE:-}"
option seed "${SEED:-}"
option changelog "${CHANGELOG:-}"
option sink "${SINK:-}"
option warmup "${WARMUP:-}"
option managed "${MANAGED:-}"
option checkpoint "${CHECKPOINT:-}"
option conf "${CONF:-}"
option csv "${CSV:-}"
option resume "${RESUME:-}"
option profile "${PROFILE:-}"
option explain "${EXPLAIN:-}"
option plans "${PLANS:-}"
option factors "${FACTORS:-}"
option state "${STATE:-}"
option pace "${PACE:-}"
[[ ,${RUNG:-}, != *,kafka,* ]] || option broker-classpath nexmark/broker/target/classpath.txt
option progress $progress

mkdir -p nexmark/out
if [ "${RESUME:-}" = true ] && [ -n "${CSV:-}" ]; then
  # Which builds a results file is of: the report names them.
  builds=${CSV%.csv}-builds.txt
  mkdir -p "$(dirname "$builds")"
  build=$(git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)
  grep -qxsF "$build" "$builds" || echo "$build" >>"$builds"
  [ "$(wc -l <"$builds")" = 1 ] ||
    echo "nexmark: $CSV goes on with results of other builds ($(paste -sd ' ' "$builds")): move it away to start anew" >&2
fi
# shellcheck disable=SC2086
exec "$java" "-Xmx$heap" -XX:+UseG1GC "${opens[@]}" -Dnexmark.log=nexmark/out/nexmark.log ${JAVA_OPTS:-} \
  -cp "$classpath" drey.nexmark.Run "${args[@]}"
