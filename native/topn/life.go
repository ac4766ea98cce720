package topn

import (
	"encoding/binary"
	"math"
	"slices"

	"drey/rowstate"
)

const (
	never = math.MaxInt64 // nothing of a partition expires
	// unknown is the stamp of a row that carries none; also of what was restored from state without TTL, until the clock
	// is first known.
	unknown = math.MinInt64
)

// With a TTL, what stock keeps as one value or one map entry expires together, one TTL after it was last written:
//
//	first     the counter
//	top1      the row
//	append    each group of equal sort keys; written when a row comes to it, or is taken from it to make room
//	update    each row; written when it changes, or when one before it in its group goes
//	retract   each group, written when a row comes to it or is retracted from it; how many rows each group has, of all groups
//	          together, written with every row
//	          a group that has expired is still counted (see groups.go)
//	all       the end of a variable range, written once
//
// A row that carries the stamp of its own life or, being the last one, of its group's is in a list of its partition, the one
// to expire first in front. Before a batch, what has expired of the partitions it concerns goes. Other partitions are looked
// through some with every batch. So memory follows what lives, and no row is seen too long: a batch never spans two ticks of
// the clock.
//
// Stock keeps a cache of partitions in front of the state of top1, append and update, which has rows of its own life: up to
// one TTL after the partition was loaded. What is here is what stock does without it (DIVERGENCES.md).
//
// A partition's value in the table starts with a header:
//
//	 0  end of the rank range
//	with a TTL:
//	 8  when that was written
//	16  when the partition's own value was written
//	24  the list: front, back
//	32  a time of writing; nothing of the partition was written before
const (
	endSize     = 8
	endStampAt  = 8
	stampAt     = 16
	listAt      = 24
	dueAt       = 32
	ttlHeader   = 40
	rowLifeSize = 16 // of a row's block: stamp, the row before and the row behind in the list
)

func (p *partition) stamp() int64     { return rowstate.Int64(p.header[stampAt:]) }
func (p *partition) setStamp(v int64) { rowstate.PutInt64(p.header[stampAt:], v) }
func (p *partition) front() element   { return binary.LittleEndian.Uint32(p.header[listAt:]) }
func (p *partition) back() element    { return binary.LittleEndian.Uint32(p.header[listAt+4:]) }
func (p *partition) setFront(e element) {
	binary.LittleEndian.PutUint32(p.header[listAt:], e)
}
func (p *partition) setBack(e element) {
	binary.LittleEndian.PutUint32(p.header[listAt+4:], e)
}

// life is the part of a row's block that has to do with the TTL.
func (h *held) life(e element) []byte { return h.trailerOf(e)[:rowLifeSize] }

func (h *held) stampOf(e element) int64 { return rowstate.Int64(h.life(e)) }

func before(life []byte) element              { return binary.LittleEndian.Uint32(life[8:]) }
func behind(life []byte) element              { return binary.LittleEndian.Uint32(life[12:]) }
func setBefore(life []byte, e element)        { binary.LittleEndian.PutUint32(life[8:], e) }
func setBehind(life []byte, e element)        { binary.LittleEndian.PutUint32(life[12:], e) }
func (h *held) carries(e element) bool        { return h.stampOf(e) != unknown }
func (h *held) setStampOf(e element, s int64) { rowstate.PutInt64(h.life(e), s) }

// link makes a row carry a stamp, which is no older than those of the rows in the list.
func (h *held) link(p *partition, e element, stamp int64) {
	life, back := h.life(e), p.back()
	rowstate.PutInt64(life, stamp)
	setBefore(life, back)
	setBehind(life, 0)
	if back == 0 {
		p.setFront(e)
	} else {
		setBehind(h.life(back), e)
	}
	p.setBack(e)
}

// unlink makes a row carry no stamp any more, if it did.
func (h *held) unlink(p *partition, e element) {
	life := h.life(e)
	if rowstate.Int64(life) == unknown {
		return
	}
	left, right := before(life), behind(life)
	if left == 0 {
		p.setFront(right)
	} else {
		setBehind(h.life(left), right)
	}
	if right == 0 {
		p.setBack(left)
	} else {
		setBefore(h.life(right), left)
	}
	rowstate.PutInt64(life, unknown)
}

// renew makes a row carry the present time.
func (o *Operator) renew(p *partition, e element) {
	if o.clock.TTL > 0 {
		o.held.unlink(p, e)
		o.held.link(p, e, o.clock.Now)
	}
}

// schedule notes from when on a partition has to be looked at.
func (o *Operator) schedule(p *partition) {
	due := int64(never)
	if front := p.front(); front != 0 {
		due = o.held.stampOf(front)
	}
	if o.strategy.ownStamp() {
		due = min(due, p.stamp())
	}
	rowstate.PutInt64(p.header[dueAt:], due)
}

// age frees what has expired of a partition.
func (o *Operator) age(p *partition) error {
	if !o.clock.Known || !o.clock.Expired(rowstate.Int64(p.header[dueAt:])) {
		return nil
	}
	err := o.strategy.age(p)
	o.schedule(p)
	return err
}

// ageBatch does so for the partitions of the keys at work that there are, before any is made.
func (o *Operator) ageBatch() error {
	o.prepare()
	o.table.Find(&o.keys, o.hashes, o.refs)
	for _, ref := range o.refs {
		if ref != 0 {
			p := o.at(ref)
			if err := o.age(&p); err != nil {
				return err
			}
		}
	}
	return nil
}

// Sweeping looks at as many partitions per batch as keeps up with those that come, and some more.
const (
	sweepAtLeast = 64
	sweepIdle    = 1024 // when only the clock moves
)

func (o *Operator) sweep(partitions int) {
	if o.clock.TTL == 0 || !o.clock.Known {
		return
	}
	o.table.Sweep(partitions, func(ref rowstate.Ref) bool {
		p := o.at(ref)
		if o.age(&p) != nil {
			return false // whoever needs the partition next is told
		}
		return o.strategy.empty(&p) && (o.constantEnd || o.clock.Expired(rowstate.Int64(p.header[endStampAt:])))
	})
	o.strategy.end()
}

// tick sets the clock.
func (o *Operator) tick(now int64) {
	if o.clock.TTL == 0 {
		return
	}
	o.clock.Tick(now)
	for _, ref := range o.restored {
		p := o.at(ref)
		o.settle(&p)
	}
	o.restored = nil
}

// settle makes the list of a restored partition. What has no stamp, because it was restored from state without a TTL, begins
// to age now.
func (o *Operator) settle(p *partition) {
	h := &o.held
	for _, at := range []int{endStampAt, stampAt} {
		if rowstate.Int64(p.header[at:]) == unknown {
			rowstate.PutInt64(p.header[at:], o.clock.Now)
		}
	}
	var rows []element
	o.strategy.carriers(p, func(e element) {
		if !h.carries(e) {
			h.setStampOf(e, o.clock.Now)
		}
		rows = append(rows, e)
	})
	slices.SortStableFunc(rows, func(a, b element) int {
		switch x, y := h.stampOf(a), h.stampOf(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	for _, e := range rows {
		h.link(p, e, h.stampOf(e))
	}
	o.schedule(p)
}

// groupEnds visits the last row of every group of equal sort keys.
func (h *held) groupEnds(set *rowstate.OrderedSet, visit func(element)) {
	var last element
	for _, e := range h.from(set, 1) {
		if last != 0 && !h.sameGroup(last, e) {
			visit(last)
		}
		last = e
	}
	if last != 0 {
		visit(last)
	}
}
