package join

import "drey/rowstate"

const (
	sweepIdle  = 64 // keys that a tick of the clock looks at
	sweepLeast = 8  // keys that a batch looks at, beside one for each two rows
	purgeMost  = 64 // rows of a key that are looked at
)

// tick sets the clocks.
func (o *Operator) tick(now int64) {
	for _, s := range o.sides {
		if s.clock.Tick(now) && s.unstamped {
			s.unstamped = false
			for ref := range o.table.All() {
				s.stampRestored(s.handle(o.table, ref))
			}
		}
	}
}

func (s *side) stampRestored(handle []byte) {
	var w walk
	w.start(handle)
	for r := s.step(&w); r != 0; r = s.step(&w) {
		if h := s.header(r); int64(getUint64(h[s.stampAt:])) == rowstate.UnknownStamp {
			s.stamp(h)
		}
	}
}

// sweep frees what has expired among some of the keys, going on where it stopped: like Flink's incremental cleanup it
// looks at a few with every batch. Nothing depends on it but memory.
func (o *Operator) sweep(rows int) {
	if o.sides[0].clock.TTL == 0 && o.sides[1].clock.TTL == 0 || o.work.active {
		return
	}
	o.table.Sweep(rows/2+sweepLeast, func(ref rowstate.Ref) bool {
		for _, s := range o.sides {
			if s.clock.TTL > 0 {
				s.purge(s.handle(o.table, ref), ref)
			}
		}
		return noRows(o.table.Value(ref))
	})
}

// purge frees the expired among a chain's first rows. Where more have expired, those behind have their turn when they are
// the first.
func (s *side) purge(handle []byte, entry rowstate.Ref) {
	r := handleRef(handle)
	if r == 0 {
		return
	}
	if handleLen(handle) == 1 {
		if s.expired(s.header(r)) {
			s.unlink(handle, entry, place{record: r})
		}
		return
	}
	var dead [purgeMost]rowstate.Ref
	n, looked := 0, 0
	for at := r; at != 0 && looked < purgeMost; {
		nd := s.node(at)
		for i := 0; i < nd.used() && looked < purgeMost; i++ {
			if looked++; s.expired(s.header(nd.record(i))) {
				dead[n] = nd.record(i)
				n++
			}
		}
		at = nd.next()
	}
	for _, d := range dead[:n] {
		s.drop(handle, entry, d)
	}
}

// drop takes out a record near the start of a chain.
func (s *side) drop(handle []byte, entry, record rowstate.Ref) {
	if handleLen(handle) == 1 {
		s.unlink(handle, entry, place{record: record})
		return
	}
	for r := handleRef(handle); r != 0; {
		nd := s.node(r)
		for i := range nd.used() {
			if nd.record(i) == record {
				s.unlink(handle, entry, place{record, r, i})
				return
			}
		}
		r = nd.next()
	}
}
