package spec

import (
	"fmt"

	"drey/native/logical"
)

// Deduplicate specifies what StreamExecDeduplicate translates to.
type Deduplicate struct {
	GenerateInsert       bool       `json:"generateInsert"` // table.exec.deduplicate.insert-update-after-sensitive-enabled
	GenerateUpdateBefore bool       `json:"generateUpdateBefore"`
	IsRowtime            bool       `json:"isRowtime"`
	KeepLastRow          bool       `json:"keepLastRow"`
	MiniBatch            *MiniBatch `json:"miniBatch,omitempty"` // absent: off
	Name                 string     `json:"operator"`
	OutputInsertOnly     bool       `json:"outputInsertOnly"`
	RowtimeIndex         *int       `json:"rowtimeIndex,omitempty"` // the first rowtime attribute; absent for proctime
	StateTTLMillis       int64      `json:"stateTtlMillis"`         // 0: state is kept forever
	UniqueKeys           []int      `json:"uniqueKeys"`
	Version              int        `json:"version"`
}

// MiniBatch says how a bundle is made.
type MiniBatch struct {
	CompactChanges bool  `json:"compactChanges"`
	Size           int64 `json:"size"`
}

// Operator is "deduplicate".
func (d *Deduplicate) Operator() string { return d.Name }

// Validate holds the specification against its input and against the combinations that stock's translator refuses.
func (d *Deduplicate) Validate(inputs []logical.Row) []string {
	var problems []string
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }

	if len(inputs) != 1 {
		bad("inputs: needs 1, got %d", len(inputs))
		return problems
	}
	input := inputs[0]
	if d.UniqueKeys == nil {
		bad("uniqueKeys: missing")
	}
	for i, key := range d.UniqueKeys {
		if key < 0 || key >= input.Len() {
			bad("uniqueKeys[%d]: column %d out of range [0,%d)", i, key, input.Len())
		}
	}
	switch {
	case d.IsRowtime && d.RowtimeIndex == nil:
		bad("rowtimeIndex: missing, but isRowtime is true")
	case !d.IsRowtime && d.RowtimeIndex != nil:
		bad("rowtimeIndex: given, but isRowtime is false")
	case d.IsRowtime && (*d.RowtimeIndex < 0 || *d.RowtimeIndex >= input.Len()):
		bad("rowtimeIndex: column %d out of range [0,%d)", *d.RowtimeIndex, input.Len())
	case d.IsRowtime:
		t := input.Fields[*d.RowtimeIndex].Type
		if (t.Kind != logical.Timestamp && t.Kind != logical.TimestampLTZ) || t.Precision > 3 {
			bad("rowtimeIndex: column %d is %s, which is no rowtime attribute's type", *d.RowtimeIndex, t)
		}
	}
	if d.StateTTLMillis < 0 {
		bad("stateTtlMillis: %d is negative", d.StateTTLMillis)
	}
	if d.MiniBatch != nil && d.MiniBatch.Size <= 0 {
		bad("miniBatch.size: %d, must be greater than 0", d.MiniBatch.Size)
	}
	if d.OutputInsertOnly && d.KeepLastRow {
		bad("outputInsertOnly: needs keepLastRow to be false")
	}
	if d.OutputInsertOnly && d.MiniBatch != nil {
		bad("outputInsertOnly: not possible with miniBatch")
	}
	return problems
}
