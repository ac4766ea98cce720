package topn_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"drey/native"
	"drey/native/changelog"
	"drey/native/op"
	"drey/native/optest"
	"drey/native/spec"
	"drey/native/topn"
	"drey/rowstate"
)

func top(function string, start, end int64, number bool) spec.Rank {
	s := spec.Rank{
		Name: "rank", Version: 1, Function: function, RankRange: spec.RankRange{Type: "Constant", Start: &start, End: &end},
		GenerateUpdateBefore: true, OutputRowNumber: number, Partition: []int{columnP},
		OrderBy: []spec.SortField{{Index: columnS, IsAscending: true}},
	}
	if function == spec.UpdatableTopN {
		s.PrimaryKeys = []int{columnP, columnK}
	}
	return s
}

// strategies is one operator of each.
var strategies = map[string]spec.Rank{
	"first": top(spec.AppendOnlyFirstN, 1, 5, true), "top1": top(spec.FastTop1, 1, 1, false),
	"append": top(spec.AppendOnlyTopN, 1, 5, true), "append plain": top(spec.AppendOnlyTopN, 1, 5, false),
	"update": top(spec.UpdatableTopN, 1, 5, true), "update plain": top(spec.UpdatableTopN, 1, 5, false),
	"retract": top(spec.RetractableTopN, 1, 5, true), "retract plain": top(spec.RetractableTopN, 1, 5, false),
}

func open(t testing.TB, s spec.Rank, limit int64) *optest.Fixture {
	t.Helper()
	return openWith(t, s, limit, fields)
}

func openWith(t testing.TB, s spec.Rank, limit int64, fields string) *optest.Fixture {
	t.Helper()
	f := optest.NewFixture(t, native.Open, spec.Encode(&s), limit, fields)
	if s.OutputRowNumber {
		f.JoinedFields(fields, `[{"name":"rank","type":"BIGINT NOT NULL"}]`)
	}
	return f
}

func TestVariableRangeCountsOtherEnds(t *testing.T) {
	s := top(spec.AppendOnlyTopN, 0, 0, false)
	index := columnE
	s.RankRange = spec.RankRange{Type: "Variable", EndIndex: &index}
	f := open(t, s, 0)
	defer f.Close()
	n := len(f.Push(`+I 1 "a" 1 NULL 2 NULL`, `+I 1 "b" 2 NULL 3 NULL`, `+I 1 "c" 3 NULL 2 NULL`, `+I 2 "a" 1 NULL 3 NULL`, `+I 2 "a" 1 NULL NULL NULL`))
	if got := f.Stat("topn.invalidTopSize"); got != 2 || n != 4 {
		t.Errorf("%d rows with another end counted, want 2; %d rows emitted, want 4", got, n)
	}
}

// A partition of a variable range takes rows that are not better than its worst only while it has less than a hundred,
// however far its range goes.
func TestVariableRangeTakesAHundred(t *testing.T) {
	for _, strategy := range []string{spec.AppendOnlyTopN, spec.UpdatableTopN} {
		s := top(strategy, 0, 0, false)
		index := columnE
		s.RankRange = spec.RankRange{Type: "Variable", EndIndex: &index}
		f := open(t, s, 0)
		n := 0
		for i := range 120 {
			n += len(f.Push(fmt.Sprintf(`+I 1 "%d" %d NULL 150 NULL`, i, i)))
		}
		if n != 100 {
			t.Errorf("%s: %d rows went out of 120 that get worse, want 100", strategy, n)
		}
		if n := len(f.Push(`+I 1 "tie" 99 NULL 150 NULL`, `+I 1 "better" 98 NULL 150 NULL`)); n != 1 {
			t.Errorf("%s: %d rows went out of a tie with the worst and a better one, want 1", strategy, n)
		}
		f.Close()
	}
}

// Sort keys that Flink's comparator has no order for must not break anything: NaN, and zeros of either sign, which compare
// equal and differ in their bytes.
func TestFloatingPointSortKeys(t *testing.T) {
	for name, s := range strategies {
		f := openWith(t, s, 0, strings.Replace(fields, `"s","type":"BIGINT"`, `"s","type":"DOUBLE"`, 1))
		var rows []string
		for i, v := range []string{"1", "0", "-0", "NaN", "-Infinity", "Infinity", "NULL", "-0", "NaN"} {
			rows = append(rows, fmt.Sprintf(`+I 1 "%d" %s NULL 7 NULL`, i%5, v))
		}
		n := len(f.Push(rows...))
		if s.Function == spec.RetractableTopN {
			for _, row := range rows {
				n += len(f.Push("-D" + row[2:]))
			}
			if got := f.Stat("state.keys"); got != 0 {
				t.Errorf("%s: %d partitions left when all rows are retracted", name, got)
			}
		}
		if n == 0 {
			t.Errorf("%s: nothing came out", name)
		}
		f.Close()
	}
}

func TestRetractedPartitionsAreFreed(t *testing.T) {
	f := open(t, top(spec.RetractableTopN, 1, 5, true), 0)
	defer f.Close()
	for i := range 1000 {
		f.Push(fmt.Sprintf(`+I %d "a" 1 NULL 2 NULL`, i), fmt.Sprintf(`-D %d "a" 1 NULL 2 NULL`, i), fmt.Sprintf(`-D %d "a" 1 NULL 2 NULL`, -1-i))
	}
	if got := f.Stat("state.keys"); got != 0 {
		t.Errorf("%d partitions left of none", got)
	}
	if got := f.Stat("state.bytes"); got > 1<<20 {
		t.Errorf("%d bytes for no row", got)
	}
}

func TestBadInputChangesNothing(t *testing.T) {
	for name, s := range strategies {
		f := open(t, s, 0)
		good := func() *changelog.Batch {
			return f.Batch(`+I 1 "a" 1 "a longer string" 2 NULL`, `+I 2 "b" 1 "b" 2 NULL`)
		}
		for what, spoil := range map[string]func(b *changelog.Batch){
			"no kind":      func(b *changelog.Batch) { b.Kinds[1] = 7 },
			"short data":   func(b *changelog.Batch) { b.Data = b.Data[:len(b.Data)-8] },
			"field beyond": func(b *changelog.Batch) { b.Data[8+8*columnT+4] = 0xf0 },
		} {
			b := good()
			spoil(b)
			if err := f.Op.Push(0, b, f.Out); !errors.Is(err, op.ErrCorrupt) {
				t.Errorf("%s: %s: error %v", name, what, err)
			}
		}
		b := good()
		b.Kinds[1] = changelog.Delete
		err := f.Op.Push(0, b, f.Out)
		if refused := s.Function == spec.AppendOnlyFirstN; refused != (err != nil) {
			t.Errorf("%s: -D: error %v", name, err)
		}
		optest.Drain(f.Out)
		if err := f.Op.Push(1, good(), f.Out); !errors.Is(err, op.ErrInvalid) {
			t.Errorf("%s: input 1: %v", name, err)
		}
		f.Close()
	}
}

func TestBudget(t *testing.T) {
	for name, s := range strategies {
		f := open(t, s, 8<<20)
		pushed := f.Fill("rank ", func(i int) string {
			return fmt.Sprintf(`+I %d "key" 5 "something that takes a while to fill" 7 NULL`, i)
		})
		if got := f.Stat("state.keys"); got != int64(pushed) {
			t.Errorf("%s: %d partitions, %d were pushed", name, got, pushed)
		}
		f.Close()
	}
}

// Where the budget has no room for the index of a large group, its rows are found all the same.
func TestIndexWithoutRoom(t *testing.T) {
	for _, limit := range []int64{1 << 17, 1 << 19} {
		f := open(t, strategies["retract plain"], 0)
		topn.LimitIndex(f.Op, rowstate.NewBudget(limit))
		row := func(i int) string { return fmt.Sprintf(`+I 1 "%d" 5 NULL 7 NULL`, i) }
		n := 0
		for ; n < 10_000; n += 100 {
			var rows []string
			for i := range 100 {
				rows = append(rows, row(n+i))
			}
			f.Push(append(rows, "-D"+row(n + 40)[2:], row(n+40))...)
		}
		for i := range n {
			if got := f.Push("-D" + row(i)[2:]); i < 5 && len(got) != 2 {
				t.Errorf("row %d is retracted: %q", i, got)
			}
		}
		if got := f.Stat("state.keys"); got != 0 {
			t.Errorf("%d partitions left when all rows are retracted", got)
		}
		f.Close()
	}
}

// A large partition goes over many frames.
func TestSnapshotOfLargePartition(t *testing.T) {
	for name, s := range strategies {
		end := int64(1 << 20)
		if name != "top1" {
			s.RankRange.End = &end
		}
		f, g := open(t, s, 0), open(t, s, 0)
		rng := rand.New(rand.NewPCG(1, 2))
		for range 3 {
			var rows []string
			for range 300 {
				rows = append(rows, fmt.Sprintf(`+I 1 "%d" %d "%s" 7 NULL`, rng.IntN(4000), rng.IntN(1000), strings.Repeat("something", 20)))
			}
			f.Push(rows...)
		}
		groups := optest.TakeSnapshot(t, f.Op, optest.Groups)
		optest.RestoreSnapshot(t, g.Op, groups, optest.Groups)
		for group, bytes := range optest.TakeSnapshot(t, g.Op, optest.Groups) {
			if string(bytes) != string(groups[group]) {
				t.Errorf("%s: key group %d: a restored operator's snapshot differs", name, group)
			}
		}
		f.Close()
		g.Close()
	}
}

func TestRestoreRefuses(t *testing.T) {
	for name, s := range strategies {
		if strings.HasSuffix(name, "plain") {
			continue // whose state is that of the others
		}
		optest.CheckRestoreRefuses(t, func() *optest.Fixture { return open(t, s, 0) }, `+I 1 "a" 1 "text" 2 NULL`)
	}
	f := open(t, strategies["append"], 0)
	f.Push(`+I 1 "a" 1 "text" 2 NULL`)
	group, good := optest.Only(f.Snapshot())
	f.Close()
	for _, test := range []struct {
		name string
		spec spec.Rank
		want string
	}{
		{"another strategy", strategies["retract"], `"function":"AppendOnlyTopN"`},
		{"another range", top(spec.AppendOnlyTopN, 1, 6, true), `"end":5`},
	} {
		f := open(t, test.spec, 0)
		optest.CheckRefusal(t, test.name, f, group, good, op.ErrCorrupt, test.want)
		f.Close()
	}
}

// FuzzRestoreItems: whatever is in frames whose checksums are right, restoring it is an error or gives an operator that works.
func FuzzRestoreItems(f *testing.F) {
	names := []string{"first", "top1", "append", "update", "retract", "retract plain"}
	seed := func(t testing.TB, name string) (group int, b []byte) {
		x := open(t, strategies[name], 1<<24)
		defer x.Close()
		x.Push(`+I 1 "a" 1 "text" 2 NULL`, `+I 1 "b" 1 "text, longer" 2 NULL`)
		if strings.HasPrefix(name, "retract") {
			x.Push(`-D 1 "c" 1 "never there" 2 NULL`)
		}
		return optest.Only(x.Snapshot())
	}
	for i, name := range names {
		group, b := seed(f, name)
		f.Add(i, group, optest.Items(b))
	}
	f.Fuzz(func(t *testing.T, variant, group int, items []byte) {
		if variant < 0 || variant >= len(names) {
			return
		}
		_, b := seed(t, names[variant])
		x := open(t, strategies[names[variant]], 1<<24)
		defer x.Close()
		if x.Op.Restore(group, bytes.NewReader(optest.WithItems(b, items))) != nil {
			return
		}
		x.Push(`+I 1 "a" 0 "text" 2 NULL`, `+I 1 "b" 5 "text" 2 NULL`, `+I NULL NULL NULL NULL NULL NULL`)
		if strings.HasPrefix(names[variant], "retract") {
			x.Push(`-D 1 "a" 1 "text" 2 NULL`, `-D 1 "a" 0 "text" 2 NULL`, `-D 1 "b" 1 "text, longer" 2 NULL`)
		}
		optest.TakeSnapshot(t, x.Op, optest.Groups)
	})
}

// What stock logs row by row is counted.
func TestCountsWhatShouldNotHappen(t *testing.T) {
	f := open(t, strategies["retract"], 0)
	f.Push(`+I 1 "a" 1 NULL 7 NULL`, `-D 1 "a" 1 NULL 7 NULL`, `+I 1 "b" 2 NULL 7 NULL`)
	if got := f.Stat("topn.unmatchedRetractions"); got != 0 {
		t.Errorf("%d retractions unmatched of none", got)
	}
	// Of a partition, a group and a row that are not there; the last one takes a row from the count all the same, and so
	// the next one is of a partition in which counts and rows differ.
	f.Push(`-D 2 "a" 1 NULL 7 NULL`, `-U 1 "a" 1 NULL 7 NULL`, `-D 1 "never" 2 NULL 7 NULL`, `-D 1 "never" 2 NULL 7 NULL`, `-D 1 "b" 2 NULL 7 NULL`)
	if got := f.Stat("topn.unmatchedRetractions"); got != 4 {
		t.Errorf("%d retractions unmatched, want 4", got)
	}
	f.Close()

	s := strategies["retract"]
	s.StateTTLMillis = 10
	f = open(t, s, 0)
	f.Now = 0
	f.Push(`+I 1 "a" 1 NULL 7 NULL`)
	f.Now = 9
	f.Push(`+I 1 "b" 0 NULL 7 NULL`)
	f.Now = 12
	f.Push(`+I 1 "c" 0 NULL 7 NULL`) // comes by the group of a, which has expired
	if got := f.Stat("topn.expiredGroups"); got != 1 {
		t.Errorf("%d expired groups, want 1", got)
	}
	f.Close()

	f = open(t, strategies["update"], 0)
	f.Push(`+I 1 "a" 1 NULL 7 NULL`, `+U 1 "a" 0 NULL 7 NULL`, `+U 1 "a" 5 NULL 7 NULL`)
	if got := f.Stat("topn.worsenedRows"); got != 1 {
		t.Errorf("%d rows worsened, want 1", got)
	}
	f.Close()
}
