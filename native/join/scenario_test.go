package join_test

import (
	"strings"
	"testing"

	"drey/native"
	"drey/native/optest"
)

func TestScenarios(t *testing.T) {
	optest.Run(t, "testdata/*.txt", native.Open, func(s *optest.Scenario) optest.Options {
		return optest.Options{
			Bundled: strings.Contains(string(s.Spec), "miniBatch"),
			// Recorded matches have the order of Flink's heap backend.
			AnyOrder: strings.HasPrefix(s.Name, "recorded_") && !strings.Contains(s.Name, "_one_one"),
		}
	})
}
