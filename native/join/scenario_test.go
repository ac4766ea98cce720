package join_test

import (
	"strings"
	"testing"

	"drey/native"
	"drey/native/optest"
)

func TestScenarios(t *testing.T) {
	optest.Run(t, "testdata/*.txt", native.Open, func(s *optest.Scenario) optest.Options {
		return optest.Options{Bundled: strings.Contains(string(s.Spec), "miniBatch")}
	})
}
