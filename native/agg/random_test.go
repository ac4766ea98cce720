package agg_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"drey/native"
	"drey/native/changelog"
	"drey/native/logical"
	"drey/native/op"
	"drey/native/optest"
	"drey/native/spec"
	"drey/rowstate"
)

// columns are the input of random tests: two to group by, two to filter by, the others to aggregate.
var columns = []string{
	"BIGINT", "STRING", "BOOLEAN", "BOOLEAN NOT NULL", "TINYINT", "SMALLINT", "INT", "BIGINT", "BIGINT NOT NULL", "FLOAT", "DOUBLE",
	"DECIMAL(10, 2)", "DECIMAL(38, 4)", "STRING", "BOOLEAN", "DATE", "TIME(0)", "TIMESTAMP(3)", "TIMESTAMP(9)", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "STRING",
}

const firstValue = 4 // the first column to aggregate

func inputRow(t testing.TB) logical.Row {
	t.Helper()
	var row logical.Row
	for i, text := range columns {
		typ, err := logical.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		row.Fields = append(row.Fields, logical.Field{Name: fmt.Sprintf("f%d", i), Type: typ})
	}
	return row
}

// randomValue is a value of a type, from few, so that values come again, extremes among them.
func randomValue(rng *rand.Rand, t logical.Type) any {
	if !t.NotNull && rng.IntN(6) == 0 {
		return nil
	}
	pick := func(vs ...int64) any { return vs[rng.IntN(len(vs))] }
	switch t.Kind {
	case logical.Boolean:
		return rng.IntN(2) == 0
	case logical.TinyInt:
		return pick(math.MinInt8, math.MaxInt8, 0, 1, -1, 7)
	case logical.SmallInt:
		return pick(math.MinInt16, math.MaxInt16, 0, 1, -1, 7)
	case logical.Integer, logical.Date:
		return pick(math.MinInt32, math.MaxInt32, 0, 1, -1, 7)
	case logical.Time:
		return pick(0, 1, 86_399_999)
	case logical.BigInt:
		return pick(math.MinInt64, math.MaxInt64, 0, 1, -1, 7, 1<<40)
	case logical.Float:
		return []float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)), 1.5, -2.25, math.MaxFloat32, 0.1}[rng.IntN(8)]
	case logical.Double:
		return []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(-1), 1.5, -2.25, math.MaxFloat64, 0.1}[rng.IntN(8)]
	case logical.Decimal:
		v := big.NewInt(int64(rng.IntN(7)) - 3)
		if rng.IntN(3) == 0 { // all digits
			v.Mul(v.SetInt64(int64(1-2*rng.IntN(2))), new(big.Int).Sub(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Precision)), nil), big.NewInt(1)))
		} else if rng.IntN(2) == 0 {
			v.Mul(v, big.NewInt(123457))
		}
		return v
	case logical.Timestamp, logical.TimestampLTZ:
		nanos := 0
		if t.Precision > 3 {
			nanos = []int{0, 1000, 999000}[rng.IntN(3)]
		}
		return timeOf([]int64{-62135596800000, 253402300799999, 0, -1}[rng.IntN(4)], nanos)
	}
	return []string{"", "a", "b", "seven77", "eight888", "\U0001F600", "\uFFFD", strings.Repeat("long", 40)}[rng.IntN(8)]
}

// randomSpec is a specification of any functions.
func randomSpec(rng *rand.Rand, input logical.Row) *spec.GroupAggregate {
	s := &spec.GroupAggregate{
		Name: "groupAggregate", Version: 1, GenerateUpdateBefore: rng.IntN(3) > 0, NeedRetraction: rng.IntN(2) == 0,
		Grouping: [][]int{{}, {0}, {1}, {1, 0}}[rng.IntN(4)], AggCalls: []spec.AggregateCall{}, AggCallNeedRetractions: []bool{},
	}
	if rng.IntN(3) == 0 {
		s.StateTTLMillis = 20
	}
	for range rng.IntN(6) {
		randomCall(rng, s, input)
	}
	if s.NeedRetraction {
		at := len(s.AggCalls)
		s.IndexOfCountStar = &at
		s.CountStarInserted = rng.IntN(2) == 0
		s.AggCalls = append(s.AggCalls, spec.AggregateCall{Function: spec.Count, ArgList: []int{}, FilterArg: -1, Type: "BIGINT NOT NULL"})
		s.AggCallNeedRetractions = append(s.AggCallNeedRetractions, true)
	}
	return s
}

func randomCall(rng *rand.Rand, s *spec.GroupAggregate, input logical.Row) {
	arg := firstValue + rng.IntN(input.Len()-firstValue)
	t := input.Fields[arg].Type
	c := spec.AggregateCall{ArgList: []int{arg}, FilterArg: -1, Distinct: rng.IntN(3) == 0}
	if rng.IntN(3) == 0 {
		c.FilterArg = 2 + rng.IntN(2)
	}
	functions := []string{spec.Count, spec.Count, spec.Min, spec.Max, spec.FirstValue, spec.LastValue}
	numeric := t.Kind >= logical.Decimal && t.Kind <= logical.Double
	if numeric {
		functions = append(functions, spec.Sum, spec.Sum0, spec.Avg)
	}
	text := t.Kind == logical.Varchar
	if text {
		functions = append(functions, spec.ListAgg, spec.ListAgg)
	}
	c.Function = functions[rng.IntN(len(functions))]
	result := t
	result.NotNull = false
	switch c.Function {
	case spec.Count:
		result = logical.Type{Kind: logical.BigInt, NotNull: true}
		if rng.IntN(4) == 0 {
			c.ArgList, c.Distinct = []int{}, false
		}
	case spec.Avg:
		if t.Kind == logical.Decimal {
			result.Precision, result.Scale = 38, max(6, t.Scale)
		}
	case spec.Sum, spec.Sum0:
		if t.Kind == logical.Decimal {
			result.Precision = 38
		}
	case spec.ListAgg:
		if rng.IntN(2) == 0 {
			c.ArgList = append(c.ArgList, input.Len()-1)
		}
	}
	c.Type = result.String()
	retracts := s.NeedRetraction
	if retracts && s.StateTTLMillis > 0 && (c.Function == spec.FirstValue || c.Function == spec.LastValue) {
		return // refused
	}
	if (c.Function == spec.Min || c.Function == spec.Max) && !c.Distinct {
		retracts = retracts && rng.IntN(4) > 0
	}
	if c.Function == spec.Min || c.Function == spec.Max {
		c.Distinct = false // as Calcite has it
	}
	s.AggCalls = append(s.AggCalls, c)
	s.AggCallNeedRetractions = append(s.AggCallNeedRetractions, retracts)
}

// event is a row as the model sees it.
type event struct {
	kind string
	row  []any
}

// changelogOf is random events: retractions are mostly of rows that were there, but not always.
func changelogOf(rng *rand.Rand, input logical.Row, retracts bool, n int) []event {
	var events, live []event
	for range n {
		switch {
		case retracts && len(live) > 0 && rng.IntN(3) == 0:
			at := rng.IntN(len(live))
			e := live[at]
			live = append(live[:at], live[at+1:]...)
			events = append(events, event{[]string{"-D", "-U"}[rng.IntN(2)], e.row})
			continue
		}
		e := event{kind: []string{"+I", "+U"}[rng.IntN(2)]}
		for i, f := range input.Fields {
			switch i {
			case 0:
				e.row = append(e.row, []any{int64(1), int64(2), nil}[rng.IntN(3)])
			case 1:
				e.row = append(e.row, []any{"k", "a_longer_key", ""}[rng.IntN(3)])
			default:
				e.row = append(e.row, randomValue(rng, f.Type))
			}
		}
		if retracts && rng.IntN(12) == 0 {
			e.kind = "-D" // of what never was there
		} else {
			live = append(live, e)
		}
		events = append(events, e)
	}
	return events
}

// machine runs an operator.
type machine struct {
	t           testing.TB
	text        []byte
	input       logical.Row
	in          *optest.Codec
	left, right *optest.Codec
	budget      *rowstate.Budget
	op          op.Operator
	out         *changelog.Builder
	now         int64
}

func codecOf(t testing.TB, row logical.Row) *optest.Codec {
	t.Helper()
	c, err := optest.NewCodec(row)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newMachine(t testing.TB, s spec.Spec, input, left, right logical.Row) *machine {
	t.Helper()
	m := &machine{
		t: t, text: spec.Encode(s), input: input, in: codecOf(t, input), left: codecOf(t, left), right: codecOf(t, right),
		out: changelog.NewBuilder(changelog.BuilderOptions{Rows: 7, Bytes: 500}),
	}
	m.open()
	return m
}

func (m *machine) open() {
	m.t.Helper()
	m.budget = rowstate.NewBudget(1 << 30)
	var err error
	if m.op, err = native.Open(m.text, []logical.Row{m.input}, optest.Groups, m.budget, op.Host{}); err != nil {
		m.t.Fatalf("%s: %v", m.text, err)
	}
}

func (m *machine) restart() {
	m.t.Helper()
	state := optest.TakeSnapshot(m.t, m.op, optest.Groups)
	m.close()
	m.open()
	optest.RestoreSnapshot(m.t, m.op, state, optest.Groups)
}

func (m *machine) close() { optest.CloseAndCheck(m.t, m.op, m.budget) }

func (m *machine) batch(events []event) *changelog.Batch {
	m.t.Helper()
	b := &changelog.Batch{Now: m.now, Offsets: []int32{0}}
	for _, e := range events {
		texts := []string{e.kind}
		for i, v := range e.row {
			texts = append(texts, textOf(v, m.input.Fields[i].Type))
		}
		kind, row, err := m.in.Parse(strings.Join(texts, " "))
		if err != nil {
			m.t.Fatal(err)
		}
		b.Kinds, b.Data = append(b.Kinds, kind), append(b.Data, row...)
		b.Offsets = append(b.Offsets, int32(len(b.Data)))
	}
	return b
}

func (m *machine) push(b *changelog.Batch) []string {
	m.t.Helper()
	if err := m.op.Push(0, b, m.out); err != nil {
		m.t.Fatalf("%s: %v", m.text, err)
	}
	return m.drain()
}

func (m *machine) flush() []string {
	m.t.Helper()
	if err := m.op.Flush(m.out); err != nil {
		m.t.Fatal(err)
	}
	return m.drain()
}

func (m *machine) drain() []string {
	var lines []string
	for _, r := range optest.Drain(m.out) {
		kind := r.Kind.String()
		lines = append(lines, kind+strings.TrimPrefix(m.left.Format(r.Kind, r.Row), kind)+strings.TrimPrefix(m.right.Format(r.Kind, r.Right), kind))
	}
	return lines
}

// resultRow is the row of a specification's results.
func resultRow(t testing.TB, calls []spec.AggregateCall, inserted bool) logical.Row {
	t.Helper()
	var row logical.Row
	for i, c := range calls {
		if inserted && i == len(calls)-1 {
			break
		}
		typ, err := logical.Parse(c.Type)
		if err != nil {
			t.Fatal(err)
		}
		row.Fields = append(row.Fields, logical.Field{Name: fmt.Sprintf("r%d", i), Type: typ})
	}
	return row
}

func keyRow(input logical.Row, grouping []int) logical.Row {
	var row logical.Row
	for _, c := range grouping {
		row.Fields = append(row.Fields, input.Fields[c])
	}
	return row
}

func sizes(plain int) int {
	if testing.Short() {
		return plain / 4
	}
	return plain
}

func compareLines(t *testing.T, what string, got, want []string) {
	t.Helper()
	if g, w := strings.Join(got, "\n\t"), strings.Join(want, "\n\t"); g != w {
		t.Fatalf("%s: output\n\t%s\nwant\n\t%s", what, g, w)
	}
}

func TestRandomAgainstModel(t *testing.T) {
	input := inputRow(t)
	optest.Seeds(t, sizes(80), func(t *testing.T, rng *rand.Rand) {
		s := randomSpec(rng, input)
		m := newMachine(t, s, input, keyRow(input, s.Grouping), resultRow(t, s.AggCalls, s.CountStarInserted))
		defer func() { m.close() }()
		model := newModel(s, input)
		events := changelogOf(rng, input, s.NeedRetraction, 150)
		for len(events) > 0 {
			n := min(1+rng.IntN(12), len(events))
			m.now += int64(rng.IntN(8))
			model.now = m.now
			var want []string
			for _, e := range events[:n] {
				want = append(want, model.push(e.kind, e.row)...)
			}
			compareLines(t, string(m.text), m.push(m.batch(events[:n])), want)
			events = events[n:]
			if rng.IntN(10) == 0 {
				m.restart()
			}
		}
	})
}

func TestRandomMiniBatchAgainstModel(t *testing.T) {
	input := inputRow(t)
	optest.Seeds(t, sizes(80), func(t *testing.T, rng *rand.Rand) {
		s := randomSpec(rng, input)
		s.MiniBatch = &spec.Bundle{Size: int64(1 + rng.IntN(20))}
		m := newMachine(t, s, input, keyRow(input, s.Grouping), resultRow(t, s.AggCalls, s.CountStarInserted))
		defer func() { m.close() }()
		model := newModel(s, input)
		events := changelogOf(rng, input, s.NeedRetraction, 150)
		var held []event
		finish := func() (lines []string) {
			var keys []string
			byKey := map[string][]event{}
			for _, e := range held {
				key := model.keyOf(e.row)
				if byKey[key] == nil {
					keys = append(keys, key)
				}
				byKey[key] = append(byKey[key], e)
			}
			for _, key := range keys {
				var kinds []string
				var rows [][]any
				for _, e := range byKey[key] {
					kinds, rows = append(kinds, e.kind), append(rows, e.row)
				}
				lines = append(lines, model.bundle(kinds, rows)...)
			}
			held = nil
			return lines
		}
		for len(events) > 0 {
			n := min(1+rng.IntN(12), len(events))
			m.now += int64(rng.IntN(8))
			model.now = m.now
			var want []string
			for _, e := range events[:n] {
				if held = append(held, e); len(held) == int(s.MiniBatch.Size) {
					want = append(want, finish()...)
				}
			}
			got := m.push(m.batch(events[:n]))
			events = events[n:]
			if rng.IntN(5) == 0 {
				m.now += int64(rng.IntN(8))
				model.now = m.now
				if err := m.op.ProcessingTime(m.now, m.out); err != nil {
					t.Fatal(err)
				}
				got, want = append(got, m.flush()...), append(want, finish()...)
				if rng.IntN(3) == 0 {
					m.restart()
				}
			}
			// The order of keys is that of a HashMap, which scenarios pin.
			sortByKey(got, len(s.Grouping))
			sortByKey(want, len(s.Grouping))
			compareLines(t, string(m.text), got, want)
		}
	})
}

// What is restored is written again as it was.
func TestSnapshotsAreStable(t *testing.T) {
	input := inputRow(t)
	optest.Seeds(t, 10, func(t *testing.T, rng *rand.Rand) {
		s := randomSpec(rng, input)
		s.StateTTLMillis = 0
		m := newMachine(t, s, input, keyRow(input, s.Grouping), resultRow(t, s.AggCalls, s.CountStarInserted))
		defer func() { m.close() }()
		m.push(m.batch(changelogOf(rng, input, s.NeedRetraction, 100)))
		once := optest.TakeSnapshot(t, m.op, optest.Groups)
		m.restart()
		m.restart()
		twice := optest.TakeSnapshot(t, m.op, optest.Groups)
		for group := range once {
			if len(once[group]) != len(twice[group]) {
				t.Errorf("key group %d: %d bytes, then %d", group, len(once[group]), len(twice[group]))
			}
		}
	})
}
