package rowstate

import "math"

// Clock is the host's processing time, and what it means for values that live for a time only, since they were last written:
// Flink's StateTtlConfig with OnCreateAndWrite and NeverReturnExpired. Where a value keeps its stamp, the time it was written, is
// its owner's affair.
type Clock struct {
	// Now is in epoch milliseconds.
	Now int64
	// TTL is how long a value lives; 0: forever.
	TTL int64
	// Known tells that the host has told the time.
	Known bool
}

// UnknownStamp is the stamp of values restored from state that had no TTL, until the host has told the time. They don't expire.
const UnknownStamp = math.MaxInt64

// Tick sets the clock, and tells whether it is the first time. It never goes back, so that what has expired stays expired.
func (c *Clock) Tick(now int64) (first bool) {
	if c.Known {
		c.Now = max(c.Now, now)
		return false
	}
	c.Now, c.Known = now, true
	return true
}

// Expired tells whether a value written at stamp is to be treated as absent.
func (c *Clock) Expired(stamp int64) bool { return c.TTL > 0 && Expired(stamp, c.TTL, c.Now) }

// Expired is TtlUtils.expired: a value is gone from the millisecond on at which its TTL, which is not 0, has passed.
func Expired(stamp, ttl, now int64) bool { return ExpiresAt(stamp, ttl) <= now }

// ExpiresAt is TtlUtils.getExpirationTimestamp: the sum saturates.
func ExpiresAt(stamp, ttl int64) int64 {
	if stamp > math.MaxInt64-ttl {
		return math.MaxInt64
	}
	return stamp + ttl
}
