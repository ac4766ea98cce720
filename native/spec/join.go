package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"drey/native/expr"
	"drey/native/logical"
)

// Join specifies what StreamExecJoin translates to.
type Join struct {
	Condition   *Condition     `json:"condition,omitempty"` // of a pair, beside its keys; absent: always true
	FilterNulls []bool         `json:"filterNulls"`         // per key column: false for IS NOT DISTINCT FROM
	JoinType    string         `json:"joinType"`
	Left        JoinSide       `json:"left"`
	MiniBatch   *JoinMiniBatch `json:"miniBatch,omitempty"` // absent: off
	Name        string         `json:"operator"`
	Right       JoinSide       `json:"right"`
	Version     int            `json:"version"`
}

// The types of a join, as Flink's FlinkJoinType names them.
const (
	InnerJoin = "INNER"
	LeftJoin  = "LEFT"
	RightJoin = "RIGHT"
	FullJoin  = "FULL"
	SemiJoin  = "SEMI"
	AntiJoin  = "ANTI"
)

// JoinSide is one input of a join.
type JoinSide struct {
	Keys           []int `json:"keys"`
	StateTTLMillis int64 `json:"stateTtlMillis"` // 0: state is kept forever
	// UniqueKey is the one that JoinUtil.analyzeJoinInput chooses: the smallest within the join key, or else the smallest;
	// absent if the input has none. It may be empty: there is one row at most.
	UniqueKey *[]int `json:"uniqueKey,omitempty"`
}

// KeysContainUniqueKey tells that a join key has one row at most (JoinKeyContainsUniqueKey).
func (s *JoinSide) KeysContainUniqueKey() bool {
	if s.UniqueKey == nil {
		return false
	}
	for _, c := range *s.UniqueKey {
		if !slices.Contains(s.Keys, c) {
			return false
		}
	}
	return true
}

// JoinMiniBatch says how a bundle is made: it ends with so many rows of both inputs (table.exec.mini-batch.size).
type JoinMiniBatch struct {
	Size int64 `json:"size"`
}

// Condition is an expression, or "host": the host evaluates it (op.Condition).
type Condition struct {
	Host bool
	Expr *expr.Expr
}

const hostCondition = `"host"`

// MarshalJSON writes the expression or "host".
func (c Condition) MarshalJSON() ([]byte, error) {
	if c.Host {
		return []byte(hostCondition), nil
	}
	return Encode(c.Expr), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Condition) UnmarshalJSON(text []byte) error {
	*c = Condition{}
	if bytes.Equal(text, []byte(hostCondition)) {
		c.Host = true
		return nil
	}
	c.Expr = new(expr.Expr)
	return json.Unmarshal(text, c.Expr)
}

// Operator is "join".
func (j *Join) Operator() string { return j.Name }

// LeftIsOuter tells that unmatched left rows go out padded with nulls.
func (j *Join) LeftIsOuter() bool { return j.JoinType == LeftJoin || j.JoinType == FullJoin }

// RightIsOuter tells that unmatched right rows go out padded with nulls.
func (j *Join) RightIsOuter() bool { return j.JoinType == RightJoin || j.JoinType == FullJoin }

// Validate holds the specification against its inputs.
func (j *Join) Validate(inputs []logical.Row) []string {
	var problems []string
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if len(inputs) != 2 {
		bad("inputs: needs 2, got %d", len(inputs))
		return problems
	}
	switch j.JoinType {
	case InnerJoin, LeftJoin, RightJoin, FullJoin:
	case SemiJoin, AntiJoin:
		if j.MiniBatch != nil {
			bad("miniBatch: not possible with %s", j.JoinType)
		}
	default:
		bad("joinType: %q", j.JoinType)
	}
	for i, side := range []*JoinSide{&j.Left, &j.Right} {
		name, n := [...]string{"left", "right"}[i], inputs[i].Len()
		if side.Keys == nil {
			bad("%s.keys: missing", name)
		}
		columns := func(what string, list []int) {
			for k, c := range list {
				if c < 0 || c >= n {
					bad("%s.%s[%d]: column %d out of range [0,%d)", name, what, k, c, n)
				}
			}
		}
		columns("keys", side.Keys)
		if side.UniqueKey != nil {
			if *side.UniqueKey == nil {
				bad("%s.uniqueKey: missing", name)
			}
			columns("uniqueKey", *side.UniqueKey)
		}
		if side.StateTTLMillis < 0 {
			bad("%s.stateTtlMillis: %d is negative", name, side.StateTTLMillis)
		}
	}
	if len(j.Right.Keys) != len(j.Left.Keys) {
		bad("right.keys: %d, but left.keys has %d", len(j.Right.Keys), len(j.Left.Keys))
	}
	if len(j.FilterNulls) != len(j.Left.Keys) {
		bad("filterNulls: %d, but left.keys has %d", len(j.FilterNulls), len(j.Left.Keys))
	}
	if j.MiniBatch != nil && j.MiniBatch.Size <= 0 {
		bad("miniBatch.size: %d, must be greater than 0", j.MiniBatch.Size)
	}
	if len(problems) == 0 {
		for i, l := range j.Left.Keys {
			a, b := inputs[0].Fields[l].Type, inputs[1].Fields[j.Right.Keys[i]].Type
			if keyForm(a) != keyForm(b) {
				bad("right.keys[%d]: column %d is %s, left column %d is %s", i, j.Right.Keys[i], b, l, a)
			}
		}
	}
	if j.Condition != nil && !j.Condition.Host {
		types := append(inputs[0].Types(), inputs[1].Types()...)
		if _, err := expr.Compile(j.Condition.Expr, types, inputs[0].Len()); err != nil {
			bad("condition: %v", err)
		}
	}
	return problems
}

// keyForm is what two types must share for equal values to have equal bytes in a key.
func keyForm(t logical.Type) [3]int {
	switch t.Kind {
	case logical.Char:
		return [3]int{int(logical.Varchar)}
	case logical.Binary:
		return [3]int{int(logical.Varbinary)}
	case logical.Decimal:
		return [3]int{int(t.Kind), t.Precision, t.Scale}
	case logical.Timestamp, logical.TimestampLTZ:
		if t.Precision > 3 {
			return [3]int{int(t.Kind), 1}
		}
	}
	return [3]int{int(t.Kind)}
}
