package op

import "drey/rowstate"

// Host is what an operator may ask of whoever opened it. The zero Host offers nothing.
type Host struct {
	// Condition is the condition of a join as the host has compiled it; nil if it has none.
	Condition Condition
}

// Condition tells which pairs of rows belong together.
type Condition interface {
	// Evaluate sets matches[i] to whether the i-th rows of left and right match. The rows are BinaryRowData, borrowed for the
	// call, and as many on either side as there are matches. The way to the host costs about a microsecond: many pairs at
	// once are worth collecting. An error is the host's own failure and is to be returned as it is; the operator is not
	// called again then.
	Evaluate(left, right *rowstate.Rows, matches []bool) error
}
