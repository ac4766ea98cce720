package topn_test

import (
	"fmt"
	"testing"

	"drey/native/optest"
	"drey/native/spec"
)

// Partitions that come and go, and rows that come and go in a partition that stays, take no more memory than what lives.
func TestExpiredRowsAreFreed(t *testing.T) {
	for name, s := range strategies {
		for _, partitions := range []string{"many", "one"} {
			s.StateTTLMillis = 10_000
			f := open(t, s, 0)
			n, most := 0, int64(0)
			settled := int64(0) // after two lives
			for f.Now = 1000; f.Now < 100_000; f.Now += 100 {
				var rows []string
				for range 20 {
					n++
					p := 7
					if partitions == "many" {
						p = n
					}
					// Rows of one sort key come for a second, then none for 39.
					rows = append(rows, fmt.Sprintf(`+I %d "%d" %d "some text" 7 "a value"`, p, n, n/200%40))
				}
				if s.Function == spec.RetractableTopN && partitions == "one" {
					// Some that are there, and some that have expired, are retracted.
					for _, ago := range []int{1, 700, 8010} {
						gone := max(1, n-ago)
						rows = append(rows, fmt.Sprintf(`-D 7 "%d" %d "some text" 7 "a value"`, gone, gone/200%40))
					}
				}
				f.Push(rows...)
				if used := f.Stat("state.bytes"); f.Now < 21_000 {
					settled = max(settled, used)
				} else {
					most = max(most, used)
				}
			}
			if keys := f.Stat("state.keys"); keys > 4500 {
				t.Errorf("%s, %s partitions: %d partitions, of %d in all; 2000 live", name, partitions, keys, n)
			}
			if most > settled+settled/2+1<<16 {
				t.Errorf("%s, %s partitions: %d bytes, after two lives it was %d", name, partitions, most, settled)
			}
			for range 10 {
				f.Time(f.Now + 20_000)
			}
			if got := f.Stat("state.keys"); got != 0 {
				t.Errorf("%s, %s partitions: %d left when all have expired", name, partitions, got)
			}
			f.Close()
		}
	}
}

// State without TTL that is restored to an operator with one begins to age when the clock is first known; the other way
// round it stops.
func TestRestoreWithAnotherTTL(t *testing.T) {
	rows := []string{`+I 1 "a" 1 NULL 2 NULL`, `+I 1 "b" 1 NULL 2 NULL`, `+I 2 "c" 2 NULL 2 NULL`}
	for name, s := range strategies {
		some := s
		some.StateTTLMillis = 100
		f, g, h := open(t, s, 0), open(t, some, 0), open(t, s, 0)
		f.Now = 5000
		f.Push(rows...)
		g.Restore(f.Snapshot())
		g.Now = 9000
		g.Push(`+I 3 "c" 3 NULL 2 NULL`)
		h.Restore(g.Snapshot())
		for _, step := range []struct{ now, keys int64 }{{9099, 3}, {9100, 0}} {
			g.Time(step.now)
			if got := g.Stat("state.keys"); got != step.keys {
				t.Errorf("%s: %d partitions at %d, want %d", name, got, step.now, step.keys)
			}
		}
		h.Now = 1 << 40
		h.Push(`+I 4 "d" 4 NULL 2 NULL`)
		if got := h.Stat("state.keys"); got != 4 {
			t.Errorf("%s: %d partitions without TTL", name, got)
		}
		f.Close()
		g.Close()
		h.Close()
	}
}

func TestSnapshotsLeaveOutWhatHasExpired(t *testing.T) {
	for name, s := range strategies {
		s.StateTTLMillis = 100
		f := open(t, s, 0)
		var rows []string
		for i := range 5000 { // more than one call frees
			rows = append(rows, fmt.Sprintf(`+I %d "a" 1 NULL 2 NULL`, i))
		}
		f.Push(rows...)
		f.Time(100)
		if got := f.Stat("state.keys"); got == 0 || got == 5000 {
			t.Errorf("%s: %d partitions", name, got)
		}
		if g, b := optest.Only(f.Snapshot()); len(b) > 0 {
			t.Errorf("%s: key group %d has %d bytes, though all has expired", name, g, len(b))
		}
		f.Close()
	}
}

// The bound of a variable range lives for itself: from when it was said, whatever comes later.
func TestBoundExpiresByItself(t *testing.T) {
	s := strategies["append plain"]
	index := columnE
	s.RankRange = spec.RankRange{Type: "Variable", EndIndex: &index}
	s.StateTTLMillis = 100
	f := open(t, s, 0)
	defer f.Close()
	emitted := 0
	for i, step := range []struct{ now, wants, total int }{
		{0, 1, 1}, {60, 3, 1}, {99, 3, 1}, // the bound is 1
		{100, 3, 2}, {101, 9, 3}, {102, 9, 3}, // then 3; the rows of before live on, for others of their group came
	} {
		f.Now = int64(step.now)
		emitted += len(f.Push(fmt.Sprintf(`+I 1 "%d" 5 NULL %d NULL`, i, step.wants)))
		if emitted != step.total {
			t.Errorf("%d rows went out until %d, want %d", emitted, step.now, step.total)
		}
	}
	if got := f.Stat("topn.invalidTopSize"); got != 4 {
		t.Errorf("%d rows with another bound counted, want 4", got)
	}
}

// A retraction of a row whose state has expired finds nothing, tells nothing, and leaves nothing that a later row trips over
// (FLINK-24654, FLINK-28019).
func TestRetractionOfExpiredRow(t *testing.T) {
	const hour = 3_600_000
	for _, number := range []bool{false, true} {
		s := top(spec.RetractableTopN, 1, 2, number)
		s.StateTTLMillis = hour
		f := open(t, s, 0)
		for _, step := range []struct {
			now int64
			row string
			n   int
		}{
			{0, `+I 1 "1" 50 NULL 0 NULL`, 1}, {2 * hour, `-D 1 "1" 50 NULL 0 NULL`, 0},
			{2*hour + 1000, `+I 1 "2" 60 NULL 0 NULL`, 1}, {2*hour + 2000, `-D 1 "2" 60 NULL 0 NULL`, 1},
		} {
			f.Now = step.now
			if got := f.Push(step.row); len(got) != step.n {
				t.Errorf("%s: %q", step.row, got)
			}
		}
		if got := f.Stat("state.keys"); got != 0 {
			t.Errorf("%d partitions left", got)
		}
		f.Close()
	}
}
