package join

import (
	"bytes"

	"drey/native/changelog"
	"drey/native/javamap"
	"drey/native/keygroup"
	"drey/native/spec"
	"drey/rowstate"
)

// bundle is what MiniBatchStreamingJoinOperator buffers: rows of both inputs, folded as they come. It ends with so many
// rows of both, or when the host says so; then the rows of one side are joined, then those of the other.
type bundle struct {
	o       *Operator
	arena   *rowstate.Arena
	buffers [2]buffer
	count   int64    // rows that came, of both inputs
	reduced [2]int64 // rows that folding saved in the last bundle

	// The batch that is being added; it may end bundles in the middle.
	input  int     // if all its rows are of one
	inputs []uint8 // else
	batch  *changelog.Batch
	keys   rowstate.Rows
	id     rowstate.Rows
	from   int

	ending int // sides of the bundle yet to be joined, when it ends

	result javamap.Map[*waiting] // of one side, as getRecords fills it
}

// buffer is one side of a bundle: JoinKeyContainsUniqueKeyBundle, InputSideHasUniqueKeyBundle or
// InputSideHasNoUniqueKeyBundle.
type buffer struct {
	keys   javamap.Map[waiting]
	count  int64 // rows that came
	actual int64 // rows that are left
}

// waiting is the rows of a join key: a list, or lists by unique key or by hash of the row.
type waiting struct {
	list  []message
	lists javamap.Map[[]message]
}

// message is a row in the bundle's arena.
type message struct {
	ref  rowstate.Ref
	n    int
	kind changelog.RowKind
}

func newBundle(o *Operator) *bundle {
	b := &bundle{o: o, arena: rowstate.NewArena(o.budget, purposeBundle)}
	for i := range b.buffers {
		b.buffers[i].keys.Reuse = func(w *waiting) {
			w.list = w.list[:0]
			w.lists.Renew()
			w.lists.Reuse = emptyList
		}
	}
	return b
}

func emptyList(list *[]message) { *list = (*list)[:0] }

// reserve makes room for a batch.
func (b *bundle) reserve(in *changelog.Batch) error { return b.arena.Reserve(int64(len(in.Data))) }

// feed takes a batch, whose join keys have been projected.
func (b *bundle) feed(input int, inputs []uint8, in *changelog.Batch) {
	b.input, b.inputs, b.batch, b.from = input, inputs, in, 0
	b.keys, b.o.keys = b.o.keys, b.keys
}

// finish ends the bundle, if there is anything in it.
func (b *bundle) finish() {
	if b.count > 0 {
		for i := range b.buffers {
			b.reduced[i] = b.buffers[i].count - b.buffers[i].actual
		}
		b.ending = 2
	}
}

func (b *bundle) unfinished() bool { return b.ending > 0 || b.batch != nil }

// advance does the next thing: it adds rows until the bundle ends, or makes the operator's work of one side of a bundle
// that has ended. It returns false if there is nothing to do.
func (b *bundle) advance() (more bool, err error) {
	for {
		switch {
		case b.ending > 0:
			// Right first, but for a RIGHT join: so fewer rows are padded only to be retracted again.
			number := b.ending - 1
			if b.o.spec.JoinType == spec.RightJoin {
				number = 2 - b.ending
			}
			if b.ending--; b.buffers[number].actual > 0 {
				if err := b.join(number); err != nil {
					// The other side, or rows before the bundle's end, may have been joined: it stays unfinished.
					b.ending++
					return false, err
				}
				return true, nil
			}
			if b.ending == 0 {
				b.clear()
			}
		case b.batch == nil:
			return false, nil
		case b.from == b.batch.Len():
			b.batch, b.inputs = nil, nil
		default:
			b.add()
			if b.count >= b.o.spec.MiniBatch.Size {
				b.finish()
			}
		}
	}
}

// clear begins a bundle.
func (b *bundle) clear() {
	b.count = 0
	for i := range b.buffers {
		f := &b.buffers[i]
		f.keys.All(func(_ []byte, w *waiting) {
			b.free(w.list)
			w.lists.All(func(_ []byte, list *[]message) { b.free(*list) })
		})
		f.keys.Clear()
		f.count, f.actual = 0, 0
	}
}

func (b *bundle) free(list []message) {
	for _, m := range list {
		b.arena.Free(m.ref, m.n)
	}
}

func (b *bundle) row(m message) []byte { return b.arena.Bytes(m.ref, m.n) }

// add adds the next row of the batch. Lists are looked up once more before a row is put into them, as in Flink: a HashMap that is
// too full doubles with any call of computeIfAbsent, and its size shows in the order of what is emitted.
func (b *bundle) add() {
	i := b.from
	b.from++
	row, key := b.batch.Row(i), b.keys.Row(i)
	m := message{ref: b.arena.Alloc(len(row)), n: len(row), kind: b.batch.Kinds[i]}
	copy(b.row(m), row)
	b.row(m)[0] = 0
	input := b.input
	if b.inputs != nil {
		input = int(b.inputs[i])
	}
	f, s := &b.buffers[input], b.o.sides[input]
	b.count++
	f.count++
	switch w := f.keys.Of(key, keygroup.Hash(key)); s.shape {
	case oneRow:
		if b.foldLast(f, &w.list, m) {
			if len(w.list) == 0 {
				f.keys.Remove(key, keygroup.Hash(key))
			}
			return
		}
		w = f.keys.Of(key, keygroup.Hash(key))
		w.list = append(w.list, m)
	case byKey:
		b.id.Reset(s.unique.Width())
		s.unique.Append(row, &b.id)
		id := b.id.Row(0)
		list := w.lists.Of(id, keygroup.Hash(id))
		if b.foldLast(f, list, m) {
			if len(*list) == 0 {
				b.forget(f, w, key, id, keygroup.Hash(id))
			}
			return
		}
		w = f.keys.Of(key, keygroup.Hash(key))
		list = w.lists.Of(id, keygroup.Hash(id))
		*list = append(*list, m)
	default:
		hash := keygroup.Hash(b.row(m))
		list := w.lists.Of(nil, hash)
		if b.foldEqual(list, m) {
			f.actual--
			if len(*list) == 0 {
				b.forget(f, w, key, nil, hash)
			}
			return
		}
		w = f.keys.Of(key, keygroup.Hash(key))
		list = w.lists.Of(nil, hash)
		*list = append(*list, m)
	}
	f.actual++
}

// forget drops an empty list, and its join key if it was the last.
func (b *bundle) forget(f *buffer, w *waiting, key, id []byte, hash int32) {
	if w.lists.Remove(id, hash); w.lists.Len() == 0 {
		f.keys.Remove(key, keygroup.Hash(key))
	}
}

// foldLast folds a message with the last one of its unique key: two of a kind become the newer, a retraction takes the
// accumulation before it away, and itself, which foldLast tells.
func (b *bundle) foldLast(f *buffer, list *[]message, m message) (folded bool) {
	n := len(*list)
	if n == 0 {
		return false
	}
	last := (*list)[n-1]
	if !last.kind.IsAccumulate() && m.kind.IsAccumulate() {
		return false
	}
	f.actual--
	b.arena.Free(last.ref, last.n)
	*list = (*list)[:n-1]
	if folded = last.kind.IsAccumulate() && !m.kind.IsAccumulate(); folded {
		b.arena.Free(m.ref, m.n)
	}
	return folded
}

// foldEqual takes the last message of the opposite sign with equal content away, and m with it.
func (b *bundle) foldEqual(list *[]message, m message) (folded bool) {
	for i := len(*list) - 1; i >= 0; i-- {
		other := (*list)[i]
		if other.kind.IsAccumulate() != m.kind.IsAccumulate() && bytes.Equal(b.row(other), b.row(m)) {
			*list = append((*list)[:i], (*list)[i+1:]...)
			b.arena.Free(other.ref, other.n)
			b.arena.Free(m.ref, m.n)
			return true
		}
	}
	return false
}

// join makes the operator's work of one side, in Flink's order.
func (b *bundle) join(number int) error {
	o, f := b.o, &b.buffers[number]
	s := o.sides[number]
	w := &o.work
	w.begin(number, nil)
	w.bundled = true
	w.rows.Reset(0)
	w.kinds, w.suppress = w.kinds[:0], w.quietly[:0]
	o.keys.Reset(s.projector.Width())
	emit := func(key []byte, m message, quiet bool) {
		o.keys.Append(key)
		w.rows.Append(b.row(m))
		w.kinds = append(w.kinds, m.kind)
		w.suppress = append(w.suppress, quiet)
	}
	switch s.shape {
	case oneRow:
		f.keys.All(func(key []byte, w *waiting) { pairUp(key, w.list, emit) })
	case byKey:
		f.keys.All(func(key []byte, w *waiting) {
			w.lists.All(func(_ []byte, list *[]message) { pairUp(key, *list, emit) })
		})
	default:
		b.result.Renew()
		f.keys.All(func(key []byte, w *waiting) { *b.result.Of(key, keygroup.Hash(key)) = w })
		b.result.All(func(key []byte, w **waiting) {
			(*w).lists.All(func(_ []byte, list *[]message) {
				for _, m := range *list {
					emit(key, m, false)
				}
			})
		})
	}
	w.quietly = w.suppress
	if err := o.prepare(); err != nil {
		w.active = false
		return err
	}
	if b.ending == 0 {
		b.clear()
	}
	return nil
}

// pairUp emits the messages of a unique key: at most a retraction and an accumulation, thanks to folding. Both together are
// an update, of which neither touches padded rows (processElementWithSuppress).
func pairUp(key []byte, list []message, emit func(key []byte, m message, quiet bool)) {
	update := len(list) == 2 && !list[0].kind.IsAccumulate() && list[1].kind.IsAccumulate()
	for _, m := range list {
		emit(key, m, update)
	}
}

func (b *bundle) close() {
	b.arena.Close()
	b.buffers = [2]buffer{}
	b.batch, b.inputs, b.ending, b.count = nil, nil, 0, 0
}
