// Package native opens operators by their specification.
package native

import (
	"errors"
	"strings"

	"drey/native/agg"
	"drey/native/dedup"
	"drey/native/join"
	"drey/native/logical"
	"drey/native/op"
	"drey/native/spec"
	"drey/native/topn"
	"drey/rowstate"
)

// Open makes the operator that a specification in canonical JSON asks for, for a subtask that owns some key groups, with
// the memory of a budget and what the host offers. The error is op.ErrUnsupported if the host should rather run its own operator, op.ErrInvalid if
// the specification is wrong, and then names all that is wrong with it.
func Open(text []byte, inputs []logical.Row, groups op.KeyGroups, budget *rowstate.Budget, host op.Host) (op.Operator, error) {
	if groups.Max <= 0 || groups.First < 0 || groups.Last < groups.First || groups.Last >= groups.Max {
		return nil, op.Invalidf("key groups %d to %d of %d", groups.First, groups.Last, groups.Max)
	}
	s, err := spec.Decode(text)
	switch {
	case errors.Is(err, spec.ErrUnknown):
		return nil, op.Unsupportedf("%w", err)
	case err != nil:
		return nil, op.Invalidf("%w", err)
	}
	if problems := s.Validate(inputs); len(problems) > 0 {
		return nil, op.Invalidf("%s: %s", s.Operator(), strings.Join(problems, "; "))
	}
	switch s := s.(type) {
	case *spec.Deduplicate:
		return dedup.New(s, inputs[0], groups, budget)
	case *spec.GlobalGroupAggregate:
		return agg.NewGlobal(s, inputs[0], groups, budget)
	case *spec.GroupAggregate:
		return agg.New(s, inputs[0], groups, budget)
	case *spec.IncrementalGroupAggregate:
		return agg.NewIncremental(s, inputs[0], groups, budget)
	case *spec.Join:
		return join.New(s, inputs, groups, budget, host)
	case *spec.LocalGroupAggregate:
		return agg.NewLocal(s, inputs[0], groups, budget)
	case *spec.Rank:
		return topn.New(s, inputs[0], groups, budget)
	}
	return nil, op.Unsupportedf("operator %q", s.Operator())
}
