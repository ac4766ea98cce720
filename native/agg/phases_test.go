package agg_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"drey/native/changelog"
	"drey/native/logical"
	"drey/native/optest"
	"drey/native/spec"
)

// nestedText is a structured type as Flink writes it, but for its parts, which nobody looks at.
const nestedText = "STRUCTURED<'org.apache.flink.table.runtime.functions.aggregate.AnAccumulator', `f` BIGINT>"

// accumulatorTypes are the types that a local aggregate emits for a call (inferStreamLocalAggRowType).
func accumulatorTypes(t testing.TB, c spec.AggregateCall, retracts bool, input logical.Row) []string {
	t.Helper()
	result, err := logical.Parse(c.Type)
	if err != nil {
		t.Fatal(err)
	}
	result.NotNull = false
	switch c.Function {
	case spec.Min, spec.Max, spec.ListAgg:
		if retracts {
			return []string{nestedText}
		}
	}
	switch c.Function {
	case spec.Count:
		return []string{"BIGINT"}
	case spec.Sum:
		if retracts {
			return []string{result.String(), "BIGINT"}
		}
	case spec.Avg:
		switch arg := input.Fields[c.ArgList[0]].Type; arg.Kind {
		case logical.Decimal:
			return []string{fmt.Sprintf("DECIMAL(38, %d)", arg.Scale), "BIGINT"}
		case logical.Float, logical.Double:
			return []string{"DOUBLE", "BIGINT"}
		}
		return []string{"BIGINT", "BIGINT"}
	case spec.SingleValue:
		return []string{result.String(), "INT"}
	case spec.ListAgg:
		return []string{"STRING", "STRING"}
	}
	return []string{result.String()}
}

// twoPhases makes the specifications of a local and a global aggregate of the one in one phase, and the row between.
func twoPhases(t testing.TB, s *spec.GroupAggregate, input logical.Row) (*spec.LocalGroupAggregate, *spec.GlobalGroupAggregate, logical.Row) {
	t.Helper()
	local := &spec.LocalGroupAggregate{
		AggCallNeedRetractions: s.AggCallNeedRetractions, AggCalls: s.AggCalls, CountStarInserted: s.CountStarInserted, Grouping: s.Grouping,
		IndexOfCountStar: s.IndexOfCountStar, MiniBatch: *s.MiniBatch, NeedRetraction: s.NeedRetraction, Name: "localGroupAggregate", Version: 1,
	}
	var types []string
	for _, f := range input.Fields {
		types = append(types, "`"+f.Name+"` "+f.Type.String())
	}
	global := &spec.GlobalGroupAggregate{
		AggCallNeedRetractions: s.AggCallNeedRetractions, AggCalls: s.AggCalls, CountStarInserted: s.CountStarInserted, Grouping: []int{},
		IndexOfCountStar: s.IndexOfCountStar, MiniBatch: *s.MiniBatch, NeedRetraction: s.NeedRetraction, Name: "globalGroupAggregate", Version: 1,
		GenerateUpdateBefore: s.GenerateUpdateBefore, StateTTLMillis: s.StateTTLMillis, LocalAggInputRowType: "ROW<" + strings.Join(types, ", ") + ">",
	}
	for i := range s.Grouping {
		global.Grouping = append(global.Grouping, i)
	}
	var between logical.Row
	for i, c := range s.AggCalls {
		for _, text := range accumulatorTypes(t, c, s.AggCallNeedRetractions[i], input) {
			typ, err := logical.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			between.Fields = append(between.Fields, logical.Field{Name: fmt.Sprintf("acc$%d", len(between.Fields)), Type: typ})
		}
	}
	views := map[int]bool{}
	for _, c := range s.AggCalls {
		if viewed(c) && !views[c.ArgList[0]] {
			views[c.ArgList[0]] = true
			typ, err := logical.Parse("RAW('org.apache.flink.table.api.dataview.MapView', 'a serializer')")
			if err != nil {
				t.Fatal(err)
			}
			between.Fields = append(between.Fields, logical.Field{Name: fmt.Sprintf("distinct$%d", len(views)), Type: typ})
		}
	}
	return local, global, between
}

// join makes one row of the lines that a machine emits.
func (m *machine) parse(lines []string) *changelog.Batch {
	m.t.Helper()
	b := &changelog.Batch{Now: m.now, Offsets: []int32{0}}
	for _, line := range lines {
		kind, row, err := m.in.Parse(line)
		if err != nil {
			m.t.Fatal(err)
		}
		b.Kinds, b.Data = append(b.Kinds, kind), append(b.Data, row...)
		b.Offsets = append(b.Offsets, int32(len(b.Data)))
	}
	return b
}

// materialize applies lines to a table of rows by key.
func materialize(t testing.TB, table map[string]string, lines []string, keys int) {
	t.Helper()
	for _, line := range lines {
		fields := strings.SplitN(line, " ", keys+2)
		key := strings.Join(fields[1:min(keys+1, len(fields))], " ")
		values := strings.TrimPrefix(line, fields[0])
		switch fields[0] {
		case "+I", "+U":
			table[key] = values
		default:
			if table[key] != values {
				t.Fatalf("%s retracts what is not there: %q", line, table[key])
			}
			if fields[0] == "-D" {
				delete(table, key)
			}
		}
	}
}

// In two phases the results are those of one, for functions whose accumulators can be merged and sums that can be reordered.
func TestTwoPhasesEqualOne(t *testing.T) {
	input := inputRow(t)
	optest.Seeds(t, sizes(80), func(t *testing.T, rng *rand.Rand) {
		s := randomSpec(rng, input)
		s.StateTTLMillis, s.GenerateUpdateBefore, s.MiniBatch = 0, true, &spec.Bundle{Size: int64(1 + rng.IntN(20))}
		var calls []spec.AggregateCall
		var retracts []bool
		for i, c := range s.AggCalls {
			numbers := c.Function == spec.Sum || c.Function == spec.Sum0 || c.Function == spec.Avg
			reorders := len(c.ArgList) == 0 || !numbers || input.Fields[c.ArgList[0]].Type.Kind < logical.Float && input.Fields[c.ArgList[0]].Type.Kind != logical.Decimal
			merges := c.Function != spec.FirstValue && c.Function != spec.LastValue && c.Function != spec.ListAgg && !(c.Distinct && c.Function == spec.SingleValue) &&
				!((c.Function == spec.Min || c.Function == spec.Max) && !s.AggCallNeedRetractions[i] && (s.NeedRetraction || input.Fields[c.ArgList[0]].Type.Kind == logical.Float || input.Fields[c.ArgList[0]].Type.Kind == logical.Double))
			if reorders && merges {
				calls, retracts = append(calls, c), append(retracts, s.AggCallNeedRetractions[i])
			}
		}
		if calls == nil {
			calls, retracts = []spec.AggregateCall{}, []bool{}
		}
		s.AggCalls, s.AggCallNeedRetractions = calls, retracts
		if s.IndexOfCountStar != nil {
			*s.IndexOfCountStar = len(calls) - 1
		}
		localSpec, globalSpec, between := twoPhases(t, s, input)
		keys := keyRow(input, s.Grouping)
		local := newMachine(t, localSpec, input, keys, between)
		middle := logical.Row{Fields: append(append([]logical.Field{}, keys.Fields...), between.Fields...)}
		global := newMachine(t, globalSpec, middle, keys, resultRow(t, s.AggCalls, s.CountStarInserted))
		defer func() { local.close(); global.close() }()
		model := newModel(s, input)
		got, want := map[string]string{}, map[string]string{}
		var live []event
		for _, e := range changelogOf(rng, input, s.NeedRetraction, 150) {
			if e.kind == "-D" && !contains(&live, e) { // two phases take retractions of what never was for more than one does
				continue
			}
			if e.kind == "+I" || e.kind == "+U" {
				live = append(live, e)
			}
			materialize(t, want, model.push(e.kind, e.row), len(s.Grouping))
			lines := local.push(local.batch([]event{e}))
			if rng.IntN(20) == 0 {
				lines = append(lines, local.flush()...)
			}
			materialize(t, got, global.push(global.parse(lines)), len(s.Grouping))
			if rng.IntN(20) == 0 {
				materialize(t, got, global.flush(), len(s.Grouping))
				global.restart()
			}
		}
		materialize(t, got, global.push(global.parse(local.flush())), len(s.Grouping))
		materialize(t, got, global.flush(), len(s.Grouping))
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s: table\n\t%v\nwant\n\t%v", global.text, got, want)
		}
	})
}

// contains takes an equal row out of those that live.
func contains(live *[]event, e event) bool {
	for i, l := range *live {
		if &l.row[0] == &e.row[0] {
			*live = append((*live)[:i:i], (*live)[i+1:]...)
			return true
		}
	}
	return false
}
