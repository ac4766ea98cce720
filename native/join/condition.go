package join

import (
	"drey/native/expr"
	"drey/native/op"
	"drey/rowstate"
)

// condition is the residual predicate.
type condition interface {
	// evaluate sets matches, one for each pair of a left and a right row.
	evaluate(left, right [][]byte, matches []bool) error
}

// native evaluates by package expr.
type native struct {
	program *expr.Program
}

func (n *native) evaluate(left, right [][]byte, matches []bool) error {
	n.program.Evaluate(left, right, matches)
	return nil
}

// foreign asks the host.
type foreign struct {
	host        op.Condition
	left, right rowstate.Rows
}

func (f *foreign) evaluate(left, right [][]byte, matches []bool) error {
	f.left.Reset(0)
	f.right.Reset(0)
	for i := range left {
		f.left.Append(left[i])
		f.right.Append(right[i])
	}
	return f.host.Evaluate(&f.left, &f.right, matches)
}

// pairs is the pairs of a work that may match, evaluated a bounded number at a time. It goes through the rows and their
// records by itself, ahead of the work, in the same order.
type pairs struct {
	left, right [][]byte
	matches     []bool
	used        int // of matches

	row   int
	begun bool
	walk  walk
}

// The most pairs, and bytes of pairs, that are evaluated at once: enough that a call up to the host is nothing beside them.
const (
	pairsAtOnce = 1024
	pairBytes   = 1 << 20
)

func (p *pairs) reset() {
	*p = pairs{left: p.left[:0], right: p.right[:0], matches: p.matches[:0]}
}

// next is the answer for the next pair.
func (p *pairs) next(w *work) (bool, error) {
	if p.used == len(p.matches) {
		if err := p.gather(w); err != nil {
			return false, err
		}
	}
	p.used++
	return p.matches[p.used-1], nil
}

func (p *pairs) gather(w *work) error {
	p.left, p.right, p.used = p.left[:0], p.right[:0], 0
	bytes := 0
	for len(p.left) < pairsAtOnce && bytes < pairBytes && p.row < len(w.refs) {
		if !p.begun {
			if w.refs[p.row] == 0 {
				p.row++
				continue
			}
			if p.row >= w.fetched {
				w.fetch()
			}
			p.walk.start(w.other.handle(w.o.table, w.refs[p.row]))
			p.begun = true
		}
		r := w.other.step(&p.walk)
		if r == 0 {
			p.row++
			p.begun = false
			continue
		}
		own, other := w.rows.Row(p.row), w.other.row(r)
		bytes += len(own) + len(other)
		if w.own.number == 1 {
			own, other = other, own
		}
		p.left, p.right = append(p.left, own), append(p.right, other)
	}
	n := len(p.left)
	if cap(p.matches) < n {
		p.matches = make([]bool, max(n, pairsAtOnce))
	}
	p.matches = p.matches[:n]
	return w.o.condition.evaluate(p.left, p.right, p.matches)
}
