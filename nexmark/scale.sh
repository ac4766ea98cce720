#!/bin/bash
# Cost per event as events and keys grow: scale.sh EVENTS OPERATORS KEYS, each a list. What was measured before stays.
#   Q=q17              queries, each at every number of events, on each BACKEND=heap,rocksdb, PAIRS=1
# A point that doesn't fit into memory says so and is left out.
set -euo pipefail
cd "$(dirname "$0")/.."

for events in $1; do
  # From 20 million on events are made while the query runs, and the heap is no larger than half a large machine: of a query
  # that keeps every row, stock Flink's heap backend then runs out, which is an answer as well.
  rung=replay heap=${HEAP:-}
  [ "$events" -lt 20000000 ] || { rung=generator heap=${HEAP:-12g}; }
  Q=${Q:-q17} FACTORS=9 EVENTS=$events RUNG=$rung HEAP=$heap BACKEND=${BACKEND:-heap,rocksdb} PAIRS=${PAIRS:-1} FRESH_JVM=true RESUME=true \
    CSV=nexmark/out/results-scale.csv nexmark/run.sh || echo "nexmark: $events events: not everything was measured, see above" >&2
done
for op in $2; do
  for keys in $3; do
    # Two rows of each key at least, but for ten million: rows are made in advance, and are held twice.
    rows=$((keys < 1000000 ? 2000000 : keys < 5000000 ? keys * 2 : keys))
    heap=$((4 + rows / 1250000))g
    grep -qs "^$op,RocksDB,.*,$keys,drey," nexmark/out/results-keys.csv && continue
    make -s bench-operator OP="$op" KEYS="$keys" ROWS="$rows" PAIRS="${PAIRS:-1}" HEAP="$heap" KEYS_CSV=nexmark/out/results-keys.csv ||
      echo "nexmark: $op with $keys keys: not measured, see above" >&2
  done
done
nexmark/run.sh report
