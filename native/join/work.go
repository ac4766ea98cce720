package join

import (
	"drey/native/changelog"
	"drey/native/spec"
	"drey/rowstate"
)

// work is rows on their way through the join, and how far they have come. While a row is joined, the rows of the other side
// neither come nor go: only their numbers of associations change. So it can stop between any two rows that it emits.
type work struct {
	*role
	o      *Operator
	roles  [2]role // of rows of the left and of the right input
	active bool

	inputs   []uint8       // each row's input; nil: that of role. The host's batch, which stays while it is not done with
	rows     rowstate.Rows // header byte 0
	kinds    []changelog.RowKind
	refs     []rowstate.Ref // entries of the rows' keys; 0: a null keeps the row from matching
	ids      rowstate.Rows  // what the rows are told apart by; unused unless the side of one is byKey
	hashes   []uint64       // of that; unused if all sides are oneRow
	suppress []bool         // nil, or rows of a bundle that are halves of an update
	quietly  []bool         // the memory of suppress
	bundled  bool           // rows have no source

	// The present row.
	at         int
	begun      bool
	input      changelog.Payload
	accumulate bool
	quiet      bool
	walk       walk
	matches    int

	// The record of the other side it is being joined with, and how often yet.
	record changelog.Payload
	header []byte
	times  int
	n      int32 // its associations when it was reached

	pairs   pairs
	fetched int            // rows whose state was fetched
	empty   []rowstate.Ref // keys that may have no row any more
}

// role is what a row's input means to it.
type role struct {
	own, other             *side
	inputOuter, otherOuter bool
	kind                   joinKind
}

// joinKind says which of Flink's operators is at work, and on which input.
type joinKind uint8

const (
	joins     joinKind = iota // StreamingJoinOperator
	semiLeft                  // StreamingSemiAntiJoinOperator.processElement1
	semiRight                 // StreamingSemiAntiJoinOperator.processElement2
)

// queued is a handle without rows whose key is in the list of empty keys.
const queued = 1 << 63

func (w *work) init(o *Operator) {
	w.o = o
	for i := range w.roles {
		own, other := o.sides[i], o.sides[1-i]
		w.roles[i] = role{own: own, other: other, inputOuter: own.outer, otherOuter: other.outer}
		if t := o.spec.JoinType; t == spec.SemiJoin || t == spec.AntiJoin {
			w.roles[i].kind = semiLeft + joinKind(i)
		}
	}
	w.role = &w.roles[0]
}

// begin starts over with rows of one input or, if inputs says which is of which, of both; rows, kinds and keys are still to
// come.
func (w *work) begin(input int, inputs []uint8) {
	w.role, w.inputs = &w.roles[input], inputs
	w.active, w.at, w.begun, w.fetched = true, 0, false, 0
	w.suppress, w.bundled = nil, false
	w.times = 0
}

// roleOf is the role of row i.
func (w *work) roleOf(i int) *role {
	if w.inputs == nil {
		return w.role
	}
	return &w.roles[w.inputs[i]]
}

// identify hashes what the rows are told apart by.
func (w *work) identify() {
	shapes := [...]shape{w.own.shape, w.own.shape}
	if w.inputs != nil {
		shapes[1] = w.other.shape
	}
	if shapes == [...]shape{oneRow, oneRow} {
		return
	}
	n := w.rows.Len()
	if cap(w.hashes) < n {
		w.hashes = make([]uint64, n)
	}
	w.hashes = w.hashes[:n]
	ids := &w.rows
	if shapes[0] == byKey || shapes[1] == byKey {
		ids = &w.ids
		w.collectIdentities()
	}
	w.o.table.Hash(ids, w.hashes)
}

// collectIdentities puts what rows are told apart by into ids. Hashes of rows do not depend on whether their lengths vary.
func (w *work) collectIdentities() {
	if w.inputs == nil {
		w.ids.Reset(w.own.unique.Width())
	} else {
		w.ids.Reset(0)
	}
	for i := range w.rows.Len() {
		switch s := w.roleOf(i).own; s.shape {
		case byKey:
			s.unique.Append(w.rows.Row(i), &w.ids)
		case counted:
			w.ids.Append(w.rows.Row(i))
		default:
			w.ids.Append(nil)
		}
	}
}

// identity is what row i is told apart by.
func (w *work) identity(i int) (id []byte, hash uint64) {
	switch w.own.shape {
	case oneRow:
		return nil, 0
	case counted:
		return w.rows.Row(i), w.hashes[i]
	}
	return w.ids.Row(i), w.hashes[i]
}

// run goes on until all rows are done, which it tells, or the builder is full.
func (w *work) run(out *changelog.Builder) (done bool, err error) {
	n := w.rows.Len()
	for w.at < n {
		if !w.begun {
			if out.Full() {
				return false, nil
			}
			if w.at == w.fetched {
				w.fetch()
			}
			w.start()
		}
		if w.refs[w.at] != 0 {
			var ready bool
			switch w.kind {
			case joins:
				ready, err = w.join(out)
			case semiLeft:
				ready, err = w.count()
			default:
				ready, err = w.announce(out)
			}
			if err != nil || !ready {
				return false, err
			}
		}
		w.finish(out)
		w.at++
		w.begun = false
	}
	return true, nil
}

// start begins a row: all that happens to the state of its own side before the other side is looked at.
func (w *work) start() {
	i := w.at
	w.begun = true
	w.role = w.roleOf(i)
	w.accumulate = w.kinds[i].IsAccumulate()
	w.quiet = w.suppress != nil && w.suppress[i]
	w.input = changelog.Payload{Bytes: w.rows.Row(i)}
	w.matches = 0
	ref := w.refs[i]
	if ref == 0 {
		return
	}
	w.walk.start(w.other.handle(w.o.table, ref))
	switch {
	case w.kind == semiLeft:
	case w.accumulate && (w.kind == semiRight || !w.inputOuter):
		w.add(0)
	case !w.accumulate && !w.quiet:
		w.retract()
	}
}

func (w *work) add(n int) {
	id, hash := w.identity(w.at)
	ref := w.refs[w.at]
	w.own.add(w.own.handle(w.o.table, ref), ref, w.input.Bytes, id, hash, int32(n))
}

func (w *work) retract() {
	id, hash := w.identity(w.at)
	ref := w.refs[w.at]
	handle := w.own.handle(w.o.table, ref)
	w.own.retract(handle, ref, id, hash)
	if getUint64(handle) == 0 && handleRef(w.other.handle(w.o.table, ref)) == 0 {
		putUint64(handle, queued)
		w.empty = append(w.empty, ref)
	}
}

// finish ends a row: what depends on whether there was a match at all.
func (w *work) finish(out *changelog.Builder) {
	stored := w.refs[w.at] != 0
	if w.kind == semiLeft {
		if (w.matches > 0) != (w.o.spec.JoinType == spec.AntiJoin) {
			out.Append(w.kinds[w.at], w.input.Bytes, w.source())
		}
		switch {
		case !stored:
		case w.accumulate:
			w.add(w.matches)
		default:
			w.retract()
		}
		return
	}
	if w.kind == semiRight || !w.inputOuter {
		return
	}
	if w.matches == 0 {
		kind := changelog.Insert
		if !w.accumulate {
			kind = changelog.Delete
		}
		w.pair(kind, &w.input, &w.other.null, out)
	}
	if w.accumulate && stored {
		w.add(w.matches)
	}
}

// join emits the row with each record that it matches (StreamingJoinOperator.processElement).
func (w *work) join(out *changelog.Builder) (done bool, err error) {
	for {
		if w.times == 0 {
			if more, err := w.nextMatch(); err != nil || !more {
				return err == nil, err
			}
		}
		kind := w.kinds[w.at]
		if w.inputOuter || w.otherOuter && w.accumulate {
			kind = changelog.Delete
			if w.accumulate {
				kind = changelog.Insert
			}
		}
		w.matches += w.times
		for w.times > 0 {
			w.times--
			if w.otherOuter && w.accumulate && w.n == 0 && !w.quiet {
				w.pair(changelog.Delete, &w.own.null, &w.record, out)
			}
			w.pair(kind, &w.input, &w.record, out)
			if w.otherOuter && !w.accumulate && w.n == 1 && !w.quiet {
				w.pair(changelog.Insert, &w.own.null, &w.record, out)
			}
			if out.Full() {
				w.matches -= w.times
				if w.times == 0 {
					w.associate()
				}
				return false, nil
			}
		}
		w.associate()
	}
}

// associate writes what the present record's number of associations is now. Flink writes it for each of equal rows, the
// same number each time.
func (w *work) associate() {
	if !w.otherOuter {
		return
	}
	if w.accumulate {
		w.other.associate(w.header, w.n+1)
	} else {
		w.other.associate(w.header, w.n-1)
	}
}

// count counts the matches of a left row.
func (w *work) count() (done bool, err error) {
	for {
		more, err := w.nextMatch()
		if err != nil || !more {
			return err == nil, err
		}
		w.matches += w.times
		w.times = 0
		if !w.accumulate && w.o.condition == nil {
			return true, nil // all that matters is that there is one
		}
	}
}

// announce emits the left rows that a right row gives their first match, or takes the last away from.
func (w *work) announce(out *changelog.Builder) (done bool, err error) {
	kind, turning := w.kinds[w.at], int32(0)
	if !w.accumulate {
		turning = 1
	}
	if w.o.spec.JoinType == spec.AntiJoin {
		kind = changelog.Delete
		if !w.accumulate {
			kind = changelog.Insert
		}
	}
	for {
		if w.times == 0 {
			if more, err := w.nextMatch(); err != nil || !more {
				return err == nil, err
			}
		}
		if w.n != turning {
			w.times = 0
		}
		for w.times > 0 {
			w.times--
			out.Append(kind, w.record.Bytes, w.source())
			if out.Full() {
				if w.times == 0 {
					w.associate()
				}
				return false, nil
			}
		}
		w.associate()
	}
}

// nextMatch makes the next record that matches the present one.
func (w *work) nextMatch() (more bool, err error) {
	s := w.other
	for {
		r := s.step(&w.walk)
		if r == 0 {
			return false, nil
		}
		if w.o.condition != nil {
			matches, err := w.pairs.next(w)
			if err != nil {
				return false, err
			}
			if !matches {
				continue
			}
		}
		w.header = s.header(r)
		w.record = changelog.Payload{Bytes: s.row(r)}
		w.times = s.times(w.header)
		if s.outer {
			w.n = s.associations(w.header)
		}
		return true, nil
	}
}

func (w *work) source() int {
	if w.bundled {
		return changelog.NoSource
	}
	return w.at
}

// pair emits two rows, the first of which is of the work's own side.
func (w *work) pair(kind changelog.RowKind, own, other *changelog.Payload, out *changelog.Builder) {
	if w.own.number == 0 {
		out.AppendJoined(kind, own, other, w.source())
	} else {
		out.AppendJoined(kind, other, own, w.source())
	}
}
