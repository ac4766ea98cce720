package rowstate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

type moment struct {
	time    int64
	element uint32
}

// TestTimelineAgainstSlice inserts mostly in order, sometimes late, asks for ranges, prunes and removes, beside a slice
// that is kept sorted.
func TestTimelineAgainstSlice(t *testing.T) {
	for _, late := range []int{0, 5, 1000, 100_000} {
		arena := NewArena(NewBudget(0), "times")
		k := NewTimelines(arena)
		var line Timeline
		var want []moment
		rng := rand.New(rand.NewPCG(uint64(late), 5))
		clock := int64(-1000)
		check := func(from, to int64) {
			t.Helper()
			var got, expected []moment
			for time, e := range k.Range(&line, from, to) {
				got = append(got, moment{time, e})
			}
			for _, m := range want {
				if m.time >= from && m.time <= to {
					expected = append(expected, m)
				}
			}
			if !slices.Equal(got, expected) || line.Len() != len(want) {
				t.Fatalf("late %d, range %d..%d of %d: %d elements, want %d", late, from, to, len(want), len(got), len(expected))
			}
		}
		for step := range uint32(20000) {
			clock += int64(rng.IntN(3))
			time := clock
			if late > 0 && rng.IntN(4) == 0 {
				time -= rng.Int64N(int64(late))
			}
			k.Insert(&line, time, step)
			at, _ := slices.BinarySearchFunc(want, time, func(m moment, time int64) int {
				if m.time <= time {
					return -1
				}
				return 1
			})
			want = slices.Insert(want, at, moment{time, step})
			if step%500 == 7 {
				from := clock - rng.Int64N(2000)
				check(from, from+rng.Int64N(1000))
				check(math.MinInt64, math.MaxInt64)
			}
			if rng.IntN(10) == 0 {
				m := want[rng.IntN(len(want))]
				if !k.Remove(&line, m.time, m.element) || k.Remove(&line, m.time, m.element) {
					t.Fatalf("element %+v was not removed once", m)
				}
				want = slices.DeleteFunc(want, func(x moment) bool { return x == m })
			}
			if step%800 == 799 {
				bound := clock - rng.Int64N(3000)
				if step%4000 == 3999 {
					bound = math.MaxInt64
				}
				k.Prune(&line, bound, func(time int64, e uint32) {
					if want[0] != (moment{time, e}) || time >= bound {
						t.Fatalf("pruned %d %d, want %+v", time, e, want[0])
					}
					want = want[1:]
				})
				if len(want) > 0 && want[0].time < bound {
					t.Fatal("something too old is left")
				}
				check(math.MinInt64, math.MaxInt64)
			}
		}
		k.Prune(&line, math.MaxInt64, func(int64, uint32) {})
		if s := arena.Stats(); s.Held != 0 || line != (Timeline{}) {
			t.Fatalf("an empty timeline holds %d bytes", s.Held)
		}
		arena.Close()
	}
}
