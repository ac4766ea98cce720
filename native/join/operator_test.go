package join_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"drey/native"
	"drey/native/changelog"
	"drey/native/logical"
	"drey/native/op"
	"drey/native/optest"
	"drey/native/spec"
	"drey/rowstate"
	"drey/rowstate/invariants"
)

const (
	smallLeft  = `[{"name":"k","type":"INT"},{"name":"a","type":"STRING"}]`
	smallRight = `[{"name":"k","type":"INT"},{"name":"b","type":"STRING"}]`
)

// fixture is a join of small rows.
type fixture struct{ *optest.Fixture }

func open(t testing.TB, s spec.Join, limit int64) *fixture {
	t.Helper()
	f := &fixture{optest.NewFixture(t, native.Open, spec.Encode(s), limit, smallLeft, smallRight)}
	f.JoinedFields(smallLeft, smallRight)
	return f
}

func (f *fixture) expect(got []string, want ...string) {
	f.T.Helper()
	if !slices.Equal(got, want) {
		f.T.Errorf("got %q, want %q", got, want)
	}
}

// on joins on column 0.
func on(joinType string, change func(s *spec.Join)) spec.Join {
	s := spec.Join{
		Name: "join", Version: 1, JoinType: joinType, FilterNulls: []bool{true}, Left: spec.JoinSide{Keys: []int{0}},
		Right: spec.JoinSide{Keys: []int{0}},
	}
	if change != nil {
		change(&s)
	}
	return s
}

func within60(s *spec.Join) { s.Left.StateTTLMillis, s.Right.StateTTLMillis = 60, 60 }

// One row against many: it comes out in bounded pieces, and the builder never has more than a few chunks.
func TestFanOut(t *testing.T) {
	const rows = 8_000
	for name, right := range map[string]func(i int) string{
		"different": func(i int) string { return fmt.Sprintf(`+I 1 "row-%d"`, i) },
		"equal":     func(int) string { return `+I 1 "the same row"` },
	} {
		for _, joinType := range []string{spec.InnerJoin, spec.LeftJoin, spec.FullJoin} {
			f := open(t, on(joinType, nil), 0)
			f.Out = changelog.NewBuilder(changelog.BuilderOptions{Rows: 512, Bytes: 1 << 16})
			for from := 0; from < rows; from += 1000 {
				var batch []string
				for i := range 1000 {
					batch = append(batch, right(from+i))
				}
				f.PushTo(1, batch...)
			}
			for _, kind := range []string{"+I", "-D"} {
				if err := f.Op.Push(0, f.BatchOf(0, kind+` 1 "x"`), f.Out); err != nil {
					t.Fatal(err)
				}
				emitted, stops := map[changelog.RowKind]int{}, 0
				for {
					for _, e := range optest.Drain(f.Out) {
						emitted[e.Kind]++
					}
					if !f.Op.(op.Resumer).Unfinished() {
						break
					}
					if stops++; f.Out.Memory() > 1<<20 {
						t.Fatalf("%s, %s: %d bytes of output pending", name, joinType, f.Out.Memory())
					}
					if err := f.Op.(op.Resumer).Resume(f.Out); err != nil {
						t.Fatal(err)
					}
				}
				// With FULL each right row's padded form goes, or comes back, too.
				own, other := rows, 0
				if joinType == spec.FullJoin {
					other = rows
				}
				got := []int{emitted[changelog.Insert], emitted[changelog.Delete]}
				want := map[string][]int{"+I": {own, other}, "-D": {other, own}}[kind]
				if !slices.Equal(got, want) || stops < 3 {
					t.Errorf("%s, %s: %s made %v rows with %d stops, want %v", name, joinType, kind, got, stops, want)
				}
			}
			f.Close()
		}
	}
}

func TestRefusesBadBatches(t *testing.T) {
	f := open(t, on(spec.LeftJoin, func(s *spec.Join) { s.Right.UniqueKey = &[]int{1} }), 0)
	defer f.Close()
	f.PushTo(0, `+I 1 "a"`)
	good := f.BatchOf(1, `+I 1 "a-string-of-some-length"`)
	for what, change := range map[string]func(b *changelog.Batch) int{
		"input 2":         func(*changelog.Batch) int { return 2 },
		"row kind 4":      func(b *changelog.Batch) int { b.Kinds[0] = 4; return 1 },
		"offsets":         func(b *changelog.Batch) int { b.Offsets = b.Offsets[:1]; return 1 },
		"whole words":     func(b *changelog.Batch) int { b.Offsets[1] -= 4; return 1 },
		"column 1":        func(b *changelog.Batch) int { b.Data[20] = 200; return 1 },
		"ends at offset ": func(b *changelog.Batch) int { b.Data = b.Data[:24]; return 1 },
	} {
		b := *good
		b.Kinds, b.Offsets, b.Data = slices.Clone(b.Kinds), slices.Clone(b.Offsets), bytes.Clone(b.Data)
		before := f.Stat("state.rightRows")
		err := f.Op.Push(change(&b), &b, f.Out)
		kind := op.ErrCorrupt
		if what == "input 2" {
			kind = op.ErrInvalid
		}
		if !errors.Is(err, kind) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: error %v", what, err)
		}
		if rows := f.Drain(); rows != nil || f.Stat("state.rightRows") != before {
			t.Errorf("%s: emitted %q, or stored", what, rows)
		}
	}
	f.expect(f.PushTo(1, `+I 1 "a-string-of-some-length"`), `-D 1 "a" NULL NULL`, `+I 1 "a" 1 "a-string-of-some-length"`)
}

// An exhausted budget is told before anything has happened, and what was there before still works.
func TestBudget(t *testing.T) {
	for _, long := range []bool{false, true} {
		f := open(t, on(spec.InnerJoin, nil), 4<<20)
		row := func(i int) string { return fmt.Sprintf(`+I %d "some payload of a row %d"`, i, i) }
		if long {
			row = func(i int) string { return fmt.Sprintf(`+I 7 "some payload of a row %d"`, i) }
		}
		pushed := f.Fill("join ", row)
		if got := f.Stat("state.leftRows"); got != int64(pushed) || pushed < 5000 {
			t.Errorf("%d rows stored of %d pushed", got, pushed)
		}
		if keys := f.Stat("state.keys"); !long && keys != int64(pushed) {
			t.Errorf("%d keys for %d rows", keys, pushed)
		}
		// A retraction finds its row in a long chain, though the index may not have all of it.
		for _, i := range []int{0, 77, pushed - 1} {
			before := f.Stat("state.leftRows")
			if err := f.Op.Push(0, f.Batch("-D"+strings.TrimPrefix(row(i), "+I")), f.Out); err != nil {
				t.Log(err) // not even room for an entry of the key
				continue
			}
			if got := f.Stat("state.leftRows"); got != before-1 {
				t.Errorf("row %d of %d was not found", i, pushed)
			}
		}
		f.Close()
	}
}

func TestStats(t *testing.T) {
	f := open(t, on(spec.InnerJoin, func(s *spec.Join) { s.MiniBatch = &spec.JoinMiniBatch{Size: 100} }), 0)
	defer f.Close()
	f.PushTo(0, `+I 1 "a"`, `-D 1 "a"`, `+I 2 "b"`, `+I 2 "b"`)
	f.PushTo(1, `+I 2 "c"`)
	f.expect(f.Flush(), `+I 2 "b" 2 "c"`, `+I 2 "b" 2 "c"`)
	for name, want := range map[string]int64{
		"leftBundleReducedSize": 2, "rightBundleReducedSize": 0, "state.keys": 1, "state.leftRows": 1, "state.rightRows": 1, "state.indexedRows": 0,
	} {
		if got := f.Stat(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	if f.Stat("state.bytes") <= 0 {
		t.Error("state without bytes")
	}
	f.PushTo(0, `-D 2 "b"`, `-D 2 "b"`)
	f.PushTo(1, `-U 2 "c"`)
	f.Flush()
	if got := f.Stat("state.keys"); got != 0 {
		t.Errorf("%d keys without rows", got)
	}
}

// Rows with a null that matches nothing are not kept.
func TestNullsAreNotKept(t *testing.T) {
	f := open(t, on(spec.FullJoin, nil), 0)
	defer f.Close()
	f.expect(f.PushTo(0, `+I NULL "a"`, `-U NULL "a"`), `+I NULL "a" NULL NULL`, `-D NULL "a" NULL NULL`)
	f.expect(f.PushTo(1, `+U NULL "b"`), `+I NULL NULL NULL "b"`)
	if got := f.Stat("state.keys"); got != 0 {
		t.Errorf("%d keys", got)
	}
}

// What has expired is freed, though nobody asks for it.
func TestExpiredRowsAreFreed(t *testing.T) {
	f := open(t, on(spec.LeftJoin, within60), 0)
	defer f.Close()
	for i := range 2000 {
		f.PushTo(0, fmt.Sprintf(`+I %d "a row %d"`, i%500, i))
	}
	before := f.Stat("state.leftRows")
	for f.Now = 60; f.Now < 160; f.Now++ {
		f.Time(f.Now)
	}
	if rows, keys := f.Stat("state.leftRows"), f.Stat("state.keys"); before != 2000 || rows != 0 || keys != 0 {
		t.Errorf("%d rows, %d rows and %d keys after their time", before, rows, keys)
	}
}

func TestSnapshotNeedsFlush(t *testing.T) {
	f := open(t, on(spec.InnerJoin, func(s *spec.Join) { s.MiniBatch = &spec.JoinMiniBatch{Size: 100} }), 0)
	defer f.Close()
	f.PushTo(0, `+I 1 "a"`)
	if _, err := f.Op.Snapshot(optest.Groups); !errors.Is(err, op.ErrInvalid) || !strings.Contains(err.Error(), "flush comes first") {
		t.Errorf("error %v", err)
	}
}

// restorable are variants whose state looks different.
var restorable = []spec.Join{
	on(spec.InnerJoin, nil),
	on(spec.LeftJoin, within60),
	on(spec.FullJoin, func(s *spec.Join) { s.Left.UniqueKey, s.Right.UniqueKey = &[]int{1}, &[]int{0} }),
	on(spec.AntiJoin, func(s *spec.Join) { s.Left.UniqueKey = &[]int{}; s.FilterNulls[0] = false; within60(s) }),
}

func TestRestoreRefuses(t *testing.T) {
	for _, s := range restorable {
		optest.CheckRestoreRefuses(t, func() *optest.Fixture { return open(t, s, 0).Fixture }, `+I 1 "a string"`)
	}
}

func TestRestoreRefusesItems(t *testing.T) {
	s := on(spec.FullJoin, func(s *spec.Join) { s.Right.UniqueKey = &[]int{0} })
	f := open(t, s, 0)
	f.PushTo(0, `+I 1 "a"`, `+I 1 "b"`)
	f.PushTo(1, `+I 1 "c"`)
	group, good := optest.Only(f.Snapshot())
	f.Close()
	items := optest.Items(good)
	key, rest := items[:18], items[18:]
	left, right := rest[:28], rest[56:]
	row := func(b []byte, at int, v byte) []byte {
		b = bytes.Clone(b)
		b[at] = v
		return b
	}
	for _, test := range []struct {
		want  string
		items [][]byte
	}{
		{"an item 0x58", [][]byte{[]byte("X")}},
		{"a row before the first key", [][]byte{left}},
		{"a key that comes twice", [][]byte{key, left, key}},
		{"a row that comes twice", [][]byte{key, left, left}},
		{"a second row of a unique key", [][]byte{key, right, right}},
		{"a row that is there 0 times", [][]byte{key, row(left, 1, 0)}},
		{"a row of another key", [][]byte{key, row(left, 4+8, 2)}},
		{"header byte 3", [][]byte{key, row(left, 4, 3)}},
		{"row: column 1", [][]byte{key, row(left, 4+23, 0)}},
		{"a row of 24 bytes, 23 are left", [][]byte{key, left[:27]}},
	} {
		f := open(t, s, 0)
		optest.CheckRefusal(t, test.want, f.Fixture, group, optest.WithItems(good, bytes.Join(test.items, nil)), op.ErrCorrupt, test.want)
		f.Close()
	}
}

// State belongs to a type of join, to keys and to shapes, not to retention, bundles or condition.
func TestRestoreIntoAnother(t *testing.T) {
	f := open(t, on(spec.LeftJoin, nil), 0)
	f.PushTo(0, `+I 1 "a"`)
	groups := f.Snapshot()
	f.Close()
	group, b := optest.Only(groups)
	for want, s := range map[string]spec.Join{
		`"joinType":"FULL"`:    on(spec.FullJoin, nil),
		`"filterNulls":[false`: on(spec.LeftJoin, func(s *spec.Join) { s.FilterNulls[0] = false }),
		`"uniqueKey":[1]`:      on(spec.LeftJoin, func(s *spec.Join) { s.Left.UniqueKey = &[]int{1} }),
	} {
		f := open(t, s, 0)
		optest.CheckRefusal(t, want, f.Fixture, group, b, op.ErrCorrupt, want)
		f.Close()
	}
	f = open(t, on(spec.LeftJoin, func(s *spec.Join) { within60(s); s.MiniBatch = &spec.JoinMiniBatch{Size: 2} }), 0)
	defer f.Close()
	f.Restore(groups)
	// Rows without a time are as old as the first moment that the clock tells.
	f.Time(1000)
	f.Time(1059)
	f.expect(f.PushTo(1, `+I 1 "b"`, `+I 2 "c"`), `-D 1 "a" NULL NULL`, `+I 1 "a" 1 "b"`)
	f.Time(1119) // the first match was a write
	f.expect(f.PushTo(1, `+I 1 "d"`, `+I 2 "d"`))
}

// Snapshots of format version 1, as the first release wrote them, give back an operator that goes on as if it had never
// stopped.
func TestKeptSnapshots(t *testing.T) {
	for i, s := range restorable {
		f, g := open(t, s, 0), open(t, s, 0)
		f.Now, g.Now = 20, 20
		f.PushTo(0, `+I 1 "a string"`, `+I 1 "a string"`, `+I 2 "b"`, `+I NULL NULL`)
		f.PushTo(1, `+I 1 "x"`, `+I 1 "a longer string"`, `+I 3 "y"`, `+I NULL "z"`)
		kept := optest.Kept(t, fmt.Sprintf("version_1_%d", i), f.Snapshot)
		g.Time(20)
		g.Restore(kept)
		var emitted [2][]string
		for n, x := range []*fixture{f, g} {
			for _, x.Now = range []int64{60, 130} {
				emitted[n] = append(emitted[n], x.PushTo(1, `-D 1 "x"`, `+I 2 "new"`, `-D NULL "z"`)...)
				emitted[n] = append(emitted[n], x.PushTo(0, `+I 3 "c"`, `-U 1 "a string"`, `+U 1 "other"`)...)
			}
		}
		if !slices.Equal(emitted[0], emitted[1]) || len(emitted[0]) < 4 {
			t.Errorf("%+v: emitted %q, want %q", s, emitted[1], emitted[0])
		}
		f.Close()
		g.Close()
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	if invariants.Enabled || optest.Race {
		t.Skip("checks allocate")
	}
	for _, s := range []spec.Join{
		bidJoin(spec.InnerJoin, false, nil), bidJoin(spec.LeftJoin, true, nil), bidJoin(spec.FullJoin, false, within()),
		bidJoin(spec.SemiJoin, true, nil),
	} {
		n := newNexmark(t, s, 500, op.Host{})
		n.round()
		round := func() {
			for _, kind := range []changelog.RowKind{changelog.Insert, changelog.Delete} {
				for _, b := range []*changelog.Batch{n.bids, n.auctions} {
					for i := range b.Kinds {
						b.Kinds[i] = kind
					}
				}
				n.step()
			}
		}
		for range 10 {
			round()
		}
		if allocs := testing.AllocsPerRun(5, round); allocs > 2 {
			t.Errorf("%s: %v allocations for %d rows", s.JoinType, allocs, 2*(len(n.bids.Kinds)+len(n.auctions.Kinds)))
		}
		n.f.Close()
	}
}

// A host's failure is handed on as it is.
func TestHostFails(t *testing.T) {
	s := on(spec.InnerJoin, func(s *spec.Join) { s.Condition = &spec.Condition{Host: true} })
	failure := errors.New("no such function")
	budget := rowstate.NewBudget(0)
	var inputs []logical.Row
	for _, fields := range []string{smallLeft, smallRight} {
		row, err := logical.ParseFields([]byte(fields))
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, row)
	}
	if _, err := native.Open(spec.Encode(s), inputs, optest.Groups, budget, op.Host{}); !errors.Is(err, op.ErrInvalid) {
		t.Errorf("without a host's condition: %v", err)
	}
	o, err := native.Open(spec.Encode(s), inputs, optest.Groups, budget, op.Host{Condition: failing{failure}})
	if err != nil {
		t.Fatal(err)
	}
	defer optest.CloseAndCheck(t, o, budget)
	f := open(t, on(spec.InnerJoin, nil), 0)
	defer f.Close()
	if err := o.Push(0, f.BatchOf(0, `+I 1 "a"`), f.Out); err != nil {
		t.Fatal(err)
	}
	if err := o.Push(1, f.BatchOf(1, `+I 1 "b"`), f.Out); err != failure {
		t.Errorf("error %v", err)
	}
}

type failing struct{ err error }

func (f failing) Evaluate(_, _ *rowstate.Rows, _ []bool) error { return f.err }

// pushed is what a push that gave err made come out.
func (f *fixture) pushed(err error) []string {
	f.T.Helper()
	if err != nil {
		f.T.Fatal(err)
	}
	return f.Drain()
}
