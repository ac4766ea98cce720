package agg_test

import (
	"strings"
	"testing"

	"drey/native"
	"drey/native/optest"
	"drey/native/spec"
)

func TestScenarios(t *testing.T) {
	optest.Run(t, "testdata/*_*.txt", native.Open, func(s *optest.Scenario) optest.Options {
		decoded, err := spec.Decode(s.Spec)
		if err != nil {
			t.Fatal(err)
		}
		o := optest.Options{Bundled: strings.Contains(string(s.Spec), "miniBatch")}
		switch d := decoded.(type) {
		case *spec.GroupAggregate:
			o.Left = len(d.Grouping)
		case *spec.LocalGroupAggregate:
			o.Left = len(d.Grouping)
		case *spec.GlobalGroupAggregate:
			o.Left = len(d.Grouping)
		case *spec.IncrementalGroupAggregate:
			o.Left = len(d.FinalAggGrouping)
		}
		if strings.Contains(s.Name, "recorded_") {
			o.Seldom = 9 // a restart takes a millisecond or two, and these are long
		}
		if o.Left == 0 {
			o.Left = -1
		}
		return o
	})
}
