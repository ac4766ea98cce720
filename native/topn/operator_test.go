package topn_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
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

// fixture is an operator with all around it.
type fixture struct {
	t      testing.TB
	codec  *optest.Codec
	budget *rowstate.Budget
	op     op.Operator
	out    *changelog.Builder
}

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

func open(t testing.TB, s spec.Rank, limit int64) *fixture {
	t.Helper()
	input, err := logical.ParseFields([]byte(fields))
	if err != nil {
		t.Fatal(err)
	}
	codec, err := optest.NewCodec(input)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, codec: codec, budget: rowstate.NewBudget(limit), out: changelog.NewBuilder(changelog.BuilderOptions{})}
	if f.op, err = native.Open(spec.Encode(&s), []logical.Row{input}, optest.Groups, f.budget, op.Host{}); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) batch(rows ...string) *changelog.Batch {
	f.t.Helper()
	b := &changelog.Batch{Offsets: []int32{0}}
	for _, text := range rows {
		kind, row, err := f.codec.Parse(text)
		if err != nil {
			f.t.Fatal(err)
		}
		b.Kinds, b.Data = append(b.Kinds, kind), append(b.Data, row...)
		b.Offsets = append(b.Offsets, int32(len(b.Data)))
	}
	return b
}

func (f *fixture) push(rows ...string) int {
	f.t.Helper()
	if err := f.op.Push(0, f.batch(rows...), f.out); err != nil {
		f.t.Fatal(err)
	}
	return len(optest.Drain(f.out))
}

func (f *fixture) stat(name string) int64 {
	f.t.Helper()
	for _, s := range f.op.Stats(nil) {
		if s.Name == name {
			return s.Value
		}
	}
	f.t.Fatalf("no statistic %s", name)
	return 0
}

func (f *fixture) close() { optest.CloseAndCheck(f.t, f.op, f.budget) }

func TestVariableRangeCountsOtherEnds(t *testing.T) {
	s := top(spec.AppendOnlyTopN, 0, 0, false)
	index := columnE
	s.RankRange = spec.RankRange{Type: "Variable", EndIndex: &index}
	f := open(t, s, 0)
	defer f.close()
	n := f.push(`+I 1 "a" 1 NULL 2 NULL`, `+I 1 "b" 2 NULL 3 NULL`, `+I 1 "c" 3 NULL 2 NULL`, `+I 2 "a" 1 NULL 3 NULL`, `+I 2 "a" 1 NULL NULL NULL`)
	if got := f.stat("topn.invalidTopSize"); got != 2 || n != 4 {
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
			n += f.push(fmt.Sprintf(`+I 1 "%d" %d NULL 150 NULL`, i, i))
		}
		if n != 100 {
			t.Errorf("%s: %d rows went out of 120 that get worse, want 100", strategy, n)
		}
		if n := f.push(`+I 1 "tie" 99 NULL 150 NULL`, `+I 1 "better" 98 NULL 150 NULL`); n != 1 {
			t.Errorf("%s: %d rows went out of a tie with the worst and a better one, want 1", strategy, n)
		}
		f.close()
	}
}

// Sort keys that Flink's comparator has no order for must not break anything: NaN, and zeros of either sign, which compare
// equal and differ in their bytes.
func TestFloatingPointSortKeys(t *testing.T) {
	for name, s := range strategies {
		input, err := logical.ParseFields([]byte(strings.Replace(fields, `"s","type":"BIGINT"`, `"s","type":"DOUBLE"`, 1)))
		if err != nil {
			t.Fatal(err)
		}
		codec, err := optest.NewCodec(input)
		if err != nil {
			t.Fatal(err)
		}
		f := &fixture{t: t, codec: codec, budget: rowstate.NewBudget(0), out: changelog.NewBuilder(changelog.BuilderOptions{})}
		if f.op, err = native.Open(spec.Encode(&s), []logical.Row{input}, optest.Groups, f.budget, op.Host{}); err != nil {
			t.Fatal(err)
		}
		var rows []string
		for i, v := range []string{"1", "0", "-0", "NaN", "-Infinity", "Infinity", "NULL", "-0", "NaN"} {
			rows = append(rows, fmt.Sprintf(`+I 1 "%d" %s NULL 7 NULL`, i%5, v))
		}
		n := f.push(rows...)
		if s.Function == spec.RetractableTopN {
			for _, row := range rows {
				n += f.push("-D" + row[2:])
			}
			if got := f.stat("state.keys"); got != 0 {
				t.Errorf("%s: %d partitions left when all rows are retracted", name, got)
			}
		}
		if n == 0 {
			t.Errorf("%s: nothing came out", name)
		}
		f.close()
	}
}

func TestRetractedPartitionsAreFreed(t *testing.T) {
	f := open(t, top(spec.RetractableTopN, 1, 5, true), 0)
	defer f.close()
	for i := range 1000 {
		f.push(fmt.Sprintf(`+I %d "a" 1 NULL 2 NULL`, i), fmt.Sprintf(`-D %d "a" 1 NULL 2 NULL`, i), fmt.Sprintf(`-D %d "a" 1 NULL 2 NULL`, -1-i))
	}
	if got := f.stat("state.keys"); got != 0 {
		t.Errorf("%d partitions left of none", got)
	}
	if got := f.stat("state.bytes"); got > 1<<20 {
		t.Errorf("%d bytes for no row", got)
	}
}

func TestBadInputChangesNothing(t *testing.T) {
	for name, s := range strategies {
		f := open(t, s, 0)
		good := func() *changelog.Batch {
			return f.batch(`+I 1 "a" 1 "a longer string" 2 NULL`, `+I 2 "b" 1 "b" 2 NULL`)
		}
		for what, spoil := range map[string]func(b *changelog.Batch){
			"no kind":      func(b *changelog.Batch) { b.Kinds[1] = 7 },
			"short data":   func(b *changelog.Batch) { b.Data = b.Data[:len(b.Data)-8] },
			"field beyond": func(b *changelog.Batch) { b.Data[8+8*columnT+4] = 0xf0 },
		} {
			b := good()
			spoil(b)
			if err := f.op.Push(0, b, f.out); !errors.Is(err, op.ErrCorrupt) {
				t.Errorf("%s: %s: error %v", name, what, err)
			}
		}
		b := good()
		b.Kinds[1] = changelog.Delete
		err := f.op.Push(0, b, f.out)
		if appendOnly := s.Function == spec.AppendOnlyFirstN || s.Function == spec.AppendOnlyTopN; appendOnly != (err != nil) {
			t.Errorf("%s: -D: error %v", name, err)
		}
		optest.Drain(f.out)
		if err := f.op.Push(1, good(), f.out); !errors.Is(err, op.ErrInvalid) {
			t.Errorf("%s: input 1: %v", name, err)
		}
		f.close()
	}
}

func TestBudget(t *testing.T) {
	for name, s := range strategies {
		f := open(t, s, 8<<20)
		var failed error
		pushed := 0
		for key := 0; failed == nil; {
			if key > 1<<20 {
				t.Fatalf("%s: a million partitions in 8 MiB", name)
			}
			var rows []string
			for range 500 {
				rows = append(rows, fmt.Sprintf(`+I %d "key" 5 "something that takes a while to fill" 7 NULL`, key))
				key++
			}
			failed = f.op.Push(0, f.batch(rows...), f.out)
			optest.Drain(f.out)
			if failed == nil {
				pushed += 500
			}
		}
		var budget *rowstate.BudgetError
		if !errors.As(failed, &budget) || !strings.Contains(failed.Error(), "rank ") {
			t.Errorf("%s: error %v", name, failed)
		}
		if got := f.stat("state.keys"); got != int64(pushed) {
			t.Errorf("%s: %d partitions, %d were pushed", name, got, pushed)
		}
		f.close()
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
			f.push(rows...)
		}
		groups := optest.TakeSnapshot(t, f.op, optest.Groups)
		optest.RestoreSnapshot(t, g.op, groups, optest.Groups)
		for group, bytes := range optest.TakeSnapshot(t, g.op, optest.Groups) {
			if string(bytes) != string(groups[group]) {
				t.Errorf("%s: key group %d: a restored operator's snapshot differs", name, group)
			}
		}
		f.close()
		g.close()
	}
}

func TestRestoreRefuses(t *testing.T) {
	s := strategies["append"]
	f := open(t, s, 0)
	f.push(`+I 1 "a" 1 "text" 2 NULL`)
	groups := optest.TakeSnapshot(t, f.op, optest.Groups)
	f.close()
	good := groups[94] // of INT 1
	if len(good) == 0 {
		t.Fatal("key group 94 is empty")
	}
	flip := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 1
		return b
	}
	for _, test := range []struct {
		name  string
		spec  spec.Rank
		group int
		bytes []byte
		kind  error
		want  string
	}{
		{"another group", s, 95, good, op.ErrCorrupt, "key group 95: frame 1: offset 0: the key is of key group 94"},
		{"a group of others", s, 128, good, op.ErrInvalid, "key group 128 is not of the subtask's 0 to 127"},
		{"another strategy", strategies["retract"], 94, good, op.ErrCorrupt, `"function":"AppendOnlyTopN"`},
		{"another range", top(spec.AppendOnlyTopN, 1, 6, true), 94, good, op.ErrCorrupt, `"end":5`},
		{"cut", s, 94, good[:len(good)-16], op.ErrCorrupt, "key group 94"},
		{"a flipped bit", s, 94, flip(len(good) - 30), op.ErrCorrupt, "checksum"},
		{"fingerprint", s, 94, flip(12), op.ErrCorrupt, "fingerprint"},
	} {
		f := open(t, test.spec, 0)
		err := f.op.Restore(test.group, bytes.NewReader(test.bytes))
		if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
		f.close()
	}
	g := open(t, s, 0)
	defer g.close()
	if err := g.op.Restore(94, bytes.NewReader(good)); err != nil {
		t.Fatal(err)
	}
	if err := g.op.Restore(94, bytes.NewReader(good)); !errors.Is(err, op.ErrCorrupt) || !strings.Contains(err.Error(), "comes twice") {
		t.Errorf("twice: %v", err)
	}
	g.push(`+I 7 "a" 1 NULL 1 NULL`)
	if err := g.op.Restore(95, strings.NewReader("")); !errors.Is(err, op.ErrInvalid) {
		t.Errorf("restore after the first batch: %v", err)
	}
}

// FuzzRestoreItems: whatever is in frames whose checksums are right, restoring it is an error or gives an operator that works.
func FuzzRestoreItems(f *testing.F) {
	names := []string{"first", "top1", "append", "update", "retract", "retract plain"}
	seed := func(t testing.TB, name string) (group int, identity, items []byte) {
		x := open(t, strategies[name], 1<<24)
		defer x.close()
		x.push(`+I 1 "a" 1 "text" 2 NULL`, `+I 1 "b" 1 "text, longer" 2 NULL`)
		if strings.HasPrefix(name, "retract") {
			x.push(`-D 1 "c" 1 "never there" 2 NULL`)
		}
		for g, b := range optest.TakeSnapshot(t, x.op, optest.Groups) {
			if len(b) > 0 {
				at := 16 + 8 + binary.LittleEndian.Uint32(b[16:])
				return g, b[:at], b[at+8 : at+8+binary.LittleEndian.Uint32(b[at:])]
			}
		}
		return 0, nil, nil
	}
	for i, name := range names {
		group, _, items := seed(f, name)
		f.Add(i, group, items)
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	f.Fuzz(func(t *testing.T, variant, group int, items []byte) {
		if variant < 0 || variant >= len(names) {
			return
		}
		_, b, _ := seed(t, names[variant])
		b = binary.LittleEndian.AppendUint32(bytes.Clone(b), uint32(len(items)))
		b = append(binary.LittleEndian.AppendUint32(b, crc32.Checksum(items, table)), items...)
		count := binary.LittleEndian.AppendUint64(nil, 2)
		b = binary.LittleEndian.AppendUint32(b, 1<<32-1)
		b = append(binary.LittleEndian.AppendUint32(b, crc32.Checksum(count, table)), count...)
		x := open(t, strategies[names[variant]], 1<<24)
		defer x.close()
		if x.op.Restore(group, bytes.NewReader(b)) != nil {
			return
		}
		x.push(`+I 1 "a" 0 "text" 2 NULL`, `+I 1 "b" 5 "text" 2 NULL`, `+I NULL NULL NULL NULL NULL NULL`)
		if strings.HasPrefix(names[variant], "retract") {
			x.push(`-D 1 "a" 1 "text" 2 NULL`, `-D 1 "a" 0 "text" 2 NULL`, `-D 1 "b" 1 "text, longer" 2 NULL`)
		}
		optest.TakeSnapshot(t, x.op, optest.Groups)
	})
}

func TestTTLIsRefused(t *testing.T) {
	s := strategies["append"]
	s.StateTTLMillis = 1
	input, err := logical.ParseFields([]byte(fields))
	if err != nil {
		t.Fatal(err)
	}
	_, err = native.Open(spec.Encode(&s), []logical.Row{input}, optest.Groups, rowstate.NewBudget(0), op.Host{})
	if !errors.Is(err, op.ErrUnsupported) || !strings.Contains(err.Error(), "stateTtlMillis") {
		t.Errorf("error %v", err)
	}
}
