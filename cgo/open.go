package main

import (
	"fmt"

	"drey/native/op"
)

func openOperator(a openArguments) (op.Operator, error) {
	if string(a.spec) == echoSpec {
		return new(echo), nil
	}
	return nil, fmt.Errorf("open: operator %s: %w", operatorName(a.spec), op.ErrUnsupported)
}
