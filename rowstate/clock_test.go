package rowstate

import (
	"math"
	"testing"
)

// TestTTLRule has Flink's boundary: a value written at 1,000 with a TTL of 500 is gone at 1,500.
func TestTTLRule(t *testing.T) {
	for _, c := range []struct {
		stamp, ttl, now int64
		expired         bool
	}{
		{1000, 500, 1499, false}, {1000, 500, 1500, true}, {1000, 500, 1501, true}, {1000, 0, math.MaxInt64, false},
		{-1000, 500, -501, false}, {-1000, 500, -500, true},
		// Sums that are too great: Flink takes the greatest time instead.
		{math.MaxInt64 - 5, 500, math.MaxInt64 - 1, false}, {math.MaxInt64 - 5, 500, math.MaxInt64, true},
		{UnknownStamp, 500, math.MaxInt64 - 1, false}, {UnknownStamp, math.MaxInt64, 0, false},
		{1, math.MaxInt64, math.MaxInt64 - 1, false}, {math.MinInt64, math.MaxInt64, -2, false}, {math.MinInt64, math.MaxInt64, -1, true},
	} {
		clock := Clock{TTL: c.ttl, Now: c.now, Known: true}
		if got := clock.Expired(c.stamp); got != c.expired {
			t.Errorf("%+v: expired %t", c, got)
		}
	}
}

func TestClockNeverGoesBack(t *testing.T) {
	var clock Clock
	if !clock.Tick(-5) || clock.Now != -5 || !clock.Known {
		t.Fatalf("after the first tick %+v", clock)
	}
	for _, c := range [][2]int64{{7, 7}, {6, 7}, {7, 7}, {8, 8}} {
		if clock.Tick(c[0]) || clock.Now != c[1] {
			t.Fatalf("after a tick at %d %+v", c[0], clock)
		}
	}
}
