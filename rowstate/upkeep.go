package rowstate

import (
	"math/bits"

	"golang.org/x/sys/unix"

	"drey/rowstate/invariants"
	"drey/simd"
)

// from visits entries in the order of All, beginning with the first at or behind a place in the arena, and returns the
// place behind the last one visited, or 0 if it came to the end.
func (t *Table) from(at int64, yield func(Ref) bool) int64 {
	at = max(at, firstRef*refUnit)
	if t.width > 0 {
		return t.fromMarked(at, yield)
	}
	for at < t.arena.next {
		word := load(t.entries, uintptr(at))
		if word>>simd.TagShift == 0 { // a free block
			at += classSize(int(word >> 32))
			continue
		}
		r := Ref(at / refUnit)
		at += BlockSize(t.sizeOf(t.entry(r)))
		if !yield(r) {
			return at
		}
	}
	return 0
}

func (t *Table) fromMarked(at int64, yield func(Ref) bool) int64 {
	slots := uint64((t.arena.next - firstRef*refUnit) / t.stride)
	for slot := uint64(at-firstRef*refUnit) / uint64(t.stride); slot < slots; {
		m := load(t.liveBits.base, uintptr(slot>>6<<3)) >> (slot & 63)
		if m == 0 {
			slot = (slot | 63) + 1
			continue
		}
		slot += uint64(bits.TrailingZeros64(m))
		r := firstRef + Ref(slot)*Ref(t.stride/refUnit)
		slot++
		if !yield(r) {
			return int64(r)*refUnit + t.stride
		}
	}
	return 0
}

// Sweep visits at most n entries, beginning where the sweep before stopped, and deletes those for which drop returns true.
// Called with every batch it finds what has expired, at a bounded cost: Flink's incremental cleanup.
func (t *Table) Sweep(n int, drop func(Ref) bool) {
	if n <= 0 || t.len == 0 {
		return
	}
	t.swept = t.from(t.swept, func(r Ref) bool {
		if drop(r) {
			t.Delete(r)
		}
		n--
		return n > 0
	})
}

// Waste is the share of the entries' memory that deleted entries left behind, from 0 to 1.
func (t *Table) Waste() float64 {
	used := t.arena.next - firstRef*refUnit
	if used == 0 {
		return 0
	}
	return float64(t.arena.idle) / float64(used)
}

// Compact moves the entries together, in their order, and gives the memory behind them back. All refs into the table lose
// their meaning; values keep their bytes. It takes time in proportion to the table: call it when Waste says so. With a view open it
// does nothing.
func (t *Table) Compact() {
	if t.arena.idle == 0 || t.arena.view != nil {
		return
	}
	to := int64(firstRef * refUnit)
	t.from(0, func(r Ref) bool {
		size := t.stride
		if t.width == 0 {
			size = BlockSize(t.sizeOf(t.entry(r)))
		}
		if target := Ref(to / refUnit); target != r {
			t.move(r, target, size)
		}
		to += size
		return true
	})
	t.arena.cut(to)
	t.swept = 0
	if invariants.Enabled {
		t.checkInvariants()
	}
}

// move copies an entry down to a lower place, which holds no entry any more.
func (t *Table) move(from, to Ref, size int64) {
	t.segments.replace(t.hashOf(from), from, to)
	if t.width > 0 {
		t.unmark(from)
		t.mark(to)
	}
	if invariants.Enabled {
		t.arena.blocks[to] = t.arena.blocks[from]
		delete(t.arena.blocks, from)
	}
	copy(t.arena.reg.bytes(int64(to)*refUnit, int64(to)*refUnit+size), t.arena.reg.bytes(int64(from)*refUnit, int64(from)*refUnit+size))
}

// replace gives an entry another ref.
func (s *segments) replace(h uint64, from, to Ref) {
	tag := h >> simd.TagShift
	for n, ok := s.of(h), true; ok; n, ok = s.next(n) {
		at := h >> simd.ChunkShift
		for range chunksPerSegment {
			c := s.chunk(n, at)
			for m := c.match(tag); m != 0; m &= m - 1 {
				if ref := &c.refs[bits.TrailingZeros32(m)]; *ref == uint32(from) {
					*ref = uint32(to)
					return
				}
			}
			if !c.past(tag) {
				break
			}
			at += step(tag)
		}
	}
	panic("rowstate: an entry is not in the index of its table")
}

// cut ends the arena at an offset, behind which nothing is in use any more.
func (a *Arena) cut(next int64) {
	a.next, a.idle, a.free = next, 0, [classCount]Ref{}
	a.reg.shrink(next + slack)
	a.end = a.reg.usable - slack
}

// shrink gives memory behind an offset back to the system and the budget. What is used again reads as zero.
func (r *region) shrink(to int64) {
	to = stepFor(to)
	if to >= r.taken {
		return
	}
	r.settle()
	pages := r.bytes(to, r.ready)
	if err := unix.Madvise(pages, unix.MADV_DONTNEED); err != nil {
		return // then they stay
	}
	r.dirty = min(r.dirty, to)
	// Reserved addresses again: what is not usable must not be touched.
	if err := unix.Mprotect(pages, unix.PROT_NONE); err == nil {
		r.ready = to
	}
	r.budget.give(r.purpose, r.taken-to)
	r.usable, r.taken = min(r.usable, to), to
}
