package join

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"drey/native/logical"
	"drey/native/op"
	"drey/native/snapshot"
	"drey/native/spec"
	"drey/rowstate"
)

// The items of a frame: a join key, then the rows of that key, in the order of their chains.
//
//	K   length and bytes of the join key
//	L   a left row:  count, a varint, if the side's rows are counted; associations, a varint, if it has them; the time of its
//	    last write, 8 bytes, if flagStamp is set in the item's byte; length and bytes of the row
//	R   a right row
//
// A frame may begin with rows: they are of the key before.
const (
	itemKey   = 'K'
	itemLeft  = 'L'
	itemRight = 'R'
	flagStamp = 0x80
)

// identity is what two specifications must have in common so that the state of one is of use to the other. Neither
// retention nor bundles are among it, nor is the condition: one and the same may be an expression to one version of the
// library and the host's to another.
type identity struct {
	FilterNulls []bool       `json:"filterNulls"`
	JoinType    string       `json:"joinType"`
	Left        identitySide `json:"left"`
	Operator    string       `json:"operator"`
	Right       identitySide `json:"right"`
}

type identitySide struct {
	Keys      []int    `json:"keys"`
	Types     []string `json:"types"`
	UniqueKey *[]int   `json:"uniqueKey,omitempty"`
}

func identify(s *spec.Join, inputs []logical.Row) []byte {
	side := func(s *spec.JoinSide, input logical.Row) identitySide {
		id := identitySide{Keys: s.Keys, UniqueKey: s.UniqueKey}
		for _, t := range input.Types() {
			id.Types = append(id.Types, t.String())
		}
		return id
	}
	return spec.Encode(identity{
		FilterNulls: s.FilterNulls, JoinType: s.JoinType, Left: side(&s.Left, inputs[0]), Operator: s.Name,
		Right: side(&s.Right, inputs[1]),
	})
}

// Snapshot sorts the keys by key group. The state must not change before the last group is written. Rows in a bundle are no
// state: the host ends the bundle first.
func (o *Operator) Snapshot(groups op.KeyGroups) (op.Snapshot, error) {
	if o.bundle != nil && o.bundle.count > 0 {
		return nil, op.Invalidf("join: snapshot with %d rows in the mini-batch bundle; flush comes first", o.bundle.count)
	}
	if o.Unfinished() {
		return nil, op.Invalidf("join: snapshot while a batch is not done with")
	}
	return o.state.Take(groups, snapshot.Part{Table: o.table, Keep: o.alive, Write: func(ref rowstate.Ref, w *snapshot.Writer) {
		w.Byte(itemKey)
		w.Bytes(o.table.Key(ref))
		for _, s := range o.sides {
			s.write(s.handle(o.table, ref), w)
		}
	}})
}

// alive tells whether a key has a row that has not expired.
func (o *Operator) alive(ref rowstate.Ref) bool {
	for _, s := range o.sides {
		var w walk
		if w.start(s.handle(o.table, ref)); s.step(&w) != 0 {
			return true
		}
	}
	return false
}

func (s *side) write(handle []byte, w *snapshot.Writer) {
	item := [...]byte{itemLeft, itemRight}[s.number]
	if s.clock.TTL > 0 {
		item |= flagStamp
	}
	var walk walk
	walk.start(handle)
	for r := s.step(&walk); r != 0; r = s.step(&walk) {
		w.Room()
		h := s.header(r)
		w.Byte(item)
		if s.countAt > 0 {
			w.Uvarint(uint64(s.times(h)))
		}
		if s.outer {
			w.Uvarint(uint64(getUint32(h[s.assocAt:])))
		}
		if s.clock.TTL > 0 {
			w.Uint64(getUint64(h[s.stampAt:]))
		}
		w.Bytes(s.row(r))
	}
}

// Restore adds the keys of a key group. On an error the operator is of no use any more.
func (o *Operator) Restore(group int, r io.Reader) error {
	key := rowstate.Ref(0)
	return o.state.Restore(group, r, func(r *snapshot.Reader) error {
		return r.Each(func() error {
			item, err := r.Byte()
			if err != nil {
				return err
			}
			switch item {
			case itemKey:
				key, err = o.restoreKey(r)
				return err
			case itemLeft, itemLeft | flagStamp:
				return o.restoreRow(o.sides[0], key, item&flagStamp != 0, r)
			case itemRight, itemRight | flagStamp:
				return o.restoreRow(o.sides[1], key, item&flagStamp != 0, r)
			}
			return fmt.Errorf("an item %#x", item)
		})
	})
}

func (o *Operator) restoreKey(r *snapshot.Reader) (rowstate.Ref, error) {
	key, err := r.Key(o.sides[0].projector)
	if err != nil {
		return 0, err
	}
	if o.sides[0].hasNull(key) {
		return 0, errors.New("a key that matches nothing")
	}
	if err := o.table.Reserve(1, int64(len(key))); err != nil {
		return 0, err
	}
	o.keys.Reset(o.sides[0].projector.Width())
	o.keys.Append(key)
	var hash [1]uint64
	var ref [1]rowstate.Ref
	var fresh [1]bool
	o.table.Hash(&o.keys, hash[:])
	o.table.FindOrInsert(&o.keys, hash[:], ref[:], fresh[:])
	if !fresh[0] {
		return 0, errors.New("a key that comes twice")
	}
	return ref[0], nil
}

// restored is a row as a snapshot has it.
type restored struct {
	row                        []byte
	count, associations, stamp uint64
}

// readRow reads a row of a side, and checks all that can be known of it alone.
func (s *side) readRow(stamped bool, r *snapshot.Reader) (in restored, err error) {
	in.count = 1
	if s.countAt > 0 {
		if in.count, err = r.Uvarint("count"); err != nil {
			return in, err
		}
		if in.count == 0 || in.count > 1<<31-1 {
			return in, fmt.Errorf("a row that is there %d times", in.count)
		}
	}
	if s.outer {
		if in.associations, err = r.Uvarint("number of associations"); err != nil {
			return in, err
		}
		if in.associations > 1<<32-1 {
			return in, fmt.Errorf("%d associations", in.associations)
		}
	}
	if stamped {
		if in.stamp, err = r.Uint64("time stamp"); err != nil {
			return in, err
		}
	}
	if in.row, err = r.Bytes("row"); err != nil {
		return in, err
	}
	if err := s.layout.Check(in.row); err != nil {
		return in, fmt.Errorf("row: %w", err)
	}
	if in.row[0] != 0 {
		return in, fmt.Errorf("row: header byte %d", in.row[0])
	}
	return in, nil
}

func (o *Operator) restoreRow(s *side, key rowstate.Ref, stamped bool, r *snapshot.Reader) error {
	in, err := s.readRow(stamped, r)
	if err != nil {
		return err
	}
	if key == 0 {
		return errors.New("a row before the first key")
	}
	var one rowstate.Rows
	one.Reset(s.projector.Width())
	s.projector.Append(in.row, &one)
	if string(one.Row(0)) != string(o.table.Key(key)) {
		return errors.New("a row of another key")
	}
	if err := s.arena.Reserve(int64(s.head+len(in.row)) + nodeHead + element*mostNode); err != nil {
		return err
	}
	handle := s.handle(o.table, key)
	hash := uint64(0)
	if s.shape == oneRow {
		if handleRef(handle) != 0 {
			return errors.New("a second row of a unique key")
		}
	} else {
		hash = s.hashOf(in.row)
		id := in.row
		if s.unique != nil {
			id = bytes.Clone(s.identity(in.row)) // which find needs for others
		}
		if _, found := s.find(handle, key, id, hash); found {
			return errors.New("a row that comes twice")
		}
	}
	record := s.newRecord(in.row, int32(in.associations))
	h := s.header(record)
	if s.countAt > 0 {
		putUint32(h[s.countAt:], uint32(in.count))
	}
	if s.clock.TTL > 0 {
		switch {
		case stamped:
			putUint64(h[s.stampAt:], in.stamp)
		case !s.clock.Known:
			putUint64(h[s.stampAt:], rowstate.UnknownStamp)
			s.unstamped = true
		}
	}
	s.link(handle, key, record, hash)
	return nil
}
