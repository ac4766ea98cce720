package agg

import (
	"encoding/binary"

	"drey/native/logical"
	"drey/native/op"
	"drey/native/snapshot"
	"drey/native/spec"
	"drey/rowstate"
)

// Items of a snapshot (see package snapshot):
//
//	'G'  a group begins: length and bytes of its key, its stamp, then the accumulator of every call: a byte that says whether
//	     its value is not null, the value, its count
//	'g'  the group goes on that began in a frame before: length and bytes of its key
//	'S'  a value of a retracting MIN or MAX: number of the call, count, stamp, length and bytes of its key
//	'L'  a value of a sequence or list, in order: number of the call, 0 or 1 for a second list, length and bytes
//	'T'  a text of a list with TTL, in order: number of the call, 0 or 1 for a second list, 8 bytes of its stamp, length and bytes
//	'D'  a distinct value: number of the view, length and bytes of the value, its bits or counts, stamp
//
// A stamp is a byte that says whether it is there, and 8 bytes. What a value is depends on its kind: 8 bytes, 16 of a decimal,
// 12 of a timestamp, length and bytes of a string.

// identity is what the state of one specification must have in common with that of another to be of use to it.
type identity struct {
	AggCallNeedRetractions []bool               `json:"aggCallNeedRetractions"`
	AggCalls               []spec.AggregateCall `json:"aggCalls"`
	Grouping               []int                `json:"grouping"`
	IndexOfCountStar       int                  `json:"indexOfCountStar"`
	NeedRetraction         bool                 `json:"needRetraction"`
	Operator               string               `json:"operator"`
	Types                  []string             `json:"types"`
}

func (s *keyed) identify(calls []spec.AggregateCall, retract []bool, grouping []int, types []logical.Type, r request, groups op.KeyGroups) {
	id := identity{
		AggCallNeedRetractions: retract, AggCalls: calls, Grouping: grouping, IndexOfCountStar: r.countStar, NeedRetraction: r.needs,
		Operator: s.name,
	}
	for _, t := range types {
		id.Types = append(id.Types, t.String())
	}
	s.state = snapshot.State{Operator: s.name, Identity: spec.Encode(id), Groups: groups}
}

// Snapshot sorts the groups by key group. The state must not change before the last one is written.
func (s *keyed) Snapshot(groups op.KeyGroups) (op.Snapshot, error) {
	p := s.groups.plan
	return s.state.Take(groups, snapshot.Part{
		Table: s.table,
		Keep: func(ref rowstate.Ref) bool {
			value := s.table.Value(ref)
			return p.alive(value) && (p.stampAt < 0 || !s.groups.clock.Expired(rowstate.Int64(value[p.stampAt:])))
		},
		Write: func(ref rowstate.Ref, w *snapshot.Writer) {
			items := writer{Writer: w, keyed: s, ref: ref}
			items.group(s.table.Value(ref))
		},
	})
}

// writer writes the items of a group.
type writer struct {
	*snapshot.Writer
	*keyed
	ref rowstate.Ref
}

// room begins a frame if the present one is full.
func (w *writer) room() {
	if w.Room() {
		w.Byte('g')
		w.Bytes(w.table.Key(w.ref))
	}
}

func (w *writer) stamp(b []byte, at int32) {
	if at < 0 {
		w.Byte(0)
		return
	}
	w.Byte(1)
	w.Uint64(getUint64(b, at))
}

func (w *writer) group(value []byte) {
	g, p := w.groups, w.groups.plan
	w.Byte('G')
	w.Bytes(w.table.Key(w.ref))
	w.stamp(value, p.stampAt)
	for _, k := range p.calls {
		w.accumulator(k, value)
	}
	for _, k := range p.calls {
		switch k.op {
		case opMinRetract, opMaxRetract:
			w.set(k, value)
		case opListAggRetract:
			if k.extra > 0 {
				w.texts(k, 1, k.extraIn(value))
			}
			w.texts(k, 0, k.chainIn(value))
		case opFirstRetract, opLastRetract, opListAgg:
			w.chain(k, 0, k.chainIn(value))
		}
	}
	for i, v := range p.views {
		for ref := getRef(value, v.headAt(p)); ref != 0; {
			e := v.table.Value(ref)
			if v.stampAt < 0 || !g.clock.Expired(rowstate.Int64(e[v.stampAt:])) {
				w.room()
				w.Byte('D')
				w.Uvarint(uint64(i))
				w.Bytes(v.table.Key(ref)[4:])
				w.Raw(e[:v.linksAt])
				w.stamp(e, v.stampAt)
			}
			ref = getRef(e, v.linksAt)
		}
	}
}

// hasValue tells whether a call has a value besides its count.
func (k *call) hasValue() bool { return k.op != opCountStar && k.op != opCount && k.op != opListAgg }

// hasCount tells whether a call counts.
func (k *call) hasCount() bool { return k.count.slot > 0 }

func (w *writer) accumulator(k *call, value []byte) {
	if k.hasValue() {
		w.value(k, value)
	}
	if k.hasCount() {
		w.Uint64(uint64(k.count.int(value)))
	}
}

func (w *writer) value(k *call, value []byte) {
	if k.value.isNull(value) {
		w.Byte(0)
		return
	}
	w.Byte(1)
	switch {
	case k.wide > 0:
		w.Raw(value[k.wide : k.wide+16])
	case k.value.kind == kindBytes:
		w.Bytes(w.groups.text(&k.value, value))
	case k.value.kind == kindWide:
		v := k.value.decimal(value)
		w.Uint64(uint64(v.hi))
		w.Uint64(v.lo)
	case k.value.kind == kindTime:
		millis, nanos := k.value.time(value)
		w.Uint64(uint64(millis))
		w.Raw(binary.LittleEndian.AppendUint32(nil, uint32(nanos)))
	default:
		w.Uint64(getUint64(value, k.value.slot))
	}
}

func (w *writer) set(k *call, value []byte) {
	g := w.groups
	stampAt := int32(-1)
	if g.clock.TTL > 0 {
		stampAt = 16
	}
	for _, e := range g.ordered.From(k.setIn(value), 0) {
		w.room()
		w.Byte('S')
		w.Uvarint(uint64(k.index))
		w.Uint64(getUint64(g.element(e), 0))
		w.stamp(g.element(e), stampAt)
		w.Bytes(g.elementKey(e))
	}
}

func (w *writer) texts(k *call, which byte, chain *rowstate.RowChain) {
	if !w.groups.stampsTexts() {
		w.chain(k, which, chain)
		return
	}
	for r := range w.groups.chains.All(chain) {
		if w.groups.textExpired(r) {
			continue
		}
		w.room()
		w.Byte('T')
		w.Uvarint(uint64(k.index))
		w.Byte(which)
		w.Uint64(getUint64(w.groups.chains.Row(r), 0))
		w.Bytes(w.groups.textIn(r))
	}
}

func (w *writer) chain(k *call, which byte, chain *rowstate.RowChain) {
	for r := range w.groups.chains.All(chain) {
		w.room()
		w.Byte('L')
		w.Uvarint(uint64(k.index))
		w.Byte(which)
		w.Bytes(w.groups.chains.Row(r))
	}
}
