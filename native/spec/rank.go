package spec

import (
	"fmt"

	"drey/native/logical"
)

// Rank specifies what StreamExecRank and StreamExecSortLimit translate to.
type Rank struct {
	GenerateUpdateBefore bool         `json:"generateUpdateBefore"`
	Name                 string       `json:"operator"`
	OrderBy              SortSpec     `json:"orderBy"`
	OrderByProctime      bool         `json:"orderByProctime"` // the one field of orderBy is a proctime attribute
	OutputRowNumber      bool         `json:"outputRowNumber"`
	Partition            FieldsSpec   `json:"partition"`
	RankRange            RankRange    `json:"rankRange"`
	RankStrategy         RankStrategy `json:"rankStrategy"`
	RankType             string       `json:"rankType"`
	StateTTLMillis       int64        `json:"stateTtlMillis"`
	Version              int          `json:"version"`
}

// SortSpec is the order of rows.
type SortSpec struct {
	Fields []SortField `json:"fields"`
}

// SortField is one field of an order.
type SortField struct {
	Index       int  `json:"index"`
	IsAscending bool `json:"isAscending"`
	NullIsLast  bool `json:"nullIsLast"`
}

// FieldsSpec lists columns.
type FieldsSpec struct {
	Fields []int `json:"fields"`
}

// RankRange says which ranks go out: from Start to End, both included and counted from 1, or up to what column EndIndex of
// a partition's first row says.
type RankRange struct {
	End      *int64 `json:"end,omitempty"`
	EndIndex *int   `json:"endIndex,omitempty"`
	Start    *int64 `json:"start,omitempty"`
	Type     string `json:"type"` // Constant, Variable
}

// RankStrategy is RankProcessStrategy.
type RankStrategy struct {
	PrimaryKeys []int  `json:"primaryKeys,omitempty"` // of UpdateFast
	Type        string `json:"type"`                  // AppendFast, UpdateFast, Retract
}

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
	for i, c := range r.Partition.Fields {
		column(fmt.Sprintf("partition.fields[%d]", i), c)
	}
	for i, f := range r.OrderBy.Fields {
		column(fmt.Sprintf("orderBy.fields[%d].index", i), f.Index)
	}
	if r.OrderByProctime && len(r.OrderBy.Fields) != 1 {
		bad("orderByProctime: needs one field in orderBy, there are %d", len(r.OrderBy.Fields))
	}
	if r.RankType != "ROW_NUMBER" {
		bad("rankType: %q, streams have ROW_NUMBER only", r.RankType)
	}
	if r.StateTTLMillis < 0 {
		bad("stateTtlMillis: %d is negative", r.StateTTLMillis)
	}
	switch g := r.RankRange; g.Type {
	case "Constant":
		if g.Start == nil || g.End == nil || g.EndIndex != nil {
			bad("rankRange: Constant needs start and end, nothing else")
		} else if *g.Start < 1 || *g.End < *g.Start {
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
	switch s := r.RankStrategy; s.Type {
	case "AppendFast", "Retract":
		if s.PrimaryKeys != nil {
			bad("rankStrategy.primaryKeys: %s has none", s.Type)
		}
	case "UpdateFast":
		for i, c := range s.PrimaryKeys {
			column(fmt.Sprintf("rankStrategy.primaryKeys[%d]", i), c)
		}
	default:
		bad("rankStrategy.type: %q", s.Type)
	}
	return problems
}
