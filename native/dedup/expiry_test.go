package dedup

import (
	"math"
	"testing"

	"drey/rowstate"
)

// TestExpiryQueue: keys come out when their time has come, in the order they went in, at TTLs whose unit is one
// millisecond and at longer ones, near the ends of time too.
func TestExpiryQueue(t *testing.T) {
	for _, ttl := range []int64{1, 100, 1 << 20, 1<<20 + 1, 3_600_000, 90 * 86_400_000, math.MaxInt64 / 4} {
		for _, start := range []int64{0, 1_700_000_000_000, math.MaxInt64 / 2} {
			e := newExpiry(rowstate.NewBudget(0), ttl)
			if err := e.reserve(100); err != nil {
				t.Fatal(err)
			}
			for i := range int64(100) {
				e.add(rowstate.Ref(i+1), start+ttl/100*i)
			}
			if ref, ok := e.next(start - 2*e.unit - 1); ok && start > 0 {
				t.Errorf("ttl %d, start %d: key %d came out early", ttl, start, ref)
			}
			for i := range int64(100) {
				now := start + ttl/100*i + e.unit // rounded up
				if ref, ok := e.next(now); !ok || ref != rowstate.Ref(i+1) {
					t.Fatalf("ttl %d, start %d: at %d came %d, %v, want key %d", ttl, start, now, ref, ok, i+1)
				}
			}
			if _, ok := e.next(math.MaxInt64); ok {
				t.Errorf("ttl %d: a key came out of an empty queue", ttl)
			}
			e.close()
		}
	}
}

// TestExpiryQueueGrowsAndWraps keeps a queue of changing length going for many rounds of its ring.
func TestExpiryQueueGrowsAndWraps(t *testing.T) {
	e := newExpiry(rowstate.NewBudget(0), 1000)
	defer e.close()
	in, out := int64(0), int64(0)
	for round := range int64(2000) {
		for range 1 + round%97 {
			if err := e.reserve(e.n + 1); err != nil {
				t.Fatal(err)
			}
			in++
			e.add(rowstate.Ref(in), in)
		}
		for range round % 101 {
			if ref, ok := e.next(in); ok {
				if out++; ref != rowstate.Ref(out) {
					t.Fatalf("round %d: key %d came out, want %d", round, ref, out)
				}
			}
		}
	}
}

// Keys restored long after they expired come out at once, whatever 32 bits make of their times.
func TestExpiryQueueOfThePast(t *testing.T) {
	e := newExpiry(rowstate.NewBudget(0), 1000)
	defer e.close()
	if err := e.reserve(1); err != nil {
		t.Fatal(err)
	}
	for _, age := range []int64{1, 1000, 1 << 21, 1 << 31, 1<<31 + 5, 1 << 33, 1 << 40} {
		now := int64(1) << 41
		e.add(7, now-age)
		if _, ok := e.next(now); !ok {
			t.Errorf("a key that expired %d ms ago stays", age)
			e.next(now + 1000)
		}
	}
}
