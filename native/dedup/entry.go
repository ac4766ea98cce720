package dedup

import (
	"drey/native/logical"
	"drey/native/spec"
)

// entry is a key and its value as a snapshot has them.
type entry struct {
	key     []byte // given only if there is no row to take it from
	row     []byte
	emitted bool
	stamped bool
	stamp   int64
	order   uint64 // of the waiting row's timer
}

// identity is what the state of one specification must have in common with that of another to be of use to it.
type identity struct {
	Form       string   `json:"form"` // which variant's state it is
	Operator   string   `json:"operator"`
	Types      []string `json:"types"` // of the input
	UniqueKeys []int    `json:"uniqueKeys"`
}

func identify(s *spec.Deduplicate, types []logical.Type) []byte {
	id := identity{Form: "row", Operator: s.Name, UniqueKeys: s.UniqueKeys}
	switch {
	case !s.IsRowtime && !s.KeepLastRow:
		id.Form = "flag"
	case s.IsRowtime && s.OutputInsertOnly:
		id.Form = "waiting"
	}
	for _, t := range types {
		id.Types = append(id.Types, t.String())
	}
	return spec.Encode(id)
}
