package join_test

import (
	"strings"
	"testing"

	"drey/native"
	"drey/native/optest"
)

func TestScenarios(t *testing.T) {
	optest.Run(t, "testdata/*.txt", native.Open, func(s *optest.Scenario) optest.Options {
		o := optest.Options{Bundled: strings.Contains(string(s.Spec), "miniBatch")}
		if strings.HasPrefix(s.Name, "recorded_") {
			// Recorded matches have the order of Flink's heap backend. There are many events: not each needs a restore.
			o.AnyOrder = !strings.Contains(s.Name, "_one_one")
			o.Seldom = 11
		}
		return o
	})
}
