package agg_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"drey/native"
	"drey/native/logical"
	"drey/native/op"
	"drey/native/optest"
	"drey/native/spec"
	"drey/rowstate"
)

// small is an aggregate by column 0 of column 1, a BIGINT each.
func small(t testing.TB, change func(s *spec.GroupAggregate), calls ...spec.AggregateCall) *machine {
	t.Helper()
	input, s := smallSpec(t, change, calls...)
	return newMachine(t, s, input, keyRow(input, s.Grouping), resultRow(t, s.AggCalls, s.CountStarInserted))
}

func smallSpec(t testing.TB, change func(s *spec.GroupAggregate), calls ...spec.AggregateCall) (logical.Row, *spec.GroupAggregate) {
	t.Helper()
	input, err := logical.ParseFields([]byte(`[{"name":"k","type":"BIGINT"},{"name":"v","type":"BIGINT"}]`))
	if err != nil {
		t.Fatal(err)
	}
	s := &spec.GroupAggregate{Name: "groupAggregate", Version: 1, Grouping: []int{0}, AggCalls: calls, GenerateUpdateBefore: true}
	change(s)
	for range calls {
		s.AggCallNeedRetractions = append(s.AggCallNeedRetractions, s.NeedRetraction)
	}
	if s.NeedRetraction {
		at := len(calls) - 1
		s.IndexOfCountStar = &at
	}
	return input, s
}

func plain(*spec.GroupAggregate) {}

func TestKeysBehindRetractionsAreKept(t *testing.T) {
	m := small(t, func(s *spec.GroupAggregate) {
		s.NeedRetraction, s.MiniBatch = true, &spec.Bundle{Size: 100}
	}, call(spec.Sum, "BIGINT", 1), call(spec.Count, "BIGINT NOT NULL"))
	defer m.close()
	var lines []string
	for k := range 20 {
		kind := "+I"
		if k%2 == 0 {
			kind = "-D"
		}
		lines = append(lines, fmt.Sprintf("%s %d 1", kind, k))
	}
	if got := m.lines(lines...); len(got) != 10 {
		t.Errorf("%d keys are answered, want 10: %q", len(got), got)
	}
}

func TestSingleValue(t *testing.T) {
	m := small(t, plain, call(spec.SingleValue, "BIGINT", 1))
	defer m.close()
	if got := m.push(m.parse([]string{"+I 1 5", "+I 2 NULL"})); strings.Join(got, ";") != "+I 1 5;+I 2 NULL" {
		t.Errorf("%q", got)
	}
	err := m.op.Push(0, m.parse([]string{"+I 2 7"}), m.out)
	if !isSecondValue(err) {
		t.Errorf("error %v", err)
	}
}

// isSecondValue tells whether an error says, in Flink's words, that it is the query's fault.
func isSecondValue(err error) bool {
	return errors.Is(err, op.ErrQuery) && strings.Contains(err.Error(), "SingleValueAggFunction received more than one element.")
}

// Mini-batches find a second value when they apply the row: with a TTL, which holds rows back, at the end of the bundle.
func TestSingleValueInMiniBatches(t *testing.T) {
	for _, ttl := range []int64{0, 1000} {
		m := small(t, func(s *spec.GroupAggregate) {
			s.MiniBatch, s.StateTTLMillis = &spec.Bundle{Size: 100}, ttl
		}, call(spec.SingleValue, "BIGINT", 1))
		defer m.close()
		err := m.op.Push(0, m.parse([]string{"+I 1 5", "+I 2 6", "+I 1 7"}), m.out)
		if err == nil && ttl > 0 {
			err = m.op.Flush(m.out)
		}
		if !isSecondValue(err) {
			t.Errorf("TTL %d: error %v", ttl, err)
		}
	}
}

func TestSingleValueRetracts(t *testing.T) {
	m := small(t, func(s *spec.GroupAggregate) { s.NeedRetraction = true }, call(spec.SingleValue, "BIGINT", 1), call(spec.Count, "BIGINT NOT NULL"))
	defer m.close()
	got := m.push(m.parse([]string{"+I 1 5", "-D 1 5", "+I 1 6"}))
	if want := "+I 1 5 1;-D 1 5 1;+I 1 6 1"; strings.Join(got, ";") != want {
		t.Errorf("%q, want %s", got, want)
	}
}

func (m *machine) stat(name string) int64 {
	m.t.Helper()
	for _, s := range m.op.Stats(nil) {
		if s.Name == name {
			return s.Value
		}
	}
	m.t.Fatalf("no statistic %s", name)
	return 0
}

func TestExpiredGroupsAreFreed(t *testing.T) {
	distinct := spec.AggregateCall{Function: spec.Count, ArgList: []int{1}, FilterArg: -1, Distinct: true, Type: "BIGINT NOT NULL"}
	m := small(t, func(s *spec.GroupAggregate) { s.StateTTLMillis = 100 }, distinct)
	defer m.close()
	for k := range 1000 {
		m.push(m.parse([]string{fmt.Sprintf("+I %d %d", k, k)}))
	}
	if keys, values := m.stat("state.keys"), m.stat("state.distinct"); keys != 1000 || values != 1000 {
		t.Fatalf("%d groups, %d distinct values", keys, values)
	}
	m.now = 99
	m.push(m.parse([]string{"+I 0 1"}))
	m.now = 150
	for range 40 {
		if err := m.op.ProcessingTime(m.now, m.out); err != nil {
			t.Fatal(err)
		}
	}
	// Of group 0, which was written later, one value has expired.
	if keys, values := m.stat("state.keys"), m.stat("state.distinct"); keys != 1 || values != 1 {
		t.Errorf("%d groups, %d distinct values are left, want one each", keys, values)
	}
	if got := m.push(m.parse([]string{"+I 0 1", "+I 5 5"})); strings.Join(got, ";") != "-U 0 2;+U 0 2;+I 5 1" {
		t.Errorf("%q", got)
	}
}

// State of an operator without TTL begins to age when the clock is first told.
func TestRestoreIntoTTL(t *testing.T) {
	calls := []spec.AggregateCall{
		{Function: spec.Count, ArgList: []int{1}, FilterArg: -1, Distinct: true, Type: "BIGINT NOT NULL"}, call(spec.Max, "BIGINT", 1),
		call(spec.Count, "BIGINT NOT NULL"),
	}
	retracts := func(s *spec.GroupAggregate) { s.NeedRetraction = true }
	m := small(t, retracts, calls...)
	m.push(m.parse([]string{"+I 1 5", "+I 1 7", "+I 2 9"}))
	state := optest.TakeSnapshot(t, m.op, optest.Groups)
	m.close()
	for _, c := range []struct {
		age  int64
		want string
	}{{99, "-U 1 2 7 2;+U 1 1 5 1"}, {100, ""}} {
		m := small(t, func(s *spec.GroupAggregate) { retracts(s); s.StateTTLMillis = 100 }, calls...)
		optest.RestoreSnapshot(t, m.op, state, optest.Groups)
		m.now = 5000
		m.push(m.parse([]string{"+I 8 8"}))
		m.now += c.age
		if got := strings.Join(m.push(m.parse([]string{"-D 1 7"})), ";"); got != c.want {
			t.Errorf("after %d ms: %q, want %q", c.age, got, c.want)
		}
		m.close()
	}
}

func TestTTLOfSequencesIsRefused(t *testing.T) {
	for _, function := range []string{spec.FirstValue, spec.LastValue} {
		input, s := smallSpec(t, func(s *spec.GroupAggregate) { s.NeedRetraction, s.StateTTLMillis = true, 1 },
			call(function, "BIGINT", 1), call(spec.Count, "BIGINT NOT NULL"))
		_, err := native.Open(spec.Encode(s), []logical.Row{input}, optest.Groups, rowstate.NewBudget(0), op.Host{})
		if !errors.Is(err, op.ErrUnsupported) {
			t.Errorf("%s: %v", function, err)
		}
	}
}

func TestWrongTypesAreRefused(t *testing.T) {
	for _, c := range []struct {
		call spec.AggregateCall
		want string
	}{
		{call(spec.Sum, "INT", 1), "SUM gives BIGINT, not INT"},
		{call(spec.ListAgg, "STRING", 1), "LISTAGG of BIGINT"},
		{call(spec.Count, "STRING"), "COUNT gives BIGINT, not STRING"},
		{spec.AggregateCall{Function: spec.Count, ArgList: []int{}, FilterArg: 1, Type: "BIGINT"}, "a filter of BIGINT"},
	} {
		input, s := smallSpec(t, plain, c.call)
		_, err := native.Open(spec.Encode(s), []logical.Row{input}, optest.Groups, rowstate.NewBudget(0), op.Host{})
		if !errors.Is(err, op.ErrUnsupported) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.call, err, c.want)
		}
	}
}

// A state is of use only for the same calls on the same columns.
func TestAnotherIdentityIsRefused(t *testing.T) {
	m := small(t, plain, call(spec.Sum, "BIGINT", 1))
	m.push(m.parse([]string{"+I 1 5"}))
	group, b := optest.Only(optest.TakeSnapshot(t, m.op, optest.Groups))
	m.close()
	other := small(t, plain, call(spec.Max, "BIGINT", 1))
	defer other.close()
	if err := other.op.Restore(group, strings.NewReader(string(b))); !errors.Is(err, op.ErrCorrupt) {
		t.Errorf("error %v", err)
	}
}

func TestSnapshotNeedsAnEmptyBundle(t *testing.T) {
	m := small(t, func(s *spec.GroupAggregate) { s.MiniBatch = &spec.Bundle{Size: 10} }, call(spec.Sum, "BIGINT", 1))
	defer m.close()
	m.push(m.parse([]string{"+I 1 5", "+I 1 5"}))
	if size, keys := m.stat("bundleSize"), m.stat("bundleKeys"); size != 2 || keys != 1 {
		t.Errorf("bundle of %d rows, %d keys", size, keys)
	}
	if _, err := m.op.Snapshot(optest.Groups); !errors.Is(err, op.ErrInvalid) {
		t.Errorf("error %v", err)
	}
}

// Over insertions MIN and MAX keep one value each; an ordered counted set is for retractions alone.
func TestOnlyRetractionsKeepValues(t *testing.T) {
	bytesOf := func(retracts bool) int64 {
		m := small(t, func(s *spec.GroupAggregate) { s.NeedRetraction = retracts }, call(spec.Min, "BIGINT", 1), call(spec.Count, "BIGINT NOT NULL"))
		defer m.close()
		for v := range 20_000 {
			m.push(m.parse([]string{fmt.Sprintf("+I 1 %d", -v)}))
		}
		return m.stat("state.bytes")
	}
	if one, all := bytesOf(false), bytesOf(true); one > 1<<20 || all < 20_000*16 || one > all/2 {
		t.Errorf("%d bytes without retractions, %d with them", one, all)
	}
}

// Texts of megabytes, in state and out of it again.
func TestHugeTexts(t *testing.T) {
	input := inputRow(t)
	const text = 13
	for _, bundled := range []bool{false, true} {
		s := &spec.GroupAggregate{
			Name: "groupAggregate", Version: 1, Grouping: []int{0}, NeedRetraction: true, GenerateUpdateBefore: true,
			AggCalls: []spec.AggregateCall{
				call(spec.Min, "STRING", text), call(spec.Max, "STRING", text), call(spec.FirstValue, "STRING", text), call(spec.LastValue, "STRING", text),
				countDistinct(text, -1), call(spec.ListAgg, "STRING", text), call(spec.Count, "BIGINT NOT NULL"),
			},
			AggCallNeedRetractions: []bool{true, true, true, true, true, true, true},
		}
		at := 6
		s.IndexOfCountStar = &at
		if bundled {
			s.MiniBatch = &spec.Bundle{Size: 1}
		}
		m := newMachine(t, s, input, keyRow(input, s.Grouping), resultRow(t, s.AggCalls, false))
		model := newModel(s, input)
		events := changelogOf(rand.New(rand.NewPCG(1, 2)), input, true, 8)
		for i, e := range events {
			if e.kind[0] == '+' {
				e.row[0], e.row[text] = int64(1), strings.Repeat(string(rune('a'+i)), 1<<20+i)+"\U0001F600"
			}
		}
		for i, e := range events {
			compareLines(t, fmt.Sprintf("message %d", i), m.push(m.batch([]event{e})), model.push(e.kind, e.row))
			if i%4 == 3 {
				m.restart()
			}
		}
		m.close()
	}
}

// More calls see the same distinct values than a word has bits, some of them through filters.
func TestManyCallsOnTheSameValues(t *testing.T) {
	input := inputRow(t)
	for _, retracts := range []bool{false, true} {
		s := &spec.GroupAggregate{Name: "groupAggregate", Version: 1, Grouping: []int{0}, NeedRetraction: retracts, GenerateUpdateBefore: true}
		for i := range 130 {
			s.AggCalls = append(s.AggCalls, countDistinct(7, []int{-1, 2, 3}[i%3]))
			s.AggCallNeedRetractions = append(s.AggCallNeedRetractions, retracts)
		}
		if retracts {
			at := len(s.AggCalls)
			s.IndexOfCountStar = &at
			s.AggCalls, s.AggCallNeedRetractions = append(s.AggCalls, call(spec.Count, "BIGINT NOT NULL")), append(s.AggCallNeedRetractions, true)
		}
		m := newMachine(t, s, input, keyRow(input, s.Grouping), resultRow(t, s.AggCalls, false))
		model := newModel(s, input)
		for i, e := range changelogOf(rand.New(rand.NewPCG(3, 4)), input, retracts, 60) {
			compareLines(t, fmt.Sprintf("message %d", i), m.push(m.batch([]event{e})), model.push(e.kind, e.row))
			if i%20 == 19 {
				m.restart()
			}
		}
		m.close()
	}
}
