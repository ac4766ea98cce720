package dedup

import (
	"drey/native/changelog"
	"drey/native/keygroup"
	"drey/rowstate"
)

// bundle holds back rows until there are enough of them, and per key only what the variant needs: by arrival the first row
// or the last, by event time the best with compactChanges, else all.
//
// What rows and keys of a bundle take counts as memory of the operator; the lists of them do not: 40 bytes per row, of at
// most miniBatch.size rows.
type bundle struct {
	o        *Operator
	keys     *hashMap
	rows     []bundleRow
	arena    *rowstate.Arena
	elements int64 // rows added since the last end of a bundle
	size     int64 // rows that end a bundle
	bytes    int64 // of rows held
	sequence []int32
	batch    rowstate.Rows // keys on their way to the table

	keep      keep
	rowtimeAt int
}

// bundleRow is a row in the arena.
type bundleRow struct {
	ref  rowstate.Ref
	n    int32
	next int32 // row of the same key, -1 for none
}

// keep is what a bundle keeps of a key's rows.
type keep uint8

const (
	keepAll keep = iota
	keepFirst
	keepLast
	keepOldest // of equal ones the first
	keepNewest // of equal ones the last
)

func newBundle(o *Operator, budget *rowstate.Budget) *bundle {
	b := &bundle{o: o, keys: newHashMap(), arena: rowstate.NewArena(budget, purposeBundle), size: o.spec.MiniBatch.Size}
	if o.spec.IsRowtime {
		b.rowtimeAt = o.layout.Slot(*o.spec.RowtimeIndex)
	}
	switch s := o.spec; {
	case s.IsRowtime && !s.MiniBatch.CompactChanges:
		b.keep = keepAll
	case s.IsRowtime && s.KeepLastRow:
		b.keep = keepNewest
	case s.IsRowtime:
		b.keep = keepOldest
	case s.KeepLastRow:
		b.keep = keepLast
	default:
		b.keep = keepFirst
	}
	return b
}

// push adds a batch, whose keys the operator has projected, and ends the bundle as often as it is full. Room is made
// first for all of it, and for what ending the bundle writes to the state: nothing fails half-way.
func (b *bundle) push(in *changelog.Batch, out *changelog.Builder) error {
	rows, bytes := in.Len(), int64(len(in.Data))
	if err := b.arena.Reserve(bytes); err != nil {
		return err
	}
	if b.o.table != nil {
		keyBytes := int64(len(b.o.keys.Data) + len(b.keys.keys))
		if err := b.o.reserve(rows+len(b.keys.entries), keyBytes, bytes+b.bytes); err != nil {
			return err
		}
	}
	for i := range rows {
		b.add(b.o.keys.Row(i), in.Row(i))
		if b.elements >= b.size {
			b.finish(out)
		}
	}
	return nil
}

func (b *bundle) add(key, row []byte) {
	b.elements++
	e, fresh := b.keys.find(keygroup.Hash(key), key)
	if fresh {
		e.slot = b.hold(row)
		e.tail = e.slot
		return
	}
	switch b.keep {
	case keepAll:
		at := b.hold(row)
		b.rows[e.tail].next = at
		e.tail = at
		return
	case keepFirst:
		return
	case keepOldest:
		if rowstate.Int64(row[b.rowtimeAt:]) >= rowstate.Int64(b.row(e.slot)[b.rowtimeAt:]) {
			return
		}
	case keepNewest:
		if rowstate.Int64(row[b.rowtimeAt:]) < rowstate.Int64(b.row(e.slot)[b.rowtimeAt:]) {
			return
		}
	}
	held := &b.rows[e.slot]
	if int(held.n) != len(row) {
		b.arena.Free(held.ref, int(held.n))
		b.bytes += int64(len(row)) - int64(held.n)
		held.ref, held.n = b.arena.Alloc(len(row)), int32(len(row))
	}
	copy(b.row(e.slot), row)
}

// hold copies a row into the bundle.
func (b *bundle) hold(row []byte) int32 {
	at := int32(len(b.rows))
	b.rows = append(b.rows, bundleRow{b.arena.Alloc(len(row)), int32(len(row)), -1})
	copy(b.row(at), row)
	b.bytes += int64(len(row))
	return at
}

func (b *bundle) row(i int32) []byte { return b.arena.Bytes(b.rows[i].ref, int(b.rows[i].n)) }

// finishAtOnce is how many keys go to the table together.
const finishAtOnce = 1024

// finish ends the bundle: the rule is applied to the rows held, key by key.
func (b *bundle) finish(out *changelog.Builder) {
	b.elements = 0
	if len(b.rows) == 0 {
		return
	}
	b.o.clean()
	b.sequence = b.keys.order(b.sequence[:0])
	for rest := b.sequence; len(rest) > 0; {
		part := rest[:min(finishAtOnce, len(rest))]
		rest = rest[len(part):]
		if b.o.table == nil {
			for _, i := range part {
				out.Append(changelog.UpdateAfter, b.row(b.keys.entries[i].slot), changelog.NoSource)
			}
			continue
		}
		b.batch.Reset(b.o.projector.Width())
		for _, i := range part {
			b.batch.Append(b.keys.key(&b.keys.entries[i]))
		}
		b.o.find(&b.batch)
		for n, i := range part {
			ref := b.o.refs[n]
			for at := b.keys.entries[i].slot; at >= 0; at = b.rows[at].next {
				b.o.rule.apply(ref, b.o.fresh[n], b.row(at), changelog.NoSource, out)
			}
			if r, ok := b.o.rule.(*rowRule); ok && b.keep == keepAll {
				r.renew(ref)
			}
		}
	}
	for _, r := range b.rows {
		b.arena.Free(r.ref, int(r.n))
	}
	b.rows, b.bytes = b.rows[:0], 0
	b.keys.clear()
}

func (b *bundle) close() {
	b.arena.Close()
	b.rows, b.keys = nil, newHashMap()
}
