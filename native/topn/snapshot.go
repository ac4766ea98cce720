package topn

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"drey/native/keygroup"
	"drey/native/logical"
	"drey/native/op"
	"drey/native/spec"
	"drey/rowstate"
)

// A key group with partitions is one stream of frames (see rowstate). The first frame is the identity of the state, as
// JSON; each of the others holds items, one behind the other:
//
//	'P'  a partition begins: length and bytes of its key, 8 bytes end of its rank range
//	'C'  the same, but the partition goes on that began in a frame before
//	'R'  a row of it, in order: 8 bytes number of its arrival, length and bytes of the row as it came in
//	'N'  a number: 8 bytes
//	'S'  a skewed group: length and bytes of the sort key, 8 bytes how many rows more its list has than its count says
//
// Lengths are varints, numbers little-endian. A key group without partitions is an empty stream.

// frameBytes is where a frame ends.
const frameBytes = 32 << 10

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

// snapshot is the partitions by key group. It is valid until the next batch.
type snapshot struct {
	o          *Operator
	partitions *keygroup.Sorted
	buffered   *bufio.Writer
	writer     writer
}

// Snapshot sorts the partitions by key group. The state must not change before the last group is written.
func (o *Operator) Snapshot(groups op.KeyGroups) (op.Snapshot, error) {
	sorted, err := keygroup.Sort(o.table, groups.First, groups.Last, groups.Max, func(rowstate.Ref) bool { return true })
	if err != nil {
		return nil, op.Corruptf("rank: %w", err)
	}
	return &snapshot{o: o, partitions: sorted, buffered: bufio.NewWriter(nil), writer: writer{o: o}}, nil
}

// Write writes a key group.
func (s *snapshot) Write(group int, w io.Writer) error {
	refs, ok := s.partitions.Group(group)
	if !ok {
		return op.Invalidf("rank: key group %d is not in the snapshot", group)
	}
	if len(refs) == 0 {
		return nil
	}
	s.buffered.Reset(w)
	frames, err := rowstate.NewFrameWriter(s.buffered, rowstate.FrameHeader{Fingerprint: spec.Fingerprint(s.o.identity)})
	if err == nil {
		err = frames.Write(s.o.identity)
	}
	if err != nil {
		return err
	}
	s.writer.frames, s.writer.buffer, s.writer.err = frames, s.writer.buffer[:0], nil
	for _, ref := range refs {
		s.writer.partition(ref)
		value := s.o.table.Value(ref)
		s.o.strategy.encode(partition{ref: ref, value: value[valueHeader:]}, &s.writer)
	}
	s.writer.flush()
	if s.writer.err != nil {
		return s.writer.err
	}
	if err := frames.Close(); err != nil {
		return err
	}
	return s.buffered.Flush()
}

// Close does nothing: a snapshot borrows all it has.
func (s *snapshot) Close() {}

// writer writes items. The first error stays.
type writer struct {
	o      *Operator
	frames *rowstate.FrameWriter
	buffer []byte
	ref    rowstate.Ref // partition at work
	row    []byte
	err    error
}

func (w *writer) flush() {
	if len(w.buffer) > 0 && w.err == nil {
		w.err = w.frames.Write(w.buffer)
	}
	w.buffer = w.buffer[:0]
}

func (w *writer) bytes(b []byte) {
	w.buffer = append(binary.AppendUvarint(w.buffer, uint64(len(b))), b...)
}

func (w *writer) number(n uint64) { w.buffer = binary.LittleEndian.AppendUint64(w.buffer, n) }

func (w *writer) header(item byte) {
	w.buffer = append(w.buffer, item)
	w.bytes(w.o.table.Key(w.ref))
	w.buffer = append(w.buffer, w.o.table.Value(w.ref)[:valueHeader]...)
}

// partition begins a partition.
func (w *writer) partition(ref rowstate.Ref) {
	if len(w.buffer) >= frameBytes {
		w.flush()
	}
	w.ref = ref
	w.header('P')
}

// room begins a frame if the present one is full.
func (w *writer) room() {
	if len(w.buffer) >= frameBytes {
		w.flush()
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
	w.buffer = append(w.buffer, 'R')
	w.number(h.arrivalOf(e))
	w.bytes(row)
}

func (w *writer) count(n int64) {
	w.buffer = append(w.buffer, 'N')
	w.number(uint64(n))
}

func (w *writer) skew(sortKey []byte, left int64) {
	w.room()
	w.buffer = append(w.buffer, 'S')
	w.bytes(sortKey)
	w.number(uint64(left))
}

// Restore adds the partitions of a key group. On an error the state may have some of them already: the operator is of no use.
func (o *Operator) Restore(group int, r io.Reader) error {
	if o.pushed {
		return op.Invalidf("rank: restore after the first batch")
	}
	if group < o.groups.First || group > o.groups.Last {
		return op.Invalidf("rank: key group %d is not of the subtask's %d to %d", group, o.groups.First, o.groups.Last)
	}
	buffered := bufio.NewReader(r)
	if _, err := buffered.Peek(1); err == io.EOF {
		return nil
	}
	frames, err := rowstate.NewFrameReader(buffered)
	if err != nil {
		return op.Corruptf("rank: key group %d: %w", group, err)
	}
	reader := reader{o: o, group: group}
	for n := 0; ; n++ {
		frame, err := frames.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return op.Corruptf("rank: key group %d: %w", group, err)
		}
		if n == 0 {
			err = o.checkIdentity(frames.Header().Fingerprint, frame)
		} else {
			err = reader.frame(frame)
		}
		var budget *rowstate.BudgetError
		if errors.As(err, &budget) {
			return fmt.Errorf("rank: key group %d: %w", group, err)
		}
		if err != nil {
			return op.Corruptf("rank: key group %d: frame %d: %w", group, n, err)
		}
	}
}

func (o *Operator) checkIdentity(fingerprint uint64, theirs []byte) error {
	if fingerprint != spec.Fingerprint(theirs) {
		return fmt.Errorf("the state is of fingerprint %016x, but its identity %s has another", fingerprint, theirs)
	}
	if string(theirs) != string(o.identity) {
		return fmt.Errorf("the state is of %s, the operator needs %s", theirs, o.identity)
	}
	return nil
}

// reader reads items.
type reader struct {
	o     *Operator
	group int
	src   []byte
	p     partition
	begun bool
}

func (r *reader) frame(frame []byte) error {
	r.src, r.begun = frame, false
	for len(r.src) > 0 {
		offset := len(frame) - len(r.src)
		item := r.src[0]
		r.src = r.src[1:]
		if err := r.item(item); err != nil {
			return fmt.Errorf("offset %d: %w", offset, err)
		}
	}
	return nil
}

func (r *reader) item(item byte) error {
	switch item {
	case 'P', 'C':
		return r.partition(item == 'C')
	}
	if !r.begun {
		return fmt.Errorf("item %q before any partition", item)
	}
	switch item {
	case 'R':
		arrival, err := r.number()
		if err != nil {
			return err
		}
		row, err := r.bytes()
		if err != nil {
			return err
		}
		return r.row(arrival, row)
	case 'N':
		n, err := r.number()
		if err != nil {
			return err
		}
		return r.o.strategy.decodeNumber(r.p, int64(n))
	case 'S':
		sortKey, err := r.bytes()
		if err != nil {
			return err
		}
		left, err := r.number()
		if err != nil {
			return err
		}
		return r.o.strategy.decodeSkew(r.p, sortKey, int64(left))
	}
	return fmt.Errorf("item %q is not known", item)
}

func (r *reader) bytes() ([]byte, error) {
	n, size := binary.Uvarint(r.src)
	if size <= 0 || n > uint64(len(r.src)-size) {
		return nil, fmt.Errorf("%d bytes, %d are left", n, len(r.src))
	}
	b := r.src[size : size+int(n) : size+int(n)]
	r.src = r.src[size+int(n):]
	return b, nil
}

func (r *reader) number() (uint64, error) {
	if len(r.src) < 8 {
		return 0, fmt.Errorf("a number of %d bytes", len(r.src))
	}
	v := binary.LittleEndian.Uint64(r.src)
	r.src = r.src[8:]
	return v, nil
}

func (r *reader) partition(goesOn bool) error {
	o := r.o
	key, err := r.bytes()
	if err != nil {
		return err
	}
	end, err := r.number()
	if err != nil {
		return err
	}
	if err := o.projector.Layout().Check(key); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	if w := o.projector.Width(); w > 0 && len(key) != w {
		return fmt.Errorf("key: %d bytes, needs %d", len(key), w)
	}
	if own := keygroup.Of(key, o.groups.Max); own != r.group {
		return fmt.Errorf("the key is of key group %d", own)
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
