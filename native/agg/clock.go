package agg

import "math"

// clock is the host's processing time, and what it means for values with a TTL.
type clock struct {
	now   int64
	ttl   int64 // 0: values live forever
	known bool  // the host has told the time
}

// unknownStamp is the stamp of values restored from state that had no TTL, until the host has told the time.
const unknownStamp = math.MaxInt64

// expired tells whether a value written at stamp is to be treated as absent (TtlUtils.expired).
func (c *clock) expired(stamp int64) bool {
	return c.ttl > 0 && stamp <= math.MaxInt64-c.ttl && stamp+c.ttl <= c.now
}
