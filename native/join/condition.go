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
