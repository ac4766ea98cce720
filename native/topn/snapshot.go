package topn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"drey/native/logical"
	"drey/native/op"
	"drey/native/snapshot"
	"drey/native/spec"
	"drey/rowstate"
)

// Items of a snapshot (see package snapshot):
//
//	'P'  a partition begins: length and bytes of its key, 8 bytes end of its rank range
//	'C'  the same, but the partition goes on that began in a frame before
//	'R'  a row of it, in order: 8 bytes number of its arrival, length and bytes of the row as it came in
//	'N'  a number: 8 bytes
//	'S'  a skewed group: length and bytes of the sort key, 8 bytes how many rows more its list has than its count says

var (
	errTwice     = errors.New("a key comes twice")
	errMisplaced = errors.New("an item that does not belong to this strategy")
)

// identity is what the state of one specification must have in common with that of another to be of use to it.
type identity struct {
	Function    string           `json:"function"`
	Operator    string           `json:"operator"`
	OrderBy     []spec.SortField `json:"orderBy"`
	Partition   []int            `json:"partition"`
	PrimaryKeys []int            `json:"primaryKeys,omitempty"`
	RankRange   spec.RankRange   `json:"rankRange"`
	Types       []string         `json:"types"`
}

func identify(s *spec.Rank, types []logical.Type) []byte {
	id := identity{
		Function: s.Function, Operator: s.Name, OrderBy: s.OrderBy, Partition: s.Partition, PrimaryKeys: s.PrimaryKeys,
		RankRange: s.RankRange,
	}
	for _, t := range types {
		id.Types = append(id.Types, t.String())
	}
	return spec.Encode(id)
}

// Snapshot sorts the partitions by key group. The state must not change before the last group is written.
func (o *Operator) Snapshot(groups op.KeyGroups) (op.Snapshot, error) {
	items := writer{o: o}
	return o.state.Take(groups, snapshot.Part{Table: o.table, Write: func(ref rowstate.Ref, w *snapshot.Writer) {
		items.Writer, items.ref = w, ref
		items.header('P')
		o.strategy.encode(partition{ref: ref, value: o.table.Value(ref)[valueHeader:]}, &items)
	}})
}

// writer writes the items of a partition.
type writer struct {
	*snapshot.Writer
	o   *Operator
	ref rowstate.Ref
	row []byte
}

func (w *writer) header(item byte) {
	w.Byte(item)
	w.Bytes(w.o.table.Key(w.ref))
	w.Raw(w.o.table.Value(w.ref)[:valueHeader])
}

// room begins a frame if the present one is full.
func (w *writer) room() {
	if w.Room() {
		w.header('C')
	}
}

// set writes all rows of a set.
func (w *writer) set(set *rowstate.OrderedSet) {
	for _, e := range w.o.held.from(set, 1) {
		w.element(e)
	}
}

// element writes a row.
func (w *writer) element(e element) {
	w.room()
	h := &w.o.held
	row := h.row(e)
	if w.o.out.numbered {
		n := len(row) - w.o.out.size(0)
		w.row = append(w.row[:0], make([]byte, n)...)
		w.o.out.extender.Strip(w.row, row)
		row = w.row
	}
	w.Byte('R')
	w.Uint64(h.arrivalOf(e))
	w.Bytes(row)
}

func (w *writer) count(n int64) {
	w.Byte('N')
	w.Uint64(uint64(n))
}

func (w *writer) skew(sortKey []byte, left int64) {
	w.room()
	w.Byte('S')
	w.Bytes(sortKey)
	w.Uint64(uint64(left))
}

// Restore adds the partitions of a key group. On an error the state may have some of them already: the operator is of no use.
func (o *Operator) Restore(group int, r io.Reader) error {
	return o.state.Restore(group, r, func(r *snapshot.Reader) error {
		items := reader{Reader: r, o: o}
		return r.Each(items.item)
	})
}

// reader reads the items of a frame.
type reader struct {
	*snapshot.Reader
	o     *Operator
	p     partition
	begun bool
}

func (r *reader) item() error {
	item, err := r.Byte()
	if err != nil {
		return err
	}
	switch item {
	case 'P', 'C':
		return r.partition(item == 'C')
	}
	if !r.begun {
		return fmt.Errorf("item %q before any partition", item)
	}
	switch item {
	case 'R':
		arrival, err := r.Uint64("arrival")
		if err != nil {
			return err
		}
		row, err := r.Bytes("row")
		if err != nil {
			return err
		}
		return r.row(arrival, row)
	case 'N':
		n, err := r.Uint64("number")
		if err != nil {
			return err
		}
		return r.o.strategy.decodeNumber(r.p, int64(n))
	case 'S':
		sortKey, err := r.Bytes("sort key")
		if err != nil {
			return err
		}
		left, err := r.Uint64("skew")
		if err != nil {
			return err
		}
		return r.o.strategy.decodeSkew(r.p, sortKey, int64(left))
	}
	return fmt.Errorf("item %q is not known", item)
}

func (r *reader) partition(goesOn bool) error {
	o := r.o
	key, err := r.Key(o.projector)
	if err != nil {
		return err
	}
	end, err := r.Uint64("rank range's end")
	if err != nil {
		return err
	}
	if err := o.table.Reserve(1, int64(len(key))); err != nil {
		return err
	}
	o.keys.Reset(o.projector.Width())
	o.keys.Append(key)
	o.find()
	if o.fresh[0] == goesOn {
		return errTwice
	}
	value := o.table.Value(o.refs[0])
	binary.LittleEndian.PutUint64(value, end)
	r.p, r.begun = partition{ref: o.refs[0], value: value[valueHeader:]}, true
	return nil
}

func (r *reader) row(arrival uint64, row []byte) error {
	o := r.o
	if o.held.rows == nil {
		return errMisplaced
	}
	if err := o.layout.Check(row); err != nil {
		return fmt.Errorf("row: %w", err)
	}
	one := rowstate.Rows{}
	one.Reset(o.projector.Width())
	o.projector.Append(row, &one)
	if string(one.Row(0)) != string(o.table.Key(r.p.ref)) {
		return errors.New("a row of another partition")
	}
	if err := o.held.reserve(1, int64(len(row))); err != nil {
		return err
	}
	o.sortKey = o.sortKeys.Append(o.sortKey[:0], row)
	e := o.held.put(o.sortKey, arrival, row)
	o.held.arrival = max(o.held.arrival, arrival)
	if len(r.p.value) >= rowstate.SetSize && o.held.order.Find(rowstate.SetIn(r.p.value), o.held.key(e)) != 0 {
		return errTwice
	}
	return o.strategy.decodeRow(r.p, e, row)
}
