package agg_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"drey/native/logical"
	"drey/native/optest"
	"drey/native/spec"
)

// With the distinct values split by a bucket, in three phases, the results are those of one.
func TestIncrementalEqualsOnePhase(t *testing.T) {
	input := inputRow(t)
	optest.Seeds(t, sizes(40), func(t *testing.T, rng *rand.Rand) {
		retracts := rng.IntN(2) == 0
		const value = 7 // what is counted is its own bucket
		count := spec.AggregateCall{Function: spec.Count, ArgList: []int{value}, FilterArg: -1, Distinct: true, Type: "BIGINT NOT NULL"}
		filtered := count
		filtered.FilterArg = 2
		s := &spec.GroupAggregate{
			Name: "groupAggregate", Version: 1, GenerateUpdateBefore: true, Grouping: []int{0, 1}, NeedRetraction: retracts,
			AggCalls: []spec.AggregateCall{count, filtered, {Function: spec.Count, ArgList: []int{}, FilterArg: -1, Type: "BIGINT NOT NULL"}},
		}
		s.AggCallNeedRetractions = []bool{retracts, retracts, retracts}
		if retracts {
			at := 2
			s.IndexOfCountStar = &at
		}
		s.MiniBatch = &spec.Bundle{Size: int64(1 + rng.IntN(20))}
		partial := *s
		partial.Grouping = []int{0, 1, value}
		localSpec, _, between := twoPhases(t, &partial, input)
		keys := keyRow(input, partial.Grouping)
		middle := logical.Row{Fields: append(append([]logical.Field{}, keys.Fields...), between.Fields...)}
		var types []string
		for _, f := range input.Fields {
			types = append(types, "`"+f.Name+"` "+f.Type.String())
		}
		incrementalSpec := &spec.IncrementalGroupAggregate{
			Name: "incrementalGroupAggregate", Version: 1, FinalAggGrouping: []int{0, 1}, PartialAggGrouping: []int{0, 1, 2}, MiniBatch: *s.MiniBatch,
			PartialOriginalAggCalls: s.AggCalls, PartialAggCallNeedRetractions: s.AggCallNeedRetractions, PartialAggNeedRetraction: retracts,
			IndexOfCountStar: s.IndexOfCountStar, PartialLocalAggInputRowType: "ROW<" + strings.Join(types, ", ") + ">",
		}
		counts := logical.Row{Fields: between.Fields[:3]}
		finalKeys := keyRow(input, s.Grouping)
		last := logical.Row{Fields: append(append([]logical.Field{}, finalKeys.Fields...), counts.Fields...)}
		sum := func(column int) spec.AggregateCall {
			return spec.AggregateCall{Function: spec.Sum0, ArgList: []int{column}, FilterArg: -1, Type: "BIGINT NOT NULL"}
		}
		finalSpec := &spec.GlobalGroupAggregate{
			Name: "globalGroupAggregate", Version: 1, GenerateUpdateBefore: true, Grouping: []int{0, 1}, MiniBatch: *s.MiniBatch,
			AggCalls: []spec.AggregateCall{sum(0), sum(1), sum(2)}, AggCallNeedRetractions: []bool{false, false, false},
			LocalAggInputRowType: "ROW<`a` BIGINT NOT NULL, `b` BIGINT NOT NULL, `c` BIGINT NOT NULL>",
		}
		local := newMachine(t, localSpec, input, keys, between)
		incremental := newMachine(t, incrementalSpec, middle, finalKeys, counts)
		final := newMachine(t, finalSpec, last, finalKeys, resultRow(t, finalSpec.AggCalls, false))
		defer func() { local.close(); incremental.close(); final.close() }()
		model := newModel(s, input)
		got, want := map[string]string{}, map[string]string{}
		var live []event
		for n, e := range changelogOf(rng, input, retracts, 200) {
			if e.kind[0] == '-' && !contains(&live, e) {
				continue
			}
			if e.kind[0] == '+' {
				live = append(live, e)
			}
			materialize(t, want, model.push(e.kind, e.row), 2)
			lines := local.push(local.batch([]event{e}))
			if n == 199 || rng.IntN(20) == 0 {
				lines = append(lines, local.flush()...)
			}
			lines = incremental.push(incremental.parse(lines))
			if n == 199 || rng.IntN(20) == 0 {
				lines = append(lines, incremental.flush()...)
				if rng.IntN(2) == 0 {
					incremental.restart()
				}
			}
			materialize(t, got, final.push(final.parse(lines)), 2)
		}
		lines := incremental.push(incremental.parse(local.flush()))
		materialize(t, got, final.push(final.parse(append(lines, incremental.flush()...))), 2)
		materialize(t, got, final.flush(), 2)
		for key, values := range got {
			if w, ok := want[key]; !ok && values == " 0 0 0" {
				delete(got, key) // what is left of a group after all of it went
			} else if w == "" {
				t.Errorf("%s has%s", key, values)
			}
		}
		if len(want) == 0 || strings.ReplaceAll(fmt.Sprint(got), " ", "") != strings.ReplaceAll(resultsOf(want), " ", "") {
			t.Fatalf("%s: table\n\t%v\nwant\n\t%v", incremental.text, got, want)
		}
	})
}

// resultsOf is a table whose lines are keys and results.
func resultsOf(table map[string]string) string { return fmt.Sprint(table) }
