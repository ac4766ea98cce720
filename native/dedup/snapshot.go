package dedup

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"drey/native/keygroup"
	"drey/native/op"
	"drey/native/spec"
	"drey/rowstate"
)

// A key group with keys is one stream of frames (see rowstate). The first frame is the identity of the state, as JSON; each
// of the others holds entries, one behind the other:
//
//	flags    1 byte: hasRow, hasKey, hasEmitted, hasStamp, hasOrder
//	key      if hasKey: length, bytes
//	stamp    if hasStamp: 8 bytes, milliseconds
//	order    if hasOrder: 8 bytes
//	row      if hasRow: length, bytes; the key is the row's then
//
// Lengths are varints, numbers little-endian. A key group without keys is an empty stream.
const (
	hasRow = 1 << iota
	hasKey
	hasEmitted
	hasStamp
	hasOrder
	hasUnknown = 0xff &^ (hasRow | hasKey | hasEmitted | hasStamp | hasOrder)
)

// frameBytes is where a frame of entries ends: the frame gets no entry more when it has as many bytes.
const frameBytes = 32 << 10

// snapshot is the state's keys by key group. It is valid until the next batch.
type snapshot struct {
	o      *Operator
	keys   *keygroup.Sorted
	buffer []byte
	writer *bufio.Writer
}

// Snapshot sorts the keys by key group. The state must not change before the last group is written. Rows in a bundle are no
// state: the host ends the bundle first.
func (o *Operator) Snapshot(groups op.KeyGroups) (op.Snapshot, error) {
	if o.bundle != nil && len(o.bundle.rows) > 0 {
		return nil, op.Invalidf("deduplicate: snapshot with %d rows in the mini-batch bundle; flush comes first", len(o.bundle.rows))
	}
	var e entry
	keys, err := keygroup.Sort(o.table, groups.First, groups.Last, groups.Max, func(ref rowstate.Ref) bool {
		e = entry{}
		return o.encode(ref, &e)
	})
	if err != nil {
		return nil, op.Corruptf("deduplicate: %w", err)
	}
	return &snapshot{o: o, keys: keys, writer: bufio.NewWriter(nil)}, nil
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

// Write writes a key group.
func (s *snapshot) Write(group int, w io.Writer) error {
	refs, ok := s.keys.Group(group)
	if !ok {
		return op.Invalidf("deduplicate: key group %d is not in the snapshot", group)
	}
	if len(refs) == 0 {
		return nil
	}
	s.writer.Reset(w)
	frames, err := rowstate.NewFrameWriter(s.writer, rowstate.FrameHeader{Fingerprint: spec.Fingerprint(s.o.identity)})
	if err != nil {
		return err
	}
	if err := frames.Write(s.o.identity); err != nil {
		return err
	}
	s.buffer = s.buffer[:0]
	var e entry
	for _, ref := range refs {
		e = entry{}
		s.o.encode(ref, &e)
		s.buffer = e.append(s.buffer)
		if len(s.buffer) >= frameBytes {
			if err := frames.Write(s.buffer); err != nil {
				return err
			}
			s.buffer = s.buffer[:0]
		}
	}
	if len(s.buffer) > 0 {
		if err := frames.Write(s.buffer); err != nil {
			return err
		}
	}
	if err := frames.Close(); err != nil {
		return err
	}
	return s.writer.Flush()
}

// Close does nothing: a snapshot borrows all it has.
func (s *snapshot) Close() {}

func (e *entry) append(dst []byte) []byte {
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
	dst = append(dst, flags)
	if flags&hasKey != 0 {
		dst = append(binary.AppendUvarint(dst, uint64(len(e.key))), e.key...)
	}
	if e.stamped {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(e.stamp))
	}
	if flags&hasOrder != 0 {
		dst = binary.LittleEndian.AppendUint64(dst, e.order)
	}
	if flags&hasRow != 0 {
		dst = append(binary.AppendUvarint(dst, uint64(len(e.row))), e.row...)
	}
	return dst
}

// parse reads one entry, which borrows from src, and returns the rest.
func (e *entry) parse(src []byte) ([]byte, error) {
	*e = entry{}
	flags := src[0]
	src = src[1:]
	if flags&hasUnknown != 0 || flags&hasRow != 0 == (flags&hasKey != 0) {
		return nil, fmt.Errorf("an entry with flags %#x", flags)
	}
	e.emitted, e.stamped = flags&hasEmitted != 0, flags&hasStamp != 0
	bytes := func(what string) (b []byte, err error) {
		n, size := binary.Uvarint(src)
		if size <= 0 || n > uint64(len(src)-size) {
			return nil, fmt.Errorf("a %s of %d bytes, %d are left", what, n, len(src))
		}
		src = src[size:]
		b, src = src[:n:n], src[n:]
		return b, nil
	}
	number := func(what string) (v uint64, err error) {
		if len(src) < 8 {
			return 0, fmt.Errorf("a %s of %d bytes", what, len(src))
		}
		v, src = binary.LittleEndian.Uint64(src), src[8:]
		return v, nil
	}
	var err error
	if flags&hasKey != 0 {
		if e.key, err = bytes("key"); err != nil {
			return nil, err
		}
	}
	if e.stamped {
		stamp, err := number("time stamp")
		if err != nil {
			return nil, err
		}
		e.stamp = int64(stamp)
	}
	if flags&hasOrder != 0 {
		if e.order, err = number("timer's order"); err != nil {
			return nil, err
		}
	}
	if flags&hasRow != 0 {
		if e.row, err = bytes("row"); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// Restore adds the keys of a key group. On an error the state may have some of them already: the operator is of no use.
func (o *Operator) Restore(group int, r io.Reader) error {
	if o.pushed {
		return op.Invalidf("deduplicate: restore after the first batch")
	}
	if group < o.groups.First || group > o.groups.Last {
		return op.Invalidf("deduplicate: key group %d is not of the subtask's %d to %d", group, o.groups.First, o.groups.Last)
	}
	buffered := bufio.NewReader(r)
	if _, err := buffered.Peek(1); err == io.EOF {
		return nil
	}
	frames, err := rowstate.NewFrameReader(buffered)
	if err != nil {
		return op.Corruptf("deduplicate: key group %d: %w", group, err)
	}
	for n := 0; ; n++ {
		frame, err := frames.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return op.Corruptf("deduplicate: key group %d: %w", group, err)
		}
		if n == 0 {
			err = o.checkIdentity(frames.Header().Fingerprint, frame)
		} else {
			err = o.restoreFrame(group, frame)
		}
		if err != nil {
			return fmt.Errorf("deduplicate: key group %d: frame %d: %w", group, n, err)
		}
	}
}

// checkIdentity refuses state of another specification, and says what differs.
func (o *Operator) checkIdentity(fingerprint uint64, theirs []byte) error {
	if fingerprint != spec.Fingerprint(theirs) {
		return op.Corruptf("the state is of fingerprint %016x, but its identity %s has another", fingerprint, theirs)
	}
	if string(theirs) != string(o.identity) {
		return op.Corruptf("the state is of %s, the operator needs %s", theirs, o.identity)
	}
	return nil
}

// restoreFrame adds the entries of a frame, after all of them were found to be good.
func (o *Operator) restoreFrame(group int, frame []byte) error {
	if o.table == nil {
		return op.Corruptf("keys for an operator that has no state")
	}
	var entries []entry
	o.keys.Reset(o.projector.Width())
	rowBytes := int64(0)
	for rest := frame; len(rest) > 0; {
		var e entry
		var err error
		offset := len(frame) - len(rest)
		if rest, err = e.parse(rest); err == nil {
			err = o.checkEntry(&e, group)
		}
		if err != nil {
			return op.Corruptf("offset %d: %w", offset, err)
		}
		entries = append(entries, e)
		rowBytes += int64(len(e.row))
	}
	if err := o.reserve(len(entries), int64(len(o.keys.Data)), rowBytes); err != nil {
		return err
	}
	o.find(&o.keys)
	for i := range entries {
		e, ref := &entries[i], o.refs[i]
		if !o.fresh[i] {
			return op.Corruptf("entry %d: its key comes twice", i)
		}
		stamped, err := o.rule.decode(ref, e)
		if err != nil {
			return op.Corruptf("entry %d: %w", i, err)
		}
		if o.clock.ttl > 0 && stamped {
			o.restoreStamp(ref, e)
		}
	}
	return nil
}

// checkEntry makes sure that an entry's bytes can be used and belong here, and adds its key to the keys.
func (o *Operator) checkEntry(e *entry, group int) error {
	if e.row != nil {
		if err := o.layout.Check(e.row); err != nil {
			return fmt.Errorf("row: %w", err)
		}
		o.projector.Append(e.row, &o.keys)
	} else {
		if err := o.projector.Layout().Check(e.key); err != nil {
			return fmt.Errorf("key: %w", err)
		}
		if w := o.projector.Width(); w > 0 && len(e.key) != w {
			return fmt.Errorf("key: %d bytes, needs %d", len(e.key), w)
		}
		o.keys.Append(e.key)
	}
	if own := keygroup.Of(o.keys.Row(o.keys.Len()-1), o.groups.Max); own != group {
		return fmt.Errorf("the key is of key group %d", own)
	}
	return nil
}

// restoreStamp gives a value its time stamp back. State that had no TTL gets the time at which it is first looked at.
func (o *Operator) restoreStamp(ref rowstate.Ref, e *entry) {
	switch {
	case e.stamped:
		o.rule.setStamp(ref, e.stamp)
		o.expiry.add(ref, expiresAt(e.stamp, o.clock.ttl))
	case o.clock.known:
		o.rule.setStamp(ref, o.clock.now)
		o.enqueue(ref)
	default:
		o.rule.setStamp(ref, unknownStamp) // until stampRestored
	}
}
