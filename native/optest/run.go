package optest

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"drey/native/changelog"
	"drey/native/logical"
	"drey/native/op"
	"drey/rowstate"
)

// Open is native.Open.
type Open func(spec []byte, inputs []logical.Row, groups op.KeyGroups, budget *rowstate.Budget, host op.Host) (op.Operator, error)

// Groups is the key groups that scenarios run with.
var Groups = op.KeyGroups{First: 0, Last: 127, Max: 128}

// Options says what of a scenario's output depends on more than the rows.
type Options struct {
	// Bundled: the operator holds rows back until so many are there, so output belongs to no row, and a snapshot is
	// possible only behind a flush or a watermark.
	Bundled bool
	// Seldom: restore or rescale not at every opportunity, but at every n-th; 0 and 1 mean every one.
	Seldom int
	// Left is how many of the output's fields are those of the left row if the rows come out joined; 0: as many as input 0
	// has; less than 0: none.
	Left int
	// AnyOrder: what comes out of a batch may have any order.
	AnyOrder bool
	// Mixed: batches have rows of both inputs, if the operator takes such.
	Mixed bool
	// Host is what the operator gets from its host.
	Host op.Host
}

// Run plays all scenarios that match a pattern in all ways the package comment tells of.
func Run(t *testing.T, pattern string, open Open, options func(*Scenario) Options) {
	t.Helper()
	scenarios, err := Load(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scenarios {
		t.Run(s.Name, func(t *testing.T) { s.Run(t, open, options(s)) })
	}
}

// batchSizes are tried; the last stands for all rows there are between two other events.
var batchSizes = []int{1, 2, 3, smallSlabs, 1 << 30}

// smallSlabs is the batch size that is played with output chunks into which hardly a row fits.
const smallSlabs = 7

// Run plays the scenario in all ways.
func (s *Scenario) Run(t *testing.T, open Open, options Options) {
	t.Helper()
	for _, size := range batchSizes {
		for _, between := range []string{"nothing", "restore", "rescale"} {
			if s.Whole && between != "nothing" {
				continue
			}
			name := fmt.Sprintf("batch=%d/between=%s", size, between)
			if size == batchSizes[len(batchSizes)-1] {
				name = "batch=all/between=" + between
			}
			t.Run(name, func(t *testing.T) {
				t.Helper()
				s.Play(t, open, options, size, between)
			})
			if len(s.Inputs) < 2 || size == 1 {
				continue
			}
			t.Run("inputs=both/"+name, func(t *testing.T) {
				t.Helper()
				mixed := options
				mixed.Mixed = true
				s.Play(t, open, mixed, size, between)
			})
		}
	}
}

// Play plays the scenario once, in batches of at most size rows, with "nothing", a "restore" or a "rescale" in between. The
// scenario may be made by hand, without texts.
func (s *Scenario) Play(t *testing.T, open Open, options Options, size int, between string) {
	t.Helper()
	if err := s.begin(); err != nil {
		t.Fatal(err)
	}
	p := newPlayer(t, s, open, options)
	if size == smallSlabs {
		p.out = changelog.NewBuilder(changelog.BuilderOptions{Bytes: 64})
	}
	defer p.close()
	p.play(size, between)
}

// player plays a scenario once.
type player struct {
	t       testing.TB
	s       *Scenario
	open    Open
	options Options
	budget  *rowstate.Budget
	op      op.Operator
	out     *changelog.Builder
	now     int64
	mark    *int64 // the last watermark
	left    *Codec // of joined rows
	right   *Codec
}

func newPlayer(t testing.TB, s *Scenario, open Open, options Options) *player {
	p := &player{t: t, s: s, open: open, options: options, out: changelog.NewBuilder(changelog.BuilderOptions{Rows: 5, Bytes: 300})}
	p.budget, p.op = p.start(Groups)
	return p
}

func (p *player) start(groups op.KeyGroups) (*rowstate.Budget, op.Operator) {
	p.t.Helper()
	budget := rowstate.NewBudget(1 << 30)
	o, err := p.open(p.s.Spec, p.s.Inputs, groups, budget, p.options.Host)
	if err != nil {
		p.t.Fatal(err)
	}
	return budget, o
}

func (p *player) close() { CloseAndCheck(p.t, p.op, p.budget) }

// CloseAndCheck closes an operator, twice, and checks that it has given all memory back.
func CloseAndCheck(t testing.TB, o op.Operator, budget *rowstate.Budget) {
	t.Helper()
	o.Close()
	o.Close()
	if used := budget.Used(); used != 0 {
		t.Errorf("%d bytes in use after Close: %v", used, budget.ByPurpose())
	}
}

func (p *player) play(size int, between string) {
	p.t.Helper()
	events, chances := p.s.Events, 0
	_, mixed := p.op.(op.Mixed)
	mixed = mixed && p.options.Mixed
	for len(events) > 0 {
		n := 1
		if events[0].Kind == Row {
			for n < min(size, len(events)) && events[n].Kind == Row && (mixed || events[n].Input == events[0].Input) {
				n++
			}
		}
		p.step(events[:n], mixed)
		kind := events[0].Kind
		events = events[n:]
		if p.options.Bundled && kind != Flush && kind != Watermark {
			continue
		}
		if chances++; p.options.Seldom > 1 && chances%p.options.Seldom != 0 {
			continue
		}
		switch between {
		case "restore":
			p.restart(Groups)
		case "rescale":
			low, high := Groups, Groups
			low.Last, high.First = 63, 64
			p.restart(low, high)
			p.restart(Groups)
		}
	}
}

// step plays one event, or a batch of rows, of both inputs if it is mixed, and checks the output.
func (p *player) step(events []Event, mixed bool) {
	p.t.Helper()
	var err error
	switch e := events[0]; e.Kind {
	case Row:
		b := p.batch(events)
		if mixed {
			for _, e := range events {
				b.Inputs = append(b.Inputs, uint8(e.Input))
			}
			err = p.op.(op.Mixed).PushMixed(b, p.out)
			break
		}
		err = p.op.Push(e.Input, b, p.out)
	case Now:
		p.now = e.Value
		err = p.op.ProcessingTime(e.Value, p.out)
	case Watermark:
		p.mark = &e.Value
		err = p.op.Watermark(e.Value, p.out)
	case Flush:
		err = p.op.Flush(p.out)
	}
	if err != nil {
		p.t.Fatalf("line %d: %v", events[0].Line, err)
	}
	var want []string
	for i, e := range events {
		source := changelog.NoSource
		if e.Kind == Row && !p.options.Bundled {
			source = i
		}
		for _, o := range e.Want {
			want = append(want, p.describe(o.Kind, o.Row, source))
		}
	}
	var got []string
	rows, err := DrainAll(p.op, p.out)
	if err != nil {
		p.t.Fatalf("line %d: %v", events[0].Line, err)
	}
	for _, r := range rows {
		if r.Right != nil {
			got = append(got, fmt.Sprintf("%s  [source %d]", p.joined(r), r.Source))
			continue
		}
		if r.Row[0] != byte(r.Kind) {
			p.t.Errorf("line %d: a row of kind %s has header byte %d", events[0].Line, r.Kind, r.Row[0])
		}
		got = append(got, p.describe(r.Kind, r.Row, r.Source))
	}
	if len(rows) > 0 && rows[0].Right != nil {
		// Two rows have other bytes than the one that the scenario knows.
		for i := range want {
			want[i] = want[i][:strings.LastIndex(want[i], "  [")] + "  [source" + want[i][strings.LastIndex(want[i], " "):]
		}
	}
	if p.options.AnyOrder {
		slices.Sort(got)
		slices.Sort(want)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		p.t.Fatalf("lines %d to %d: output\n\t%s\nwant\n\t%s", events[0].Line, events[len(events)-1].Line,
			strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// describe has all that must be equal: the text for people, the bytes, the source.
func (p *player) describe(kind changelog.RowKind, row []byte, source int) string {
	return fmt.Sprintf("%s  [%x, source %d]", p.s.out.Format(kind, row), row[1:], source)
}

// joined is the text of a joined row: that of the row that has the fields of both.
func (p *player) joined(r Emitted) string {
	p.t.Helper()
	if p.left == nil {
		n := p.options.Left
		if n == 0 {
			n = p.s.Inputs[0].Len()
		}
		n = max(n, 0)
		var err error
		if p.left, err = NewCodec(logical.Row{Fields: p.s.Output.Fields[:n]}); err != nil {
			p.t.Fatal(err)
		}
		if p.right, err = NewCodec(logical.Row{Fields: p.s.Output.Fields[n:]}); err != nil {
			p.t.Fatal(err)
		}
	}
	kind := r.Kind.String()
	return kind + strings.TrimPrefix(p.left.Format(r.Kind, r.Row), kind) + strings.TrimPrefix(p.right.Format(r.Kind, r.Right), kind)
}

func (p *player) batch(events []Event) *changelog.Batch {
	// The first row does not start at 0: a batch may be a slice of a larger one.
	b := &changelog.Batch{Now: p.now, Data: make([]byte, 8), Offsets: []int32{8}}
	for _, e := range events {
		b.Kinds = append(b.Kinds, e.Row.Kind)
		b.Data = append(b.Data, e.Row.Row...)
		b.Offsets = append(b.Offsets, int32(len(b.Data)))
	}
	return b
}

// restart moves the state to one operator per range, and those to the first if there are several.
func (p *player) restart(ranges ...op.KeyGroups) {
	p.t.Helper()
	groups := TakeSnapshot(p.t, p.op, Groups)
	CloseAndCheck(p.t, p.op, p.budget)
	if len(ranges) > 1 {
		merged := map[int][]byte{}
		for _, r := range ranges {
			budget, o := p.start(r)
			RestoreSnapshot(p.t, o, groups, r)
			for g, bytes := range TakeSnapshot(p.t, o, r) {
				merged[g] = bytes
			}
			CloseAndCheck(p.t, o, budget)
		}
		groups = merged
	}
	p.budget, p.op = p.start(Groups)
	if err := p.op.ProcessingTime(p.now, p.out); err != nil {
		p.t.Fatal(err)
	}
	RestoreSnapshot(p.t, p.op, groups, Groups)
	if p.mark != nil {
		// Sources behind which all is as before say so soon.
		if err := p.op.Watermark(*p.mark, p.out); err != nil {
			p.t.Fatal(err)
		}
		if rows := Drain(p.out); rows != nil {
			p.t.Fatalf("the watermark of before the restore made rows come out: %v", rows)
		}
	}
}

// Emitted is a row that came out. In joined form Row is its left side, and Right, not nil then, its right one.
type Emitted struct {
	Kind   changelog.RowKind
	Row    []byte
	Right  []byte
	Source int
}

// DrainAll takes all rows out of a builder, and lets the operator go on until it has emitted everything.
func DrainAll(o op.Operator, b *changelog.Builder) ([]Emitted, error) {
	rows := Drain(b)
	r, ok := o.(op.Resumer)
	for ok && r.Unfinished() {
		if err := r.Resume(b); err != nil {
			return rows, err
		}
		more := Drain(b)
		if len(more) == 0 && r.Unfinished() {
			return rows, fmt.Errorf("an unfinished operator was asked to go on and emitted nothing")
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// Drain takes all rows out of a builder.
func Drain(b *changelog.Builder) []Emitted {
	var rows []Emitted
	for {
		c, ok := b.Next()
		if !ok {
			b.Recycle()
			return rows
		}
		for i, kind := range c.Kinds {
			r := Emitted{Kind: kind, Source: int(c.Source[i])}
			if c.Joined() {
				r.Row, r.Right = bytes.Clone(c.LeftRow(i)), bytes.Clone(c.RightRow(i))
			} else {
				r.Row = bytes.Clone(c.Row(i))
			}
			rows = append(rows, r)
		}
	}
}

// TakeSnapshot writes the state of all key groups of a range.
func TakeSnapshot(t testing.TB, o op.Operator, groups op.KeyGroups) map[int][]byte {
	t.Helper()
	snapshot, err := o.Snapshot(groups)
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	all := map[int][]byte{}
	for g := groups.First; g <= groups.Last; g++ {
		var b bytes.Buffer
		if err := snapshot.Write(g, &b); err != nil {
			t.Fatalf("key group %d: %v", g, err)
		}
		all[g] = b.Bytes()
	}
	return all
}

// RestoreSnapshot feeds those key groups to an operator that fall into its range.
func RestoreSnapshot(t testing.TB, o op.Operator, groups map[int][]byte, own op.KeyGroups) {
	t.Helper()
	for g := own.First; g <= own.Last; g++ {
		if len(groups[g]) == 0 {
			continue
		}
		// One byte at a time is the worst a host can do.
		if err := o.Restore(g, oneByte{bytes.NewReader(groups[g])}); err != nil {
			t.Fatalf("key group %d: %v", g, err)
		}
	}
}

type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return o.r.Read(p[:1])
}
