package topn_test

import (
	"testing"

	"drey/native"
	"drey/native/optest"
)

func TestScenarios(t *testing.T) {
	optest.Run(t, "testdata/*.txt", native.Open, func(*optest.Scenario) optest.Options { return optest.Options{} })
}
