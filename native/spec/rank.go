package spec

import (
	"fmt"

	"drey/native/logical"
)

// Rank specifies what StreamExecRank, StreamExecSortLimit and StreamExecLimit translate to.
type Rank struct {
	Function             string      `json:"function"` // one of Flink's, see below
	GenerateUpdateBefore bool        `json:"generateUpdateBefore"`
	Name                 string      `json:"operator"`
	OrderBy              []SortField `json:"orderBy"`
	OutputRowNumber      bool        `json:"outputRowNumber"`
	Partition            []int       `json:"partition"`
	PrimaryKeys          []int       `json:"primaryKeys,omitempty"` // of UpdatableTopN
	RankRange            RankRange   `json:"rankRange"`
	StateTTLMillis       int64       `json:"stateTtlMillis"`
	Version              int         `json:"version"`
}

// The functions that Flink ranks with.
const (
	AppendOnlyFirstN = "AppendOnlyFirstN"
	FastTop1         = "FastTop1"
	AppendOnlyTopN   = "AppendOnlyTopN"
	UpdatableTopN    = "UpdatableTopN"
	RetractableTopN  = "RetractableTopN"
)

// SortField is one field of an order.
type SortField struct {
	Index       int  `json:"index"`
	IsAscending bool `json:"isAscending"`
	NullIsLast  bool `json:"nullIsLast"`
}

// RankRange says which ranks go out: from Start to End, both included and counted from 1, or up to what column EndIndex of
// a partition's first row says.
type RankRange struct {
	End      *int64 `json:"end,omitempty"`
	EndIndex *int   `json:"endIndex,omitempty"`
	Start    *int64 `json:"start,omitempty"`
	Type     string `json:"type"` // Constant, Variable
}

// IsTop1 tells whether rank 1 alone goes out.
func (r RankRange) IsTop1() bool { return r.Type == "Constant" && *r.Start == 1 && *r.End == 1 }

// Operator is "rank".
func (r *Rank) Operator() string { return r.Name }

// Validate holds the specification against its input.
func (r *Rank) Validate(inputs []logical.Row) []string {
	var problems []string
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if len(inputs) != 1 {
		bad("inputs: needs 1, got %d", len(inputs))
		return problems
	}
	n := inputs[0].Len()
	column := func(what string, c int) bool {
		if c < 0 || c >= n {
			bad("%s: column %d out of range [0,%d)", what, c, n)
			return false
		}
		return true
	}
	for i, c := range r.Partition {
		column(fmt.Sprintf("partition[%d]", i), c)
	}
	for i, f := range r.OrderBy {
		column(fmt.Sprintf("orderBy[%d].index", i), f.Index)
	}
	for i, c := range r.PrimaryKeys {
		column(fmt.Sprintf("primaryKeys[%d]", i), c)
	}
	if r.StateTTLMillis < 0 {
		bad("stateTtlMillis: %d is negative", r.StateTTLMillis)
	}
	constant := false
	switch g := r.RankRange; g.Type {
	case "Constant":
		if g.Start == nil || g.End == nil || g.EndIndex != nil {
			bad("rankRange: Constant needs start and end, nothing else")
		} else if constant = *g.Start >= 1 && *g.End >= *g.Start; !constant {
			bad("rankRange: from %d to %d", *g.Start, *g.End)
		}
	case "Variable":
		if g.EndIndex == nil || g.Start != nil || g.End != nil {
			bad("rankRange: Variable needs endIndex, nothing else")
		} else if column("rankRange.endIndex", *g.EndIndex) {
			switch t := inputs[0].Fields[*g.EndIndex].Type; t.Kind {
			case logical.BigInt, logical.Integer, logical.SmallInt:
			default:
				bad("rankRange.endIndex: column %d is %s, must be BIGINT, INT or SMALLINT", *g.EndIndex, t)
			}
		}
	default:
		bad("rankRange.type: %q", g.Type)
	}
	switch r.Function {
	case FastTop1:
		if !constant || !r.RankRange.IsTop1() {
			bad("rankRange: FastTop1 needs 1 to 1")
		}
	case AppendOnlyFirstN, AppendOnlyTopN, UpdatableTopN, RetractableTopN:
	default:
		bad("function: %q", r.Function)
	}
	if r.Function != UpdatableTopN && r.PrimaryKeys != nil {
		bad("primaryKeys: %s has none", r.Function)
	}
	return problems
}
