package main

import (
	"drey/native"
	"drey/native/logical"
	"drey/native/op"
	"drey/rowstate"
)

// openOperator opens what the specification asks for: the echo, or an operator of package native.
func openOperator(a openArguments, budget *rowstate.Budget) (op.Operator, error) {
	if e := newEcho(a.spec, a.host.offer()); e != nil {
		return e, nil
	}
	inputs := make([]logical.Row, len(a.inputs))
	for i, input := range a.inputs {
		inputs[i] = input.row
	}
	return native.Open(a.spec, inputs, a.groups, budget, a.host.offer())
}
