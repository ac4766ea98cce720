package join

import "math/bits"

// pairs answers which pairs of a work match. It evaluates the condition for many of them at once, ahead of the work. Of a
// batch of one input all pairs are known from the start. In a batch of both inputs a row meets those of the other input that
// came before it: they are known ahead as long as they only add records. Behind a retraction, or an update of a unique key,
// the rows with its join key have to wait for it.
type pairs struct {
	left, right [][]byte // to be evaluated

	// The present row.
	row     int
	present []bool // its answers, as far as they are there
	used    int    // of them
	long    bool   // it has too many pairs to be evaluated at once
	walk    walk   // through the records of such a row
	piece   []bool // the memory of answers of such a row

	spans   []span // each row's answers
	answers []bool
	waiting int // rows that have answers, and are yet to come

	// Of a batch of both inputs: for each row, one more than the last row before it that may have its key, of the other input
	// and of its own.
	earlier  []int32
	previous []int32
	latest   []int32 // for each hash of a key, and either input, one more than the last row
	between  []int   // rows of the other input that come before a row is joined
}

// span is a row's answers, if there are any. Foreseen ones are about records that are not there yet.
type span struct {
	from     int32
	n        int32
	foreseen bool
}

const (
	// The most pairs, and bytes of pairs, that are evaluated at once: enough that a call up to the host is nothing beside them.
	pairsAtOnce = 1024
	pairBytes   = 1 << 20
	// mostAhead is the most rows of both inputs that are looked at again and again, each time the condition is evaluated.
	mostAhead = 512
	// mostBetween is the most rows before a row that is looked ahead at.
	mostBetween = 32
	// mostAnswers bounds the answers that wait.
	mostAnswers = 1 << 16
)

// begin starts over with the rows of a work.
func (p *pairs) begin(w *work) {
	n := len(w.refs)
	p.row, p.present, p.used, p.long = -1, nil, 0, false
	p.answers, p.waiting = p.answers[:0], 0
	if cap(p.spans) < n {
		p.spans = make([]span, n)
	}
	p.spans = p.spans[:n]
	clear(p.spans)
	if w.inputs != nil {
		p.findEarlier(w)
	}
}

// findEarlier fills earlier and previous.
func (p *pairs) findEarlier(w *work) {
	n := len(w.refs)
	shift := 32 - bits.Len32(uint32(4*n))
	if size := 2 << (32 - shift); len(p.latest) < size {
		p.latest = make([]int32, size)
	}
	clear(p.latest[:2<<(32-shift)])
	if cap(p.earlier) < n {
		p.earlier, p.previous = make([]int32, n), make([]int32, n)
	}
	p.earlier, p.previous = p.earlier[:n], p.previous[:n]
	for i, ref := range w.refs {
		if ref == 0 {
			continue
		}
		latest := p.latest[2*(uint32(ref)*0x9E3779B1>>shift):][:2]
		input := w.inputs[i]
		p.earlier[i], p.previous[i] = latest[1-input], latest[input]
		latest[input] = int32(i) + 1
	}
}

// next is the answer for the next pair of the row at work.
func (p *pairs) next(w *work) (bool, error) {
	if p.row != w.at {
		if err := p.enter(w); err != nil {
			return false, err
		}
	}
	if p.used == len(p.present) {
		if err := p.more(w); err != nil {
			return false, err
		}
	}
	p.used++
	return p.present[p.used-1], nil
}

// enter makes the row at work the present one, which has pairs.
func (p *pairs) enter(w *work) error {
	p.row, p.used, p.long = w.at, 0, false
	handle := w.other.handle(w.o.table, w.refs[w.at])
	if s := p.spans[w.at]; s.n > 0 {
		p.waiting--
		if !s.foreseen || handleLen(handle) == int(s.n) {
			p.present = p.answers[s.from : s.from+s.n]
			return nil
		}
		p.spans[w.at] = span{} // equal rows have come, which are one record
	}
	if p.waiting == 0 {
		p.answers = p.answers[:0]
	}
	if handleLen(handle) > pairsAtOnce || len(p.answers) > mostAnswers {
		p.walk.start(handle)
		p.long, p.present = true, nil
		return nil
	}
	return p.lookAhead(w)
}

// more evaluates the next pairs of a row that has many.
func (p *pairs) more(w *work) error {
	if !p.long {
		panic("join: a row has more pairs than were evaluated")
	}
	p.clear()
	own := w.rows.Row(w.at)
	for bytes := 0; len(p.left) < pairsAtOnce && bytes < pairBytes; {
		r := w.other.step(&p.walk)
		if r == 0 {
			break
		}
		bytes += p.add(own, w.other.row(r), w.role)
	}
	p.used = 0
	if p.piece == nil {
		p.piece = make([]bool, pairsAtOnce)
	}
	p.present = p.piece[:len(p.left)]
	return w.o.condition.evaluate(p.left, p.right, p.present)
}

// lookAhead evaluates the pairs of the present row, and of as many of those behind it as are known.
func (p *pairs) lookAhead(w *work) error {
	p.clear()
	head, last := w.at, len(w.refs)
	if w.inputs != nil {
		last = min(last, head+mostAhead)
	}
	first := head // that may yet change what its side has
	if w.kind != semiLeft && !(w.accumulate && w.inputOuter) {
		first++ // start has done that
	}
	from, bytes := len(p.answers), 0
	for i := head; i < last; i++ {
		if w.refs[i] == 0 || p.spans[i].n > 0 {
			continue
		}
		if i >= w.fetched {
			w.fetch()
		}
		role := w.roleOf(i)
		handle := role.other.handle(w.o.table, w.refs[i])
		n := 0
		if handleRef(handle) != 0 {
			n = handleLen(handle)
		}
		if p.between = p.between[:0]; i > head && w.inputs != nil {
			if !p.foresee(w, role.other, first, i, n) {
				continue
			}
			n += len(p.between)
		}
		before := len(p.left)
		if before > 0 && (before+n > pairsAtOnce || bytes > pairBytes) {
			break
		}
		own := w.rows.Row(i)
		var walk walk
		walk.start(handle)
		for r := role.other.step(&walk); r != 0; r = role.other.step(&walk) {
			bytes += p.add(own, role.other.row(r), role)
		}
		for k := len(p.between) - 1; k >= 0; k-- {
			bytes += p.add(own, w.rows.Row(p.between[k]), role)
		}
		if n := len(p.left) - before; n > 0 {
			p.spans[i] = span{int32(from + before), int32(n), len(p.between) > 0}
			p.waiting++
		}
	}
	p.answers = append(p.answers, make([]bool, len(p.left))...)
	if err := w.o.condition.evaluate(p.left, p.right, p.answers[from:]); err != nil {
		return err
	}
	p.present = p.answers[from:][:p.spans[head].n]
	p.waiting--
	return nil
}

// foresee finds the rows from first on that will have added a record to the other side, which has n, before row i is joined,
// the last one first. It returns false if they may do anything else.
func (p *pairs) foresee(w *work, other *side, first, i, n int) bool {
	for k := int(p.earlier[i]) - 1; k >= first; k = int(p.previous[k]) - 1 {
		if w.refs[k] != w.refs[i] {
			continue // only the hash is equal
		}
		// A record that expires, or is written again, may change its place. Only a side without unique key is sure to keep what
		// it has; of others the first record is foreseen.
		if !w.kinds[k].IsAccumulate() || other.clock.TTL > 0 || len(p.between) == mostBetween ||
			other.shape != counted && n+len(p.between) > 0 {
			return false
		}
		p.between = append(p.between, k)
	}
	return true
}

func (p *pairs) clear() { p.left, p.right = p.left[:0], p.right[:0] }

// add adds a pair and gives its size.
func (p *pairs) add(own, other []byte, role *role) int {
	if role.own.number == 1 {
		own, other = other, own
	}
	p.left, p.right = append(p.left, own), append(p.right, other)
	return len(own) + len(other)
}
