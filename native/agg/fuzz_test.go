package agg_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"drey/native"
	"drey/native/changelog"
	"drey/native/logical"
	"drey/native/op"
	"drey/native/optest"
	"drey/native/spec"
	"drey/rowstate"
)

// restorable are specifications whose state looks different.
func restorable(t testing.TB) []*spec.GroupAggregate {
	count := spec.AggregateCall{Function: spec.Count, ArgList: []int{}, FilterArg: -1, Type: "BIGINT NOT NULL"}
	of := func(function, result string, distinct bool, args ...int) spec.AggregateCall {
		return spec.AggregateCall{Function: function, ArgList: args, FilterArg: -1, Distinct: distinct, Type: result}
	}
	calls := []spec.AggregateCall{
		of(spec.Sum, "DECIMAL(38, 4)", false, 12), of(spec.Avg, "DOUBLE", false, 10), of(spec.Min, "STRING", false, 13), of(spec.Max, "TIMESTAMP(9)", false, 18),
		of(spec.Max, "DECIMAL(38, 4)", false, 12), of(spec.Count, "BIGINT NOT NULL", true, 13), of(spec.Sum, "BIGINT", true, 7), of(spec.Min, "BOOLEAN", false, 14),
	}
	lists := []spec.AggregateCall{
		of(spec.ListAgg, "STRING", false, 13), of(spec.ListAgg, "STRING", false, 13, 20), of(spec.FirstValue, "TIMESTAMP(9)", false, 18),
		of(spec.LastValue, "STRING", false, 20),
	}
	specOf := func(calls []spec.AggregateCall, retracts bool, ttl int64) *spec.GroupAggregate {
		s := &spec.GroupAggregate{
			Name: "groupAggregate", Version: 1, Grouping: []int{1, 0}, GenerateUpdateBefore: true, NeedRetraction: retracts, StateTTLMillis: ttl,
			AggCalls: append(append([]spec.AggregateCall{}, calls...), count),
		}
		for range s.AggCalls {
			s.AggCallNeedRetractions = append(s.AggCallNeedRetractions, retracts)
		}
		if retracts {
			at := len(calls)
			s.IndexOfCountStar = &at
		}
		return s
	}
	return []*spec.GroupAggregate{
		specOf(calls, false, 0), specOf(calls, true, 0), specOf(calls, false, 100), specOf(calls, true, 100), specOf(lists, false, 0), specOf(lists, true, 0),
	}
}

func fuzzMachine(t testing.TB, variant int) *machine {
	t.Helper()
	input, s := inputRow(t), restorable(t)[variant]
	return newMachine(t, s, input, keyRow(input, s.Grouping), resultRow(t, s.AggCalls, false))
}

// sample is some rows of one group, the same each time.
func sample(t testing.TB, n int) []event {
	t.Helper()
	input := inputRow(t)
	rng := rand.New(rand.NewPCG(3, 4))
	var events []event
	for range n {
		e := event{kind: "+I", row: []any{int64(1), "k"}}
		for _, f := range input.Fields[2:] {
			e.row = append(e.row, randomValue(rng, f.Type))
		}
		events = append(events, e)
	}
	return events
}

// use plays a little with an operator.
func (m *machine) use() {
	m.t.Helper()
	events := sample(m.t, 6)
	m.push(m.batch(events))
	for i := range events {
		events[i].kind = "-D"
	}
	if bytes.Contains(m.text, []byte(`"needRetraction":true`)) {
		m.push(m.batch(events[:4]))
	}
	m.now += 1000
	if err := m.op.ProcessingTime(m.now, m.out); err != nil {
		m.t.Fatal(err)
	}
	m.push(m.batch(sample(m.t, 2)))
	m.flush()
}

const variants = 6

// FuzzRestoreItems: whatever items a snapshot holds, restoring it is an error or gives an operator that works.
func FuzzRestoreItems(f *testing.F) {
	for variant := range variants {
		m := fuzzMachine(f, variant)
		m.push(m.batch(sample(f, 5)))
		group, b := optest.Only(optest.TakeSnapshot(f, m.op, optest.Groups))
		f.Add(variant, group, optest.Items(b))
		m.close()
	}
	f.Fuzz(func(t *testing.T, variant, group int, items []byte) {
		if variant < 0 || variant >= variants {
			return
		}
		y := fuzzMachine(t, variant)
		y.push(y.batch(sample(t, 1)))
		_, b := optest.Only(optest.TakeSnapshot(t, y.op, optest.Groups))
		y.close()
		m := fuzzMachine(t, variant)
		defer m.close()
		if m.op.Restore(group, bytes.NewReader(optest.WithItems(b, items))) != nil {
			return
		}
		m.use()
		optest.TakeSnapshot(t, m.op, optest.Groups)
	})
}

// FuzzPush: no bytes that come as a batch make the operator fail in another way than by an error.
func FuzzPush(f *testing.F) {
	m := fuzzMachine(f, 0)
	b := m.batch(sample(f, 2))
	for variant := range variants {
		f.Add(variant, b.Data, int32(0), b.Offsets[1], b.Offsets[2])
	}
	m.close()
	f.Fuzz(func(t *testing.T, variant int, data []byte, a, b, c int32) {
		if variant < 0 || variant >= variants {
			return
		}
		m := fuzzMachine(t, variant)
		defer m.close()
		in := &changelog.Batch{Kinds: make([]changelog.RowKind, 2), Offsets: []int32{a, b, c}, Data: data}
		if m.op.Push(0, in, m.out) != nil {
			return
		}
		m.drain()
		m.use()
	})
}

// An exhausted budget is an error before anything has changed: what is pushed again when there is more goes on as if nothing
// had been.
func TestBudget(t *testing.T) {
	for variant := range variants {
		input, s := inputRow(t), restorable(t)[variant]
		m := newMachine(t, s, input, keyRow(input, s.Grouping), resultRow(t, s.AggCalls, false))
		m.close()
		m.budget = rowstate.NewBudget(1 << 20)
		var err error
		if m.op, err = native.Open(m.text, []logical.Row{input}, optest.Groups, m.budget, op.Host{}); err != nil {
			t.Fatal(err)
		}
		model := newModel(s, input)
		rng := rand.New(rand.NewPCG(5, 6))
		refused := false
		for n := 0; n < 3000 && !refused; n++ {
			events := sample(t, 5)
			for i := range events {
				events[i].row[0] = int64(rng.IntN(1 << 20))
			}
			if err := m.op.Push(0, m.batch(events), m.out); err != nil {
				var exhausted *rowstate.BudgetError
				if refused = errors.As(err, &exhausted); !refused {
					t.Fatal(err)
				}
				if lines := m.drain(); lines != nil {
					t.Errorf("variant %d: emitted %q with an error", variant, lines)
				}
				break
			}
			var want []string
			for _, e := range events {
				want = append(want, model.push(e.kind, e.row)...)
			}
			compareLines(t, fmt.Sprintf("variant %d, batch %d", variant, n), m.drain(), want)
		}
		if !refused {
			t.Errorf("variant %d: the budget was never exhausted", variant)
		}
		state := optest.TakeSnapshot(t, m.op, optest.Groups)
		m.close()
		m.open()
		optest.RestoreSnapshot(t, m.op, state, optest.Groups)
		events := sample(t, 5)
		var want []string
		for _, e := range events {
			want = append(want, model.push(e.kind, e.row)...)
		}
		compareLines(t, fmt.Sprintf("variant %d afterwards", variant), m.push(m.batch(events)), want)
		m.close()
	}
}
