package main

import (
	"drey/native"
	"drey/native/logical"
	"drey/native/op"
	"drey/rowstate"
)

func openOperator(a openArguments) (op.Operator, error) {
	if string(a.spec) == echoSpec {
		return new(echo), nil
	}
	rows := make([]logical.Row, len(a.inputs))
	for i, s := range a.inputs {
		rows[i] = s.row
	}
	return native.Open(a.spec, rows, a.groups, rowstate.NewBudget(a.memoryBudget))
}
