package dedup_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
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

const fields = `[{"name":"k","type":"BIGINT"},{"name":"v","type":"STRING"},{"name":"t","type":"TIMESTAMP(3)"}]`

// fixture is an operator with all around it.
type fixture struct {
	t      testing.TB
	codec  *optest.Codec
	input  logical.Row
	budget *rowstate.Budget
	op     op.Operator
	out    *changelog.Builder
	now    int64
}

func open(t testing.TB, s spec.Deduplicate, limit int64) *fixture {
	t.Helper()
	input, err := logical.ParseFields([]byte(fields))
	if err != nil {
		t.Fatal(err)
	}
	codec, err := optest.NewCodec(input)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, codec: codec, input: input, budget: rowstate.NewBudget(limit), out: changelog.NewBuilder(changelog.BuilderOptions{})}
	s.Name, s.Version = "deduplicate", 1
	if s.UniqueKeys == nil {
		s.UniqueKeys = []int{0}
	}
	if s.IsRowtime {
		index := 2
		s.RowtimeIndex = &index
	}
	if f.op, err = native.Open(spec.Encode(&s), []logical.Row{input}, optest.Groups, f.budget, op.Host{}); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) batch(rows ...string) *changelog.Batch {
	f.t.Helper()
	b := &changelog.Batch{Now: f.now, Offsets: []int32{0}}
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

func (f *fixture) push(rows ...string) []string {
	f.t.Helper()
	if err := f.op.Push(0, f.batch(rows...), f.out); err != nil {
		f.t.Fatal(err)
	}
	return f.drain()
}

func (f *fixture) drain() []string {
	var texts []string
	for _, r := range optest.Drain(f.out) {
		texts = append(texts, f.codec.Format(r.Kind, r.Row))
	}
	return texts
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

func TestLateRowsAreCountedAndLeaveNothing(t *testing.T) {
	f := open(t, spec.Deduplicate{IsRowtime: true, OutputInsertOnly: true}, 0)
	defer f.close()
	if err := f.op.Watermark(100, f.out); err != nil {
		t.Fatal(err)
	}
	f.push(`+I 1 "late" 99`, `+I 2 "late" 0`, `+I 2 "in time" 100`, `+I 1 "late" 98`, `+I 3 "late" 1`)
	if got := f.stat("numLateRecordsDropped"); got != 4 {
		t.Errorf("%d late rows counted, want 4", got)
	}
	if got := f.stat("state.keys"); got != 1 {
		t.Errorf("%d keys are kept, want 1", got)
	}
	if err := f.op.Watermark(101, f.out); err != nil {
		t.Fatal(err)
	}
	if got := f.drain(); len(got) != 1 || got[0] != `+I 2 "in time" 100` {
		t.Errorf("emitted %q", got)
	}
}

// FLINK-37005: Flink tests lateness before it looks whether the key is out.
func TestLateRowOfAnEmittedKeyIsCounted(t *testing.T) {
	f := open(t, spec.Deduplicate{IsRowtime: true, OutputInsertOnly: true}, 0)
	defer f.close()
	f.push(`+I 1 "x" 10000`, `+I 1 "y" 5000`)
	if err := f.op.Watermark(20000, f.out); err != nil {
		t.Fatal(err)
	}
	f.drain()
	f.push(`+I 1 "z" 7000`, `+I 2 "q" 7000`)
	if got := f.stat("numLateRecordsDropped"); got != 2 {
		t.Errorf("%d late rows counted, want 2", got)
	}
}

// TestExpiredKeysAreFreed is FLINK-16581 for every variant with state: a million keys would pile up, though each lives for
// ten seconds only.
func TestExpiredKeysAreFreed(t *testing.T) {
	for name, s := range map[string]spec.Deduplicate{
		"proctime keep first":  {OutputInsertOnly: true},
		"proctime keep last":   {KeepLastRow: true, GenerateInsert: true},
		"rowtime keep last":    {KeepLastRow: true, IsRowtime: true, GenerateUpdateBefore: true},
		"rowtime insert-only":  {IsRowtime: true, OutputInsertOnly: true},
		"mini-batch":           {KeepLastRow: true, GenerateInsert: true, MiniBatch: &spec.MiniBatch{Size: 70}},
		"mini-batch all":       {KeepLastRow: true, IsRowtime: true, GenerateInsert: true, MiniBatch: &spec.MiniBatch{Size: 1000}},
		"mini-batch and first": {MiniBatch: &spec.MiniBatch{Size: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			s.StateTTLMillis = 10_000
			f := open(t, s, 0)
			defer f.close()
			key, most, used := 0, int64(0), int64(0)
			for f.now = 1000; f.now < 100_000; f.now += 100 {
				var rows []string
				for range 20 {
					key++
					rows = append(rows, fmt.Sprintf(`+I %d "some value" %d`, key, f.now))
				}
				f.push(append(rows, fmt.Sprintf(`+I -1 "lives on" %d`, f.now))...)
				if err := f.op.Watermark(f.now, f.out); err != nil {
					t.Fatal(err)
				}
				f.drain()
				most, used = max(most, f.stat("state.keys")), max(used, f.stat("state.bytes"))
			}
			// 200 rows a second for 10 seconds, and the bundle.
			if most > 2100 {
				t.Errorf("%d keys at one time, of %d in all; 2000 live", most, key)
			}
			if used > 1<<20 {
				t.Errorf("%d bytes at one time", used)
			}
			f.now += 20_000
			if err := f.op.ProcessingTime(f.now, f.out); err != nil {
				t.Fatal(err)
			}
			if got := f.stat("state.keys"); got != 0 {
				t.Errorf("%d keys left when all have expired", got)
			}
		})
	}
}

// A key that is written again and again stays, and goes when nobody writes it any more.
func TestRenewedKeysStay(t *testing.T) {
	f := open(t, spec.Deduplicate{KeepLastRow: true, GenerateInsert: true, StateTTLMillis: 100}, 0)
	defer f.close()
	for f.now = 0; f.now < 5000; f.now += 37 {
		out := f.push(`+I 1 "a" 0`)
		if want := changelog.UpdateAfter.String(); f.now > 0 && (len(out) != 1 || out[0][:2] != want) {
			t.Fatalf("at %d: %q", f.now, out)
		}
	}
	f.now += 200 // at most one TTL after it has expired
	f.push(`+I 2 "b" 0`)
	if got := f.stat("state.keys"); got != 1 {
		t.Errorf("%d keys", got)
	}
}

func TestBadInputChangesNothing(t *testing.T) {
	for _, s := range []spec.Deduplicate{
		{KeepLastRow: true, GenerateInsert: true},
		{KeepLastRow: true}, // without state
		{KeepLastRow: true, IsRowtime: true, MiniBatch: &spec.MiniBatch{Size: 2}},
		{UniqueKeys: []int{1}},
	} {
		f := open(t, s, 0)
		good := func() *changelog.Batch { return f.batch(`+I 1 "a longer string" 5`, `+I 2 "another long string" 6`) }
		for name, spoil := range map[string]func(b *changelog.Batch){
			"update":        func(b *changelog.Batch) { b.Kinds[1] = changelog.UpdateAfter },
			"no kind":       func(b *changelog.Batch) { b.Kinds[1] = 7 },
			"short row":     func(b *changelog.Batch) { b.Offsets[1] = 8 },
			"short data":    func(b *changelog.Batch) { b.Data = b.Data[:len(b.Data)-8] },
			"offsets":       func(b *changelog.Batch) { b.Offsets = b.Offsets[:1] },
			"negative":      func(b *changelog.Batch) { b.Offsets[0] = math.MinInt32 },
			"key elsewhere": func(b *changelog.Batch) { b.Data[16+4] = 0xf0 },
		} {
			if name == "key elsewhere" && s.UniqueKeys == nil {
				continue
			}
			b := good()
			spoil(b)
			if err := f.op.Push(0, b, f.out); !errors.Is(err, op.ErrCorrupt) {
				t.Errorf("%+v: %s: error %v", s, name, err)
			}
			if got := f.drain(); got != nil {
				t.Errorf("%+v: %s: emitted %q", s, name, got)
			}
		}
		if err := f.op.Push(1, good(), f.out); !errors.Is(err, op.ErrInvalid) {
			t.Errorf("input 1: %v", err)
		}
		if err := f.op.Push(0, &changelog.Batch{Offsets: []int32{0}}, f.out); err != nil {
			t.Errorf("an empty batch: %v", err)
		}
		if got := f.push(`+I 1 "a longer string" 5`, `+I 2 "another long string" 6`); len(got) != 2 {
			t.Errorf("%+v: after bad batches a good one gives %q", s, got)
		}
		f.close()
	}
}

func TestBudget(t *testing.T) {
	for _, s := range []spec.Deduplicate{
		{KeepLastRow: true, GenerateInsert: true},
		{KeepLastRow: true, GenerateInsert: true, StateTTLMillis: 1 << 40},
		{OutputInsertOnly: true},
		{IsRowtime: true, OutputInsertOnly: true},
		{KeepLastRow: true, IsRowtime: true, MiniBatch: &spec.MiniBatch{Size: 1 << 30}},
	} {
		f := open(t, s, 4<<20)
		f.now = 1
		var failed error
		pushed := 0
		for key := 0; failed == nil; {
			if key > 1<<20 {
				t.Fatalf("%+v: a million keys in 4 MiB", s)
			}
			var rows []string
			for range 500 {
				rows = append(rows, fmt.Sprintf(`+I %d "a value that takes a while, to fill the memory" 7`, key))
				key++
			}
			failed = f.op.Push(0, f.batch(rows...), f.out)
			f.drain()
			if failed == nil {
				pushed += 500
			}
		}
		var budget *rowstate.BudgetError
		if !errors.As(failed, &budget) || !strings.Contains(failed.Error(), "deduplicate ") {
			t.Errorf("%+v: error %v", s, failed)
		}
		if used := f.budget.Used(); used > 4<<20 {
			t.Errorf("%+v: %d bytes are used", s, used)
		}
		// What was there before is there still, and only that.
		if err := f.op.Flush(f.out); err != nil {
			t.Error(err)
		}
		f.drain()
		if got := f.stat("state.keys"); got != int64(pushed) {
			t.Errorf("%+v: %d keys, %d were pushed", s, got, pushed)
		}
		if got := len(optest.TakeSnapshot(t, f.op, optest.Groups)); got != 128 {
			t.Errorf("%+v: snapshot of %d key groups", s, got)
		}
		f.close()
	}
}

func TestSnapshotNeedsAnEmptyBundle(t *testing.T) {
	f := open(t, spec.Deduplicate{KeepLastRow: true, GenerateInsert: true, MiniBatch: &spec.MiniBatch{Size: 10}}, 0)
	defer f.close()
	f.push(`+I 1 "a" 1`)
	if got := f.stat("bundleSize"); got != 1 {
		t.Errorf("bundleSize %d", got)
	}
	if _, err := f.op.Snapshot(optest.Groups); !errors.Is(err, op.ErrInvalid) {
		t.Errorf("snapshot of a bundle: %v", err)
	}
	if err := f.op.Flush(f.out); err != nil {
		t.Fatal(err)
	}
	f.drain()
	groups := optest.TakeSnapshot(t, f.op, optest.Groups)
	g := open(t, spec.Deduplicate{KeepLastRow: true, GenerateInsert: true}, 0) // the bundle is no part of the state
	defer g.close()
	optest.RestoreSnapshot(t, g.op, groups, optest.Groups)
	if got := g.push(`+I 1 "b" 1`); len(got) != 1 || got[0] != `+U 1 "b" 1` {
		t.Errorf("after a restore: %q", got)
	}
}

// State without TTL that is restored to an operator with one begins to age when the clock is first known; the other way
// round it stops.
func TestRestoreWithAnotherTTL(t *testing.T) {
	for name, s := range map[string]spec.Deduplicate{
		"row": {KeepLastRow: true, GenerateInsert: true}, "flag": {OutputInsertOnly: true},
		"waiting": {IsRowtime: true, OutputInsertOnly: true},
	} {
		emit := func(f *fixture, watermark int64) int {
			f.t.Helper()
			if err := f.op.Watermark(watermark, f.out); err != nil {
				f.t.Fatal(err)
			}
			return len(f.drain())
		}
		none, some := s, s
		some.StateTTLMillis = 100
		f, g, h := open(t, none, 0), open(t, some, 0), open(t, none, 0)
		f.now = 5000
		first := f.push(`+I 1 "a" 1`, `+I 2 "b" 2`)
		if len(first)+emit(f, 2) != 2 {
			t.Fatalf("%s: first rows gave %q", name, first)
		}
		optest.RestoreSnapshot(t, g.op, optest.TakeSnapshot(t, f.op, optest.Groups), optest.Groups)
		g.now = 9000
		g.push(`+I 3 "c" 3`)
		emit(g, 3)
		optest.RestoreSnapshot(t, h.op, optest.TakeSnapshot(t, g.op, optest.Groups), optest.Groups)
		if got := g.stat("state.keys"); got != 3 {
			t.Errorf("%s: %d keys", name, got)
		}
		if err := g.op.ProcessingTime(9099, g.out); err != nil {
			t.Fatal(err)
		}
		if got := g.stat("state.keys"); got != 3 {
			t.Errorf("%s: %d keys after 99 ms", name, got)
		}
		if err := g.op.ProcessingTime(9100, g.out); err != nil {
			t.Fatal(err)
		}
		if got := g.stat("state.keys"); got != 0 {
			t.Errorf("%s: %d keys after 100 ms", name, got)
		}
		h.now = 1 << 40
		h.push(`+I 4 "d" 4`)
		if got := h.stat("state.keys"); got != 4 {
			t.Errorf("%s: %d keys without TTL", name, got)
		}
		f.close()
		g.close()
		h.close()
	}
}

func TestSnapshotsLeaveOutWhatHasExpired(t *testing.T) {
	for name, s := range map[string]spec.Deduplicate{
		"row": {KeepLastRow: true, GenerateInsert: true}, "flag": {OutputInsertOnly: true},
		"waiting": {IsRowtime: true, OutputInsertOnly: true},
	} {
		s.StateTTLMillis = 100
		f := open(t, s, 0)
		var rows []string
		for i := range 10_000 { // more than one call frees
			rows = append(rows, fmt.Sprintf(`+I %d "a" 1`, i))
		}
		f.push(rows...)
		if err := f.op.Watermark(1, f.out); err != nil {
			t.Fatal(err)
		}
		f.drain()
		if err := f.op.ProcessingTime(100, f.out); err != nil {
			t.Fatal(err)
		}
		if got := f.stat("state.keys"); got == 0 || got == 10_000 {
			t.Errorf("%s: %d keys", name, got)
		}
		for g, bytes := range optest.TakeSnapshot(t, f.op, optest.Groups) {
			if len(bytes) > 0 {
				t.Fatalf("%s: key group %d has %d bytes, though all has expired", name, g, len(bytes))
			}
		}
		f.close()
	}
}

func TestRestoreRefuses(t *testing.T) {
	s := spec.Deduplicate{KeepLastRow: true, GenerateInsert: true}
	f := open(t, s, 0)
	f.push(`+I 1 "a" 1`)
	groups := optest.TakeSnapshot(t, f.op, optest.Groups)
	f.close()
	// The key is BIGINT 1, which Flink puts into key group 94.
	good := groups[94]
	if len(good) == 0 {
		t.Fatal("key group 94 is empty")
	}
	edit := func(at int, b byte) []byte {
		e := bytes.Clone(good)
		e[at] ^= b
		return e
	}
	other := spec.Deduplicate{OutputInsertOnly: true}
	for _, test := range []struct {
		name  string
		spec  spec.Deduplicate
		group int
		bytes []byte
		kind  error
		want  string
	}{
		{"another group", s, 95, good, op.ErrCorrupt, "key group 95: frame 1: offset 0: the key is of key group 94"},
		{"a group of others", s, 128, good, op.ErrInvalid, "key group 128 is not of the subtask's 0 to 127"},
		{"another variant", other, 94, good, op.ErrCorrupt, `"form":"row"`},
		{"another key", spec.Deduplicate{KeepLastRow: true, GenerateInsert: true, UniqueKeys: []int{1}}, 94, good, op.ErrCorrupt, `"uniqueKeys":[0]`},
		{"cut in the header", s, 94, good[:10], op.ErrCorrupt, "key group 94"},
		{"cut", s, 94, good[:len(good)-20], op.ErrCorrupt, "key group 94"},
		{"no end", s, 94, good[:len(good)-16], op.ErrCorrupt, "key group 94"},
		{"magic", s, 94, edit(0, 1), op.ErrCorrupt, "key group 94"},
		{"version", s, 94, edit(7, 0x40), op.ErrCorrupt, "version 65"},
		{"fingerprint", s, 94, edit(12, 1), op.ErrCorrupt, "fingerprint"},
		{"a flipped bit", s, 94, edit(len(good)-30, 1), op.ErrCorrupt, "checksum"},
		{"no state", spec.Deduplicate{KeepLastRow: true}, 94, good, op.ErrCorrupt, "no state"},
		{"twice", s, 94, nil, op.ErrCorrupt, "comes twice"},
	} {
		f := open(t, test.spec, 0)
		if test.bytes == nil {
			test.bytes = good
			if err := f.op.Restore(94, bytes.NewReader(good)); err != nil {
				t.Fatal(err)
			}
		}
		err := f.op.Restore(test.group, bytes.NewReader(test.bytes))
		if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
		f.close()
	}
	g := open(t, s, 0)
	defer g.close()
	if err := g.op.Restore(5, strings.NewReader("")); err != nil {
		t.Errorf("an empty key group: %v", err)
	}
	g.push(`+I 7 "a" 1`)
	if err := g.op.Restore(94, bytes.NewReader(good)); !errors.Is(err, op.ErrInvalid) {
		t.Errorf("restore after the first batch: %v", err)
	}
}
