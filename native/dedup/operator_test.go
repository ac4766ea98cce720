package dedup_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"drey/native"
	"drey/native/changelog"
	"drey/native/op"
	"drey/native/optest"
	"drey/native/spec"
)

const fields = `[{"name":"k","type":"BIGINT"},{"name":"v","type":"STRING"},{"name":"t","type":"TIMESTAMP(3)"}]`

func open(t testing.TB, s spec.Deduplicate, limit int64) *optest.Fixture {
	t.Helper()
	s.Name, s.Version = "deduplicate", 1
	if s.UniqueKeys == nil {
		s.UniqueKeys = []int{0}
	}
	if s.IsRowtime {
		index := 2
		s.RowtimeIndex = &index
	}
	return optest.NewFixture(t, native.Open, spec.Encode(&s), limit, fields)
}

func TestLateRowsAreCountedAndLeaveNothing(t *testing.T) {
	f := open(t, spec.Deduplicate{IsRowtime: true, OutputInsertOnly: true}, 0)
	defer f.Close()
	if err := f.Op.Watermark(100, f.Out); err != nil {
		t.Fatal(err)
	}
	f.Push(`+I 1 "late" 99`, `+I 2 "late" 0`, `+I 2 "in time" 100`, `+I 1 "late" 98`, `+I 3 "late" 1`)
	if got := f.Stat("numLateRecordsDropped"); got != 4 {
		t.Errorf("%d late rows counted, want 4", got)
	}
	if got := f.Stat("state.keys"); got != 1 {
		t.Errorf("%d keys are kept, want 1", got)
	}
	if err := f.Op.Watermark(101, f.Out); err != nil {
		t.Fatal(err)
	}
	if got := f.Drain(); len(got) != 1 || got[0] != `+I 2 "in time" 100` {
		t.Errorf("emitted %q", got)
	}
}

// FLINK-37005: Flink tests lateness before it looks whether the key is out.
func TestLateRowOfAnEmittedKeyIsCounted(t *testing.T) {
	f := open(t, spec.Deduplicate{IsRowtime: true, OutputInsertOnly: true}, 0)
	defer f.Close()
	f.Push(`+I 1 "x" 10000`, `+I 1 "y" 5000`)
	if err := f.Op.Watermark(20000, f.Out); err != nil {
		t.Fatal(err)
	}
	f.Drain()
	f.Push(`+I 1 "z" 7000`, `+I 2 "q" 7000`)
	if got := f.Stat("numLateRecordsDropped"); got != 2 {
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
			defer f.Close()
			key, most, used := 0, int64(0), int64(0)
			for f.Now = 1000; f.Now < 100_000; f.Now += 100 {
				var rows []string
				for range 20 {
					key++
					rows = append(rows, fmt.Sprintf(`+I %d "some value" %d`, key, f.Now))
				}
				f.Push(append(rows, fmt.Sprintf(`+I -1 "lives on" %d`, f.Now))...)
				if err := f.Op.Watermark(f.Now, f.Out); err != nil {
					t.Fatal(err)
				}
				f.Drain()
				most, used = max(most, f.Stat("state.keys")), max(used, f.Stat("state.bytes"))
			}
			// 200 rows a second for 10 seconds, and the bundle.
			if most > 2100 {
				t.Errorf("%d keys at one time, of %d in all; 2000 live", most, key)
			}
			if used > 1<<20 {
				t.Errorf("%d bytes at one time", used)
			}
			f.Now += 20_000
			if err := f.Op.ProcessingTime(f.Now, f.Out); err != nil {
				t.Fatal(err)
			}
			if got := f.Stat("state.keys"); got != 0 {
				t.Errorf("%d keys left when all have expired", got)
			}
		})
	}
}

// A key that is written again and again stays, and goes when nobody writes it any more.
func TestRenewedKeysStay(t *testing.T) {
	f := open(t, spec.Deduplicate{KeepLastRow: true, GenerateInsert: true, StateTTLMillis: 100}, 0)
	defer f.Close()
	for f.Now = 0; f.Now < 5000; f.Now += 37 {
		out := f.Push(`+I 1 "a" 0`)
		if want := changelog.UpdateAfter.String(); f.Now > 0 && (len(out) != 1 || out[0][:2] != want) {
			t.Fatalf("at %d: %q", f.Now, out)
		}
	}
	f.Now += 200 // at most one TTL after it has expired
	f.Push(`+I 2 "b" 0`)
	if got := f.Stat("state.keys"); got != 1 {
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
		good := func() *changelog.Batch { return f.Batch(`+I 1 "a longer string" 5`, `+I 2 "another long string" 6`) }
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
			if err := f.Op.Push(0, b, f.Out); !errors.Is(err, op.ErrCorrupt) {
				t.Errorf("%+v: %s: error %v", s, name, err)
			}
			if got := f.Drain(); got != nil {
				t.Errorf("%+v: %s: emitted %q", s, name, got)
			}
		}
		if err := f.Op.Push(1, good(), f.Out); !errors.Is(err, op.ErrInvalid) {
			t.Errorf("input 1: %v", err)
		}
		if err := f.Op.Push(0, &changelog.Batch{Offsets: []int32{0}}, f.Out); err != nil {
			t.Errorf("an empty batch: %v", err)
		}
		if got := f.Push(`+I 1 "a longer string" 5`, `+I 2 "another long string" 6`); len(got) != 2 {
			t.Errorf("%+v: after bad batches a good one gives %q", s, got)
		}
		f.Close()
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
		f.Now = 1
		pushed := f.Fill("deduplicate ", func(i int) string {
			return fmt.Sprintf(`+I %d "a value that takes a while, to fill the memory" 7`, i)
		})
		if used := f.Budget.Used(); used > 4<<20 {
			t.Errorf("%+v: %d bytes are used", s, used)
		}
		// What was there before is there still, and only that.
		f.Flush()
		if got := f.Stat("state.keys"); got != int64(pushed) {
			t.Errorf("%+v: %d keys, %d were pushed", s, got, pushed)
		}
		if got := len(optest.TakeSnapshot(t, f.Op, optest.Groups)); got != 128 {
			t.Errorf("%+v: snapshot of %d key groups", s, got)
		}
		f.Close()
	}
}

func TestSnapshotNeedsAnEmptyBundle(t *testing.T) {
	f := open(t, spec.Deduplicate{KeepLastRow: true, GenerateInsert: true, MiniBatch: &spec.MiniBatch{Size: 10}}, 0)
	defer f.Close()
	f.Push(`+I 1 "a" 1`)
	if got := f.Stat("bundleSize"); got != 1 {
		t.Errorf("bundleSize %d", got)
	}
	if _, err := f.Op.Snapshot(optest.Groups); !errors.Is(err, op.ErrInvalid) {
		t.Errorf("snapshot of a bundle: %v", err)
	}
	if err := f.Op.Flush(f.Out); err != nil {
		t.Fatal(err)
	}
	f.Drain()
	groups := optest.TakeSnapshot(t, f.Op, optest.Groups)
	g := open(t, spec.Deduplicate{KeepLastRow: true, GenerateInsert: true}, 0) // the bundle is no part of the state
	defer g.Close()
	optest.RestoreSnapshot(t, g.Op, groups, optest.Groups)
	if got := g.Push(`+I 1 "b" 1`); len(got) != 1 || got[0] != `+U 1 "b" 1` {
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
		emit := func(f *optest.Fixture, watermark int64) int {
			f.T.Helper()
			if err := f.Op.Watermark(watermark, f.Out); err != nil {
				f.T.Fatal(err)
			}
			return len(f.Drain())
		}
		none, some := s, s
		some.StateTTLMillis = 100
		f, g, h := open(t, none, 0), open(t, some, 0), open(t, none, 0)
		f.Now = 5000
		first := f.Push(`+I 1 "a" 1`, `+I 2 "b" 2`)
		if len(first)+emit(f, 2) != 2 {
			t.Fatalf("%s: first rows gave %q", name, first)
		}
		optest.RestoreSnapshot(t, g.Op, optest.TakeSnapshot(t, f.Op, optest.Groups), optest.Groups)
		g.Now = 9000
		g.Push(`+I 3 "c" 3`)
		emit(g, 3)
		optest.RestoreSnapshot(t, h.Op, optest.TakeSnapshot(t, g.Op, optest.Groups), optest.Groups)
		if got := g.Stat("state.keys"); got != 3 {
			t.Errorf("%s: %d keys", name, got)
		}
		if err := g.Op.ProcessingTime(9099, g.Out); err != nil {
			t.Fatal(err)
		}
		if got := g.Stat("state.keys"); got != 3 {
			t.Errorf("%s: %d keys after 99 ms", name, got)
		}
		if err := g.Op.ProcessingTime(9100, g.Out); err != nil {
			t.Fatal(err)
		}
		if got := g.Stat("state.keys"); got != 0 {
			t.Errorf("%s: %d keys after 100 ms", name, got)
		}
		h.Now = 1 << 40
		h.Push(`+I 4 "d" 4`)
		if got := h.Stat("state.keys"); got != 4 {
			t.Errorf("%s: %d keys without TTL", name, got)
		}
		f.Close()
		g.Close()
		h.Close()
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
		f.Push(rows...)
		if err := f.Op.Watermark(1, f.Out); err != nil {
			t.Fatal(err)
		}
		f.Drain()
		if err := f.Op.ProcessingTime(100, f.Out); err != nil {
			t.Fatal(err)
		}
		if got := f.Stat("state.keys"); got == 0 || got == 10_000 {
			t.Errorf("%s: %d keys", name, got)
		}
		for g, bytes := range optest.TakeSnapshot(t, f.Op, optest.Groups) {
			if len(bytes) > 0 {
				t.Fatalf("%s: key group %d has %d bytes, though all has expired", name, g, len(bytes))
			}
		}
		f.Close()
	}
}

func TestRestoreRefuses(t *testing.T) {
	for _, s := range restorable {
		optest.CheckRestoreRefuses(t, func() *optest.Fixture { return open(t, s, 0) }, `+I 1 "a" 1`)
	}
	f := open(t, restorable[0], 0)
	f.Push(`+I 1 "a" 1`)
	group, good := optest.Only(f.Snapshot())
	f.Close()
	for _, test := range []struct {
		name string
		spec spec.Deduplicate
		want string
	}{
		{"another variant", spec.Deduplicate{OutputInsertOnly: true}, `"form":"row"`},
		{"another key", spec.Deduplicate{KeepLastRow: true, GenerateInsert: true, UniqueKeys: []int{1}}, `"uniqueKeys":[0]`},
		{"no state", spec.Deduplicate{KeepLastRow: true}, "no state"},
	} {
		f := open(t, test.spec, 0)
		optest.CheckRefusal(t, test.name, f, group, good, op.ErrCorrupt, test.want)
		f.Close()
	}
}
