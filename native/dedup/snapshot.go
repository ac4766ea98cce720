package dedup

import (
	"errors"
	"fmt"
	"io"

	"drey/native/op"
	"drey/native/snapshot"
	"drey/rowstate"
)

// Items of a snapshot (see package snapshot) are entries, one per key:
//
//	flags    1 byte: hasRow, hasKey, hasEmitted, hasStamp, hasOrder
//	key      if hasKey: length, bytes
//	stamp    if hasStamp: 8 bytes, milliseconds
//	order    if hasOrder: 8 bytes
//	row      if hasRow: length, bytes; the key is the row's then
const (
	hasRow = 1 << iota
	hasKey
	hasEmitted
	hasStamp
	hasOrder
	hasUnknown = 0xff &^ (hasRow | hasKey | hasEmitted | hasStamp | hasOrder)
)

// Snapshot sorts the keys by key group. The state must not change before the last group is written. Rows in a bundle are no
// state: the host ends the bundle first.
func (o *Operator) Snapshot(groups op.KeyGroups) (op.Snapshot, error) {
	if o.bundle != nil && len(o.bundle.rows) > 0 {
		return nil, op.Invalidf("deduplicate: snapshot with %d rows in the mini-batch bundle; flush comes first", len(o.bundle.rows))
	}
	var e entry
	return o.state.Take(groups, snapshot.Part{
		Table: o.table,
		Keep: func(ref rowstate.Ref) bool {
			e = entry{}
			return o.encode(ref, &e)
		},
		Write: func(ref rowstate.Ref, w *snapshot.Writer) {
			e = entry{}
			o.encode(ref, &e)
			e.write(w)
		},
	})
}

// encode says what a snapshot has to keep of a key, or false if there is nothing.
func (o *Operator) encode(ref rowstate.Ref, e *entry) bool {
	if !o.rule.encode(ref, e) {
		return false
	}
	if e.row == nil {
		e.key = o.table.Key(ref)
	}
	return true
}

func (e *entry) write(w *snapshot.Writer) {
	flags := byte(0)
	if e.row != nil {
		flags |= hasRow
	} else {
		flags |= hasKey
	}
	if e.emitted {
		flags |= hasEmitted
	}
	if e.stamped {
		flags |= hasStamp
	}
	if e.order != 0 {
		flags |= hasOrder
	}
	w.Byte(flags)
	if flags&hasKey != 0 {
		w.Bytes(e.key)
	}
	if e.stamped {
		w.Uint64(uint64(e.stamp))
	}
	if flags&hasOrder != 0 {
		w.Uint64(e.order)
	}
	if flags&hasRow != 0 {
		w.Bytes(e.row)
	}
}

// read reads one entry, which borrows from the frame, makes sure that its bytes can be used and belong here, and adds its
// key to the keys.
func (o *Operator) read(r *snapshot.Reader, e *entry) error {
	flags, err := r.Byte()
	if err != nil {
		return err
	}
	if flags&hasUnknown != 0 || flags&hasRow != 0 == (flags&hasKey != 0) {
		return fmt.Errorf("an entry with flags %#x", flags)
	}
	e.emitted, e.stamped = flags&hasEmitted != 0, flags&hasStamp != 0
	if flags&hasKey != 0 {
		if e.key, err = r.Key(o.projector); err != nil {
			return err
		}
		o.keys.Append(e.key)
	}
	if e.stamped {
		stamp, err := r.Uint64("time stamp")
		if err != nil {
			return err
		}
		e.stamp = int64(stamp)
	}
	if flags&hasOrder != 0 {
		if e.order, err = r.Uint64("timer's order"); err != nil {
			return err
		}
	}
	if flags&hasRow == 0 {
		return nil
	}
	if e.row, err = r.Bytes("row"); err != nil {
		return err
	}
	if err := o.layout.Check(e.row); err != nil {
		return fmt.Errorf("row: %w", err)
	}
	o.projector.Append(e.row, &o.keys)
	return r.CheckGroup(o.keys.Row(o.keys.Len() - 1))
}

// Restore adds the keys of a key group. On an error the state may have some of them already: the operator is of no use.
func (o *Operator) Restore(group int, r io.Reader) error {
	return o.state.Restore(group, r, o.restoreFrame)
}

// restoreFrame adds the entries of a frame, after all of them were found to be good.
func (o *Operator) restoreFrame(r *snapshot.Reader) error {
	if o.table == nil {
		return errors.New("keys for an operator that has no state")
	}
	var entries []entry
	o.keys.Reset(o.projector.Width())
	rowBytes := int64(0)
	err := r.Each(func() error {
		var e entry
		err := o.read(r, &e)
		entries = append(entries, e)
		rowBytes += int64(len(e.row))
		return err
	})
	if err != nil {
		return err
	}
	if err := o.reserve(len(entries), int64(len(o.keys.Data)), rowBytes); err != nil {
		return err
	}
	o.find(&o.keys)
	for i := range entries {
		e, ref := &entries[i], o.refs[i]
		if !o.fresh[i] {
			return fmt.Errorf("entry %d: its key comes twice", i)
		}
		stamped, err := o.rule.decode(ref, e)
		if err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		if o.clock.TTL > 0 && stamped {
			o.restoreStamp(ref, e)
		}
	}
	return nil
}

// restoreStamp gives a value its time stamp back. State that had no TTL gets the time at which it is first looked at.
func (o *Operator) restoreStamp(ref rowstate.Ref, e *entry) {
	switch {
	case e.stamped:
		o.rule.setStamp(ref, e.stamp)
		o.expiry.add(ref, rowstate.ExpiresAt(e.stamp, o.clock.TTL))
	case o.clock.Known:
		o.rule.setStamp(ref, o.clock.Now)
		o.enqueue(ref)
	default:
		o.rule.setStamp(ref, rowstate.UnknownStamp) // until stampRestored
	}
}
