package topn

import (
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
//	'W'  when the row before was written: 8 bytes, milliseconds
//	'S'  a skewed group: length and bytes of the sort key, 8 bytes how many rows more its list has than its count says
//	'G'  a ghost: length and bytes of the sort key, 8 bytes how many rows less the list has
//	'E'  when the end of the rank range was written: 8 bytes
//	'T'  when the partition's own value was written: 8 bytes

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

// Snapshot sorts the partitions by key group, those that have not expired. The state must not change before the last group
// is written.
func (o *Operator) Snapshot(groups op.KeyGroups) (op.Snapshot, error) {
	items := writer{o: o}
	if o.clock.Known {
		o.tick(o.clock.Now)
	}
	var failed error
	taken, err := o.state.Take(groups, snapshot.Part{
		Table: o.table,
		Keep: func(ref rowstate.Ref) bool {
			p := o.at(ref)
			if o.clock.TTL == 0 {
				return true
			}
			if err := o.age(&p); err != nil {
				failed = err
			}
			return !o.strategy.empty(&p) || !o.constantEnd && !o.clock.Expired(rowstate.Int64(p.header[endStampAt:]))
		},
		Write: func(ref rowstate.Ref, w *snapshot.Writer) {
			items.Writer, items.p = w, o.at(ref)
			items.header('P')
			if o.clock.TTL > 0 {
				if !o.constantEnd {
					items.time('E', rowstate.Int64(items.p.header[endStampAt:]))
				}
				if o.strategy.ownStamp() {
					items.time('T', items.p.stamp())
				}
			}
			o.strategy.encode(&items.p, &items)
		},
	})
	o.strategy.end()
	if failed != nil {
		return nil, failed
	}
	return taken, err
}

// writer writes the items of a partition.
type writer struct {
	*snapshot.Writer
	o *Operator
	p partition
}

func (w *writer) header(item byte) {
	w.Byte(item)
	w.Bytes(w.o.table.Key(w.p.ref))
	w.Raw(w.p.header[:endSize])
}

// room begins a frame if the present one is full.
func (w *writer) room() {
	if w.Room() {
		w.header('C')
	}
}

func (w *writer) time(item byte, stamp int64) {
	if stamp != unknown {
		w.Byte(item)
		w.Uint64(uint64(stamp))
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
	w.Byte('R')
	w.Uint64(h.arrivalOf(e))
	w.Bytes(h.row(e))
	if h.lives {
		w.time('W', h.stampOf(e))
	}
}

func (w *writer) count(n int64) {
	w.Byte('N')
	w.Uint64(uint64(n))
}

func (w *writer) group(item byte, sortKey []byte, n int64) {
	w.room()
	w.Byte(item)
	w.Bytes(sortKey)
	w.Uint64(uint64(n))
}

// Restore adds the partitions of a key group. On an error the state may have some of them already: the operator is of no
// use.
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
	last  element // the row that was the item before
}

func (r *reader) item() error {
	item, err := r.Byte()
	if err != nil {
		return err
	}
	last := r.last
	r.last = 0
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
		return r.o.strategy.decodeNumber(&r.p, int64(n))
	case 'S', 'G':
		sortKey, err := r.Bytes("sort key")
		if err != nil {
			return err
		}
		n, err := r.Uint64("number of rows")
		if err != nil {
			return err
		}
		return r.o.strategy.decodeGroup(&r.p, item, sortKey, int64(n))
	case 'E', 'T', 'W':
		stamp, err := r.Uint64("time")
		if err != nil {
			return err
		}
		return r.stamp(item, int64(stamp), last)
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
	r.p, r.begun = o.at(o.refs[0]), true
	rowstate.PutInt64(r.p.header, int64(end))
	r.p.end = int64(end)
	if o.clock.TTL > 0 && !goesOn {
		o.restored = append(o.restored, r.p.ref)
		rowstate.PutInt64(r.p.header[endStampAt:], unknown)
		r.p.setStamp(unknown)
	}
	return nil
}

func (r *reader) stamp(item byte, stamp int64, last element) error {
	if stamp == unknown {
		return errors.New("a time that is none")
	}
	if r.o.clock.TTL == 0 {
		return nil // nothing expires any more
	}
	switch item {
	case 'E':
		rowstate.PutInt64(r.p.header[endStampAt:], stamp)
	case 'T':
		r.p.setStamp(stamp)
	default:
		if last == 0 {
			return errors.New("a time that belongs to no row")
		}
		r.o.held.setStampOf(last, stamp)
	}
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
	if len(r.p.value) >= rowstate.SetSize+edgeBytes && o.held.order.Find(rowstate.SetIn(r.p.value), o.held.key(e)) != 0 {
		return errTwice
	}
	r.last = e
	return o.strategy.decodeRow(&r.p, e, row)
}
