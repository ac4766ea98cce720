package optest

import (
	"strings"
	"testing"

	"drey/native/changelog"
	"drey/native/logical"
	"drey/native/op"
	"drey/rowstate"
)

// Fixture is an operator with all around it, for tests that a scenario can't tell. Rows are in the text form of scenarios.
// Whatever goes wrong where nothing should ends the test.
type Fixture struct {
	T      testing.TB
	Op     op.Operator
	Budget *rowstate.Budget
	Out    *changelog.Builder
	Now    int64 // the host's clock, for batches

	inputs []*Codec
	output *Codec
	right  *Codec // of joined rows; output is their left side
}

// NewFixture opens an operator with a budget, 0 for none. The output has the fields of the first input until JoinedFields
// says something else.
func NewFixture(t testing.TB, open Open, spec []byte, limit int64, inputs ...string) *Fixture {
	t.Helper()
	f := &Fixture{T: t, Budget: rowstate.NewBudget(limit), Out: changelog.NewBuilder(changelog.BuilderOptions{})}
	var rows []logical.Row
	for _, fields := range inputs {
		rows = append(rows, f.parse(fields))
		f.inputs = append(f.inputs, f.codec(rows[len(rows)-1]))
	}
	f.output = f.inputs[0]
	var err error
	if f.Op, err = open(spec, rows, Groups, f.Budget, op.Host{}); err != nil {
		t.Fatal(err)
	}
	return f
}

// JoinedFields says what fields the output has: those of the left and those of the right row.
func (f *Fixture) JoinedFields(left, right string) {
	f.output, f.right = f.codec(f.parse(left)), f.codec(f.parse(right))
}

func (f *Fixture) parse(fields string) logical.Row {
	f.T.Helper()
	row, err := logical.ParseFields([]byte(fields))
	if err != nil {
		f.T.Fatal(err)
	}
	return row
}

func (f *Fixture) codec(row logical.Row) *Codec {
	f.T.Helper()
	c, err := NewCodec(row)
	if err != nil {
		f.T.Fatal(err)
	}
	return c
}

// Batch makes a batch of input 0.
func (f *Fixture) Batch(rows ...string) *changelog.Batch {
	f.T.Helper()
	return f.BatchOf(0, rows...)
}

// BatchOf makes a batch of an input.
func (f *Fixture) BatchOf(input int, rows ...string) *changelog.Batch {
	f.T.Helper()
	b := &changelog.Batch{Now: f.Now, Offsets: []int32{0}}
	for _, text := range rows {
		kind, row, err := f.inputs[input].Parse(text)
		if err != nil {
			f.T.Fatal(err)
		}
		b.Kinds, b.Data = append(b.Kinds, kind), append(b.Data, row...)
		b.Offsets = append(b.Offsets, int32(len(b.Data)))
	}
	return b
}

// Push pushes rows to input 0 and gives what comes out.
func (f *Fixture) Push(rows ...string) []string {
	f.T.Helper()
	return f.PushTo(0, rows...)
}

// PushTo pushes rows to an input and gives what comes out.
func (f *Fixture) PushTo(input int, rows ...string) []string {
	f.T.Helper()
	return f.out(f.Op.Push(input, f.BatchOf(input, rows...), f.Out))
}

// Watermark lets event time reach ts and gives what comes out.
func (f *Fixture) Watermark(ts int64) []string {
	f.T.Helper()
	return f.out(f.Op.Watermark(ts, f.Out))
}

// Time sets the clock and gives what comes out.
func (f *Fixture) Time(now int64) []string {
	f.T.Helper()
	f.Now = now
	return f.out(f.Op.ProcessingTime(now, f.Out))
}

// Flush ends the bundle and gives what comes out.
func (f *Fixture) Flush() []string {
	f.T.Helper()
	return f.out(f.Op.Flush(f.Out))
}

func (f *Fixture) out(err error) []string {
	f.T.Helper()
	if err != nil {
		f.T.Fatal(err)
	}
	return f.Drain()
}

// Drain gives what has come out and was not drained yet.
func (f *Fixture) Drain() []string {
	rows, err := DrainAll(f.Op, f.Out)
	if err != nil {
		f.T.Fatal(err)
	}
	var texts []string
	for _, r := range rows {
		text := f.output.Format(r.Kind, r.Row)
		if r.Right != nil {
			text += strings.TrimPrefix(f.right.Format(r.Kind, r.Right), r.Kind.String())
		}
		texts = append(texts, text)
	}
	return texts
}

// PushAndDrop pushes a batch of input 0, and allocates nothing to see what comes out.
func (f *Fixture) PushAndDrop(b *changelog.Batch) {
	if err := f.Op.Push(0, b, f.Out); err != nil {
		f.T.Fatal(err)
	}
	for {
		if _, ok := f.Out.Next(); !ok {
			f.Out.Recycle()
			return
		}
	}
}

// Stat is one of the operator's numbers.
func (f *Fixture) Stat(name string) int64 {
	f.T.Helper()
	for _, s := range f.Op.Stats(nil) {
		if s.Name == name {
			return s.Value
		}
	}
	f.T.Fatalf("no statistic %s", name)
	return 0
}

// Snapshot is the state by key group.
func (f *Fixture) Snapshot() map[int][]byte {
	f.T.Helper()
	return TakeSnapshot(f.T, f.Op, Groups)
}

// Restore adds state.
func (f *Fixture) Restore(groups map[int][]byte) {
	f.T.Helper()
	RestoreSnapshot(f.T, f.Op, groups, Groups)
}

// Close closes the operator, twice, and checks that it has given all memory back.
func (f *Fixture) Close() { CloseAndCheck(f.T, f.Op, f.Budget) }

// Fill pushes batches of 500 rows until the operator's budget is exhausted, which must be told by an error that names one
// of the purposes that begin with prefix. It gives the number of rows that were taken, none of the last batch.
func (f *Fixture) Fill(prefix string, row func(i int) string) int {
	f.T.Helper()
	for pushed := 0; pushed < 1<<20; pushed += 500 {
		var rows []string
		for i := range 500 {
			rows = append(rows, row(pushed+i))
		}
		err := f.Op.Push(0, f.Batch(rows...), f.Out)
		Drain(f.Out)
		if err == nil {
			continue
		}
		checkBudgetError(f.T, err, prefix)
		return pushed
	}
	f.T.Fatalf("a million rows in %v", f.Budget.ByPurpose())
	return 0
}
