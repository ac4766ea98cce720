package agg

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"drey/native/snapshot"
	"drey/rowstate"
)

var (
	errTwice     = errors.New("a key comes twice")
	errMisplaced = errors.New("an item that does not belong to these functions")
)

// Restore adds the groups of a key group. On an error the state may have some of them already: the operator is of no use.
func (s *keyed) Restore(group int, r io.Reader) error {
	return s.state.Restore(group, r, func(r *snapshot.Reader) error {
		items := reader{Reader: r, keyed: s}
		return r.Each(items.item)
	})
}

// reader reads the items of a frame.
type reader struct {
	*snapshot.Reader
	*keyed
	ref   rowstate.Ref // the group that items belong to, or 0
	value []byte
	keys  rowstate.Rows
}

func (r *reader) item() error {
	item, err := r.Byte()
	if err != nil {
		return err
	}
	switch item {
	case 'G', 'g':
		return r.group(item == 'g')
	case 'S', 'L', 'T', 'D':
	default:
		return fmt.Errorf("item %q", item)
	}
	if r.ref == 0 {
		return fmt.Errorf("item %q before any group", item)
	}
	n, err := r.Uvarint("call")
	if err != nil {
		return err
	}
	p := r.groups.plan
	switch {
	case item == 'D' && n < uint64(len(p.views)):
		return r.distinct(p.views[n])
	case item == 'S' && n < uint64(len(p.calls)):
		return r.element(p.calls[n])
	case (item == 'L' || item == 'T') && n < uint64(len(p.calls)):
		return r.piece(p.calls[n], item == 'T')
	}
	return errMisplaced
}

// group finds a group, or makes it.
func (r *reader) group(goesOn bool) error {
	key, err := r.Key(r.projector)
	if err != nil {
		return err
	}
	r.keys.Reset(r.projector.Width())
	r.keys.Append(key)
	if err := r.table.Reserve(1, int64(len(key))); err != nil {
		return err
	}
	r.find(&r.keys)
	if r.fresh[0] == goesOn {
		if goesOn {
			return errors.New("a group goes on that has not begun")
		}
		return errTwice
	}
	r.ref, r.value = r.refs[0], r.table.Value(r.refs[0])
	if goesOn {
		return nil
	}
	r.begin(r.value)
	p := r.groups.plan
	stamp, err := r.stamp()
	if err != nil {
		return err
	}
	if p.stampAt >= 0 {
		rowstate.PutInt64(r.value[p.stampAt:], stamp)
	}
	for _, k := range p.calls {
		if err := r.accumulator(k); err != nil {
			return err
		}
	}
	p.derive(r.value)
	return nil
}

// stamp reads a stamp. State that had no TTL gets the time at which the clock is first told.
func (r *reader) stamp() (int64, error) {
	there, err := r.Byte()
	if err != nil || there == 0 {
		if c := &r.groups.clock; c.Known {
			return c.Now, err
		}
		return rowstate.UnknownStamp, err
	}
	v, err := r.Uint64("stamp")
	return int64(v), err
}

func (r *reader) accumulator(k *call) error {
	if k.hasValue() {
		there, err := r.Byte()
		if err != nil {
			return err
		}
		if there == 0 {
			k.value.setNull(r.value)
		} else if err := r.readValue(k); err != nil {
			return err
		}
	}
	if k.hasCount() {
		n, err := r.Uint64("count")
		if err != nil {
			return err
		}
		k.count.setInt(r.value, int64(n))
	}
	return nil
}

func (r *reader) readValue(k *call) error {
	if k.value.kind == kindBytes {
		text, err := r.Bytes("string")
		if err == nil {
			err = r.groups.arena.Reserve(int64(len(text)) + 16)
		}
		if err == nil {
			r.groups.setText(&k.value, r.value, text)
		}
		return err
	}
	n := 8
	if k.wide > 0 || k.value.kind == kindWide {
		n = 16
	} else if k.value.kind == kindTime {
		n = 12
	}
	b, err := r.Raw(n, "value")
	if err != nil {
		return err
	}
	k.value.clearNull(r.value)
	switch {
	case k.wide > 0:
		copy(r.value[k.wide:], b)
	case k.value.kind == kindWide:
		k.value.setDecimal(r.value, int128{rowstate.Int64(b), getUint64(b, 8)})
	case k.value.kind == kindTime:
		k.value.setTime(r.value, rowstate.Int64(b), int32(binary.LittleEndian.Uint32(b[8:])))
	default:
		putUint64(r.value, k.value.slot, getUint64(b, 0))
	}
	return nil
}

func (r *reader) element(k *call) error {
	if k.op != opMinRetract && k.op != opMaxRetract {
		return errMisplaced
	}
	count, err := r.Uint64("count")
	if err != nil {
		return err
	}
	stamp, err := r.stamp()
	if err != nil {
		return err
	}
	key, err := r.Bytes("value")
	if err != nil {
		return err
	}
	if n := k.arg.keyBytes(); n > 0 && len(key) != n {
		return fmt.Errorf("a value of %d bytes, needs %d", len(key), n)
	}
	g := r.groups
	if err := g.arena.Reserve(int64(len(key)) + elementHead + 32); err != nil {
		return err
	}
	if err := g.nodes.Reserve(rowstate.InsertBytes); err != nil {
		return err
	}
	e := g.newElement(key, int64(count))
	if g.clock.TTL > 0 {
		rowstate.PutInt64(g.element(e)[16:], stamp)
	}
	if _, added := g.ordered.Insert(k.setIn(r.value), e); !added {
		g.freeElement(e)
		return errTwice
	}
	return nil
}

// piece reads a value of a sequence or list; stamped tells that the snapshot is of an operator with TTL.
func (r *reader) piece(k *call, stamped bool) error {
	which, err := r.Byte()
	if err != nil {
		return err
	}
	stamp := int64(rowstate.UnknownStamp)
	if c := &r.groups.clock; c.Known {
		stamp = c.Now
	}
	if stamped {
		v, err := r.Uint64("stamp")
		if err != nil {
			return err
		}
		stamp = int64(v)
	}
	text, err := r.Bytes("value")
	if err != nil {
		return err
	}
	chain := (*rowstate.RowChain)(nil)
	switch k.op {
	case opFirstRetract, opLastRetract:
		if n := k.arg.keyBytes(); n > 0 && len(text) != n {
			return fmt.Errorf("a value of %d bytes, needs %d", len(text), n)
		}
		chain = k.chainIn(r.value)
	case opListAgg, opListAggRetract:
		chain = k.chainIn(r.value)
		switch {
		case which == 0 || k.op != opListAggRetract:
		case k.extra == 0:
			return nil // in one phase nobody asks for it
		default:
			chain = k.extraIn(r.value)
		}
	}
	if chain == nil || which > 1 || (which == 1 || stamped) && k.op != opListAggRetract {
		return errMisplaced
	}
	if err := r.groups.arena.Reserve(rowstate.ChainBytes(1, int64(len(text)+textStamp))); err != nil {
		return err
	}
	if k.op == opListAggRetract {
		r.groups.appendText(chain, text, stamp)
	} else {
		r.groups.chains.Append(chain, text)
	}
	return nil
}

func (r *reader) distinct(v *view) error {
	content, err := r.Bytes("distinct value")
	if err != nil {
		return err
	}
	if v.width > 0 && len(content) != v.width-4 {
		return fmt.Errorf("a distinct value of %d bytes, needs %d", len(content), v.width-4)
	}
	counts, err := r.Raw(int(v.linksAt), "counts")
	if err != nil {
		return err
	}
	stamp, err := r.stamp()
	if err != nil {
		return err
	}
	return v.restore(r.groups.plan, r.ref, r.value, content, counts, stamp)
}

// restore puts an entry back.
func (v *view) restore(p *plan, group rowstate.Ref, value, content, counts []byte, stamp int64) error {
	v.keys.Reset(v.width)
	v.begin(group, content)
	if err := v.table.Reserve(1, int64(len(content)+4)); err != nil {
		return err
	}
	hashes, refs, fresh := []uint64{0}, []rowstate.Ref{0}, []bool{false}
	v.table.Hash(&v.keys, hashes)
	v.table.FindOrInsert(&v.keys, hashes, refs, fresh)
	if !fresh[0] {
		return errTwice
	}
	v.link(p, value, refs[0])
	e := v.table.Value(refs[0])
	copy(e, counts)
	if v.stampAt >= 0 {
		rowstate.PutInt64(e[v.stampAt:], stamp)
	}
	return nil
}

// stampRestored gives values that were restored from state without TTL the first moment the clock tells.
func (s *keyed) stampRestored() {
	g, p, now := s.groups, s.groups.plan, s.groups.clock.Now
	stamp := func(b []byte) {
		if rowstate.Int64(b) == rowstate.UnknownStamp {
			rowstate.PutInt64(b, now)
		}
	}
	for ref := range s.table.All() {
		value := s.table.Value(ref)
		stamp(value[p.stampAt:])
		for _, k := range p.calls {
			if k.op == opMinRetract || k.op == opMaxRetract {
				for _, e := range g.ordered.From(k.setIn(value), 0) {
					stamp(g.element(e)[16:])
				}
			}
			if k.op == opListAggRetract {
				for r := range g.chains.All(k.chainIn(value)) {
					stamp(g.chains.Row(r))
				}
				if k.extra > 0 {
					for r := range g.chains.All(k.extraIn(value)) {
						stamp(g.chains.Row(r))
					}
				}
			}
		}
	}
	for _, v := range p.views {
		for ref := range v.table.All() {
			stamp(v.table.Value(ref)[v.stampAt:])
		}
	}
}
