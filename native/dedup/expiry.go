package dedup

import (
	"encoding/binary"

	"drey/rowstate"
)

// expiry is the queue of all keys whose value has a time stamp, each once, by the time at which to look whether it has
// expired. A key that was written since goes to the end of the queue again, with the time it will expire by then. So the
// queue is not sorted: behind a key that was restored, or went around, others may wait that expire earlier. But all times
// in it lie within one TTL, hence a key is freed at the latest one TTL after it became invisible, and it is looked at about
// once per TTL.
//
// A key takes 8 bytes. Times are kept in units of a millionth of the TTL, rounded up, as 32 bits that wrap around: what
// matters is only how they lie to the present.
type expiry struct {
	arena *rowstate.Arena
	ref   rowstate.Ref
	ring  []byte // records {ref uint32, due uint32}; their number is a power of two
	head  int    // record that comes out next
	n     int
	unit  int64 // milliseconds
}

const (
	expiryRecord = 8
	unitsPerTTL  = 1 << 20
)

func newExpiry(budget *rowstate.Budget, ttl int64) *expiry {
	return &expiry{arena: rowstate.NewArena(budget, purposeExpiry), unit: max(1, ttl/unitsPerTTL)}
}

// reserve makes room for n keys in all.
func (e *expiry) reserve(n int) error {
	if n*expiryRecord <= len(e.ring) {
		return nil
	}
	size := max(2*len(e.ring), 64*expiryRecord)
	for size < n*expiryRecord {
		size *= 2
	}
	if err := e.arena.Reserve(int64(size)); err != nil {
		return err
	}
	ref := e.arena.Alloc(size)
	ring := e.arena.Bytes(ref, size)
	if e.ref != 0 {
		front := copy(ring, e.ring[e.head*expiryRecord:])
		copy(ring[front:], e.ring[:e.head*expiryRecord])
		e.arena.Free(e.ref, len(e.ring))
	}
	e.ref, e.ring, e.head = ref, ring, 0
	return nil
}

func (e *expiry) record(i int) []byte {
	i = (e.head + i) * expiryRecord & (len(e.ring) - 1)
	return e.ring[i : i+expiryRecord]
}

func (e *expiry) add(ref rowstate.Ref, due int64) {
	r := e.record(e.n)
	e.n++
	binary.LittleEndian.PutUint32(r, uint32(ref))
	when := due / e.unit
	if when*e.unit < due {
		when++
	}
	binary.LittleEndian.PutUint32(r[4:], uint32(when))
}

// next takes the first key out if its time has come.
func (e *expiry) next(now int64) (rowstate.Ref, bool) {
	if e.n == 0 {
		return 0, false
	}
	r := e.record(0)
	// No time lies more than a TTL ahead: what seems to is long past, state restored after a long time.
	if ahead := int32(binary.LittleEndian.Uint32(r[4:]) - uint32(now/e.unit)); ahead > 0 && ahead <= 2*unitsPerTTL {
		return 0, false
	}
	e.head = (e.head + 1) & (len(e.ring)/expiryRecord - 1)
	e.n--
	return rowstate.Ref(binary.LittleEndian.Uint32(r)), true
}

func (e *expiry) close() {
	e.arena.Close()
	e.ring, e.ref, e.n = nil, 0, 0
}

// enqueue puts a key in the queue whose value got its first stamp, now. There is room: reserve counts all keys.
func (o *Operator) enqueue(ref rowstate.Ref) {
	o.expiry.add(ref, rowstate.ExpiresAt(o.clock.Now, o.clock.TTL))
}

// cleanAtMost bounds what a batch pays for keys that expired, in keys.
const cleanAtMost = 4096

// clean frees keys that have expired.
func (o *Operator) clean() {
	if o.expiry == nil {
		return
	}
	for range cleanAtMost {
		ref, ok := o.expiry.next(o.clock.Now)
		if !ok {
			return
		}
		if stamp := o.rule.stamp(ref); !o.clock.Expired(stamp) {
			o.expiry.add(ref, rowstate.ExpiresAt(stamp, o.clock.TTL))
		} else if o.rule.drop(ref) {
			o.table.Delete(ref)
		}
	}
}

// stampRestored gives values that were restored from state without TTL the first moment the clock tells.
func (o *Operator) stampRestored() {
	for ref := range o.table.All() {
		if o.rule.stamp(ref) == rowstate.UnknownStamp {
			o.rule.setStamp(ref, o.clock.Now)
			o.enqueue(ref)
		}
	}
}
