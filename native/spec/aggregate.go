package spec

import (
	"fmt"

	"drey/native/logical"
)

// The aggregate functions, by their SQL names. COUNT without arguments counts rows.
const (
	Avg         = "AVG"
	Count       = "COUNT"
	FirstValue  = "FIRST_VALUE"
	LastValue   = "LAST_VALUE"
	ListAgg     = "LISTAGG"
	Max         = "MAX"
	Min         = "MIN"
	SingleValue = "SINGLE_VALUE"
	Sum         = "SUM"
	Sum0        = "$SUM0"
)

// AggregateCall is one call of an aggregate function.
type AggregateCall struct {
	ArgList   []int  `json:"argList"`
	Distinct  bool   `json:"distinct"`
	FilterArg int    `json:"filterArg"` // column of the FILTER condition, or -1
	Function  string `json:"function"`
	Type      string `json:"type"` // of the call's result
}

// Bundle says when a mini-batch is full.
type Bundle struct {
	Size int64 `json:"size"`
}

// GroupAggregate specifies what StreamExecGroupAggregate translates to. AggCalls has the COUNT(*) that Flink inserts where
// the input has retractions and the query has no COUNT(*) of its own; CountStarInserted tells, and such a call is the last.
// IndexOfCountStar counts calls, not accumulator fields; it is given if, and only if, NeedRetraction is true.
type GroupAggregate struct {
	AggCallNeedRetractions []bool          `json:"aggCallNeedRetractions"` // as many as AggCalls
	AggCalls               []AggregateCall `json:"aggCalls"`
	CountStarInserted      bool            `json:"countStarInserted"`
	GenerateUpdateBefore   bool            `json:"generateUpdateBefore"`
	Grouping               []int           `json:"grouping"`
	IndexOfCountStar       *int            `json:"indexOfCountStar,omitempty"`
	MiniBatch              *Bundle         `json:"miniBatch,omitempty"` // absent: off
	NeedRetraction         bool            `json:"needRetraction"`
	Name                   string          `json:"operator"`
	StateTTLMillis         int64           `json:"stateTtlMillis"`
	Version                int             `json:"version"`
}

// LocalGroupAggregate specifies what StreamExecLocalGroupAggregate translates to. It emits, per key of a bundle, the
// grouping columns and the accumulators' fields.
type LocalGroupAggregate struct {
	AggCallNeedRetractions []bool          `json:"aggCallNeedRetractions"`
	AggCalls               []AggregateCall `json:"aggCalls"`
	CountStarInserted      bool            `json:"countStarInserted"`
	Grouping               []int           `json:"grouping"`
	IndexOfCountStar       *int            `json:"indexOfCountStar,omitempty"`
	MiniBatch              Bundle          `json:"miniBatch"`
	NeedRetraction         bool            `json:"needRetraction"`
	Name                   string          `json:"operator"`
	Version                int             `json:"version"`
}

// GlobalGroupAggregate specifies what StreamExecGlobalGroupAggregate translates to. Its input is what the local aggregate
// emits, but its calls are those of the local aggregate, whose columns are those of LocalAggInputRowType.
type GlobalGroupAggregate struct {
	AggCallNeedRetractions []bool          `json:"aggCallNeedRetractions"`
	AggCalls               []AggregateCall `json:"aggCalls"`
	CountStarInserted      bool            `json:"countStarInserted"`
	GenerateUpdateBefore   bool            `json:"generateUpdateBefore"`
	Grouping               []int           `json:"grouping"`
	IndexOfCountStar       *int            `json:"indexOfCountStar,omitempty"`
	LocalAggInputRowType   string          `json:"localAggInputRowType"` // ROW<...>, maybe NOT NULL
	MiniBatch              Bundle          `json:"miniBatch"`
	NeedRetraction         bool            `json:"needRetraction"`
	Name                   string          `json:"operator"`
	StateTTLMillis         int64           `json:"stateTtlMillis"`
	Version                int             `json:"version"`
}

// IncrementalGroupAggregate specifies what StreamExecIncrementalGroupAggregate translates to: between the local aggregate
// by PartialAggGrouping and the global aggregate by the columns FinalAggGrouping of that. All its fields are the partial
// aggregate's.
type IncrementalGroupAggregate struct {
	CountStarInserted             bool            `json:"countStarInserted"`
	FinalAggGrouping              []int           `json:"finalAggGrouping"`
	IndexOfCountStar              *int            `json:"indexOfCountStar,omitempty"`
	MiniBatch                     Bundle          `json:"miniBatch"`
	Name                          string          `json:"operator"`
	PartialAggCallNeedRetractions []bool          `json:"partialAggCallNeedRetractions"`
	PartialAggGrouping            []int           `json:"partialAggGrouping"`
	PartialAggNeedRetraction      bool            `json:"partialAggNeedRetraction"`
	PartialLocalAggInputRowType   string          `json:"partialLocalAggInputRowType"`
	PartialOriginalAggCalls       []AggregateCall `json:"partialOriginalAggCalls"`
	StateTTLMillis                int64           `json:"stateTtlMillis"`
	Version                       int             `json:"version"`
}

// Operator is "groupAggregate".
func (g *GroupAggregate) Operator() string { return g.Name }

// Operator is "localGroupAggregate".
func (g *LocalGroupAggregate) Operator() string { return g.Name }

// Operator is "globalGroupAggregate".
func (g *GlobalGroupAggregate) Operator() string { return g.Name }

// Operator is "incrementalGroupAggregate".
func (g *IncrementalGroupAggregate) Operator() string { return g.Name }

// Validate holds the specification against its input.
func (g *GroupAggregate) Validate(inputs []logical.Row) []string {
	c := aggregateCheck{}
	if !c.one(inputs) {
		return c.problems
	}
	c.columns("grouping", g.Grouping, inputs[0].Len())
	c.calls("", g.AggCalls, g.AggCallNeedRetractions, inputs[0].Len())
	c.countStar(g.AggCalls, g.NeedRetraction, g.IndexOfCountStar, g.CountStarInserted)
	if g.MiniBatch != nil {
		c.bundle(*g.MiniBatch)
	}
	c.ttl(g.StateTTLMillis)
	return c.problems
}

// Validate holds the specification against its input.
func (g *LocalGroupAggregate) Validate(inputs []logical.Row) []string {
	c := aggregateCheck{}
	if !c.one(inputs) {
		return c.problems
	}
	c.columns("grouping", g.Grouping, inputs[0].Len())
	c.calls("", g.AggCalls, g.AggCallNeedRetractions, inputs[0].Len())
	c.countStar(g.AggCalls, g.NeedRetraction, g.IndexOfCountStar, g.CountStarInserted)
	c.bundle(g.MiniBatch)
	return c.problems
}

// Validate holds the specification against its input.
func (g *GlobalGroupAggregate) Validate(inputs []logical.Row) []string {
	c := aggregateCheck{}
	if !c.one(inputs) {
		return c.problems
	}
	c.columns("grouping", g.Grouping, inputs[0].Len())
	if row, ok := c.row("localAggInputRowType", g.LocalAggInputRowType); ok {
		c.calls("", g.AggCalls, g.AggCallNeedRetractions, row.Len())
	}
	c.countStar(g.AggCalls, g.NeedRetraction, g.IndexOfCountStar, g.CountStarInserted)
	c.bundle(g.MiniBatch)
	c.ttl(g.StateTTLMillis)
	return c.problems
}

// Validate holds the specification against its input.
func (g *IncrementalGroupAggregate) Validate(inputs []logical.Row) []string {
	c := aggregateCheck{}
	if !c.one(inputs) {
		return c.problems
	}
	c.columns("partialAggGrouping", g.PartialAggGrouping, inputs[0].Len())
	c.columns("finalAggGrouping", g.FinalAggGrouping, len(g.PartialAggGrouping))
	if row, ok := c.row("partialLocalAggInputRowType", g.PartialLocalAggInputRowType); ok {
		c.calls("partial", g.PartialOriginalAggCalls, g.PartialAggCallNeedRetractions, row.Len())
	}
	c.countStar(g.PartialOriginalAggCalls, g.PartialAggNeedRetraction, g.IndexOfCountStar, g.CountStarInserted)
	c.bundle(g.MiniBatch)
	c.ttl(g.StateTTLMillis)
	return c.problems
}

// ParseRow reads a row type in its serializable form.
func ParseRow(text string) (logical.Row, error) {
	t, err := logical.Parse(text)
	if err != nil {
		return logical.Row{}, err
	}
	if t.Kind != logical.RowKind {
		return logical.Row{}, fmt.Errorf("%s is no row type", t)
	}
	return logical.Row{Fields: t.Fields}, nil
}

// aggregateCheck collects what is wrong.
type aggregateCheck struct{ problems []string }

func (c *aggregateCheck) bad(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

func (c *aggregateCheck) one(inputs []logical.Row) bool {
	if len(inputs) != 1 {
		c.bad("inputs: needs 1, got %d", len(inputs))
	}
	return len(inputs) == 1
}

func (c *aggregateCheck) columns(what string, columns []int, n int) {
	for i, column := range columns {
		if column < 0 || column >= n {
			c.bad("%s[%d]: column %d out of range [0,%d)", what, i, column, n)
		}
	}
}

func (c *aggregateCheck) row(what, text string) (logical.Row, bool) {
	row, err := ParseRow(text)
	if err != nil {
		c.bad("%s: %v", what, err)
	}
	return row, err == nil
}

func (c *aggregateCheck) calls(prefix string, calls []AggregateCall, retractions []bool, n int) {
	name, flags := "aggCalls", "aggCallNeedRetractions"
	if prefix != "" {
		name, flags = "partialOriginalAggCalls", "partialAggCallNeedRetractions"
	}
	if len(calls) != len(retractions) {
		c.bad("%s: %d flags for %d calls", flags, len(retractions), len(calls))
	}
	for i, call := range calls {
		at := fmt.Sprintf("%s[%d]", name, i)
		c.columns(at+".argList", call.ArgList, n)
		if call.FilterArg < -1 || call.FilterArg >= n {
			c.bad("%s.filterArg: column %d out of range [0,%d)", at, call.FilterArg, n)
		}
		least, most := 1, 1
		switch call.Function {
		case Count:
			least = 0
		case ListAgg:
			most = 2
		case Avg, FirstValue, LastValue, Max, Min, SingleValue, Sum, Sum0:
		default:
			c.bad("%s.function: %q", at, call.Function)
			continue
		}
		if args := len(call.ArgList); args < least || args > most {
			c.bad("%s.argList: %s with %d arguments", at, call.Function, args)
		}
		if _, err := logical.Parse(call.Type); err != nil {
			c.bad("%s.type: %v", at, err)
		}
	}
}

func (c *aggregateCheck) countStar(calls []AggregateCall, needRetraction bool, index *int, inserted bool) {
	switch {
	case needRetraction && index == nil:
		c.bad("indexOfCountStar: missing, but there are retractions")
	case !needRetraction && index != nil:
		c.bad("indexOfCountStar: given, but there are no retractions")
	case index == nil:
		if inserted {
			c.bad("countStarInserted: needs indexOfCountStar")
		}
	case *index < 0 || *index >= len(calls):
		c.bad("indexOfCountStar: %d out of range [0,%d)", *index, len(calls))
	default:
		// The final level of a split aggregate sums the counts of the first.
		call := calls[*index]
		sumOfCounts := call.Function == Sum0 && call.Type == "BIGINT NOT NULL" && !inserted
		if !sumOfCounts && (call.Function != Count || len(call.ArgList) > 0) || call.FilterArg >= 0 || call.Distinct {
			c.bad("indexOfCountStar: aggCalls[%d] is no COUNT(*)", *index)
		}
		if inserted && *index != len(calls)-1 {
			c.bad("countStarInserted: aggCalls[%d] is not the last", *index)
		}
	}
}

func (c *aggregateCheck) bundle(b Bundle) {
	if b.Size <= 0 {
		c.bad("miniBatch.size: %d, must be greater than 0", b.Size)
	}
}

func (c *aggregateCheck) ttl(millis int64) {
	if millis < 0 {
		c.bad("stateTtlMillis: %d is negative", millis)
	}
}
