package agg

import (
	"fmt"

	"drey/native/binrow"
	"drey/native/logical"
	"drey/native/spec"
)

// opcode is what a call does with an argument that is not null.
type opcode uint8

const (
	opCountStar opcode = iota // counts rows, not values
	opCount
	opSumInt
	opSumFloat32
	opSumFloat64
	opSumDecimal  // of more than 38 digits: null, and begins anew
	opSum0Decimal // of more than 38 digits: null, and stays so
	opAvgInt
	opAvgFloat
	opAvgDecimal
	opMin
	opMax
	opMinRetract
	opMaxRetract
	opFirst
	opLast
	opFirstRetract
	opLastRetract
	opSingle
	opListAgg
	opListAggRetract
)

// call is one call of an aggregate function, made ready. Its fields are in a group's value; those that Flink emits as they
// are, as result or as accumulator, are columns of the row that the value begins with.
type call struct {
	op       opcode
	retracts bool // the retracting form: SUM counts what it has added
	result   bool // there is a result to derive when accumulators have changed
	filtered bool
	optional bool // arg may be null
	zero     bool // a sum begins with 0, not null
	partial  bool // accumulators are emitted, not the result
	crosses  bool // accumulators go to or come from another phase

	arg       cell // column of the argument
	delimiter cell // LISTAGG's second one, if it has two
	delimited bool
	filter    cell

	value cell  // SUM, AVG: the sum; MIN, MAX, FIRST_VALUE, LAST_VALUE, SINGLE_VALUE: the value
	count cell  // COUNT, retracting SUM, AVG, SINGLE_VALUE: a number of values; retracting MIN, MAX: Flink's mapSize
	wide  int32 // offset of a decimal sum; its null bit is the value's
	out   cell  // the result, if it is derived
	set   int32 // offset of the ordered set of a retracting MIN or MAX
	chain int32 // offset of the values' chain
	extra int32 // offset of a second chain: what LISTAGG could not retract
	scale int   // of a decimal argument
	upTo  int   // scale of the decimal average

	index       int // of the call in the specification
	textAt      int // among the plan's arguments, or -1
	delimiterAt int
}

// request is what a call is made of.
type request struct {
	calls      []spec.AggregateCall
	retract    []bool
	countStar  int  // call that counts rows, or -1
	inserted   bool // and it is not emitted
	needs      bool // there are retractions
	partial    bool // what is emitted are the accumulators, not the results
	maps       bool // and, behind them, the distinct values
	crosses    bool // accumulators come from or go to another phase
	columns    logical.Row
	stampedTTL bool
	epochs     bool
}

// types are the types of a call's result and accumulators, from those of its arguments.
func typesOf(c spec.AggregateCall, retract bool, columns []logical.Type) (result logical.Type, accumulators []logical.Type, err error) {
	bigint, str := logical.Type{Kind: logical.BigInt}, logical.Type{Kind: logical.Varchar, Length: logical.MaxLength}
	if c.Function == spec.Count {
		return bigint, []logical.Type{bigint}, nil
	}
	arg := columns[c.ArgList[0]]
	arg.NotNull = false
	numeric := false
	switch arg.Kind {
	case logical.TinyInt, logical.SmallInt, logical.Integer, logical.BigInt, logical.Float, logical.Double, logical.Decimal:
		numeric = true
	}
	sum := arg
	if arg.Kind == logical.Decimal {
		sum.Precision = 38
	}
	switch c.Function {
	case spec.Sum, spec.Sum0, spec.Avg:
		if !numeric {
			return result, nil, fmt.Errorf("%s of %s", c.Function, arg)
		}
	case spec.ListAgg:
		for _, a := range c.ArgList {
			if k := columns[a].Kind; k != logical.Char && k != logical.Varchar {
				return result, nil, fmt.Errorf("%s of %s", c.Function, columns[a])
			}
		}
		return str, []logical.Type{str, str}, nil
	default:
		p, err := physicalOf(arg)
		if err != nil {
			return result, nil, fmt.Errorf("%s of %w", c.Function, err)
		}
		if p.kind == kindBytes && arg.Kind != logical.Char && arg.Kind != logical.Varchar || arg.Kind == logical.IntervalDayTime || arg.Kind == logical.IntervalYearMonth {
			return result, nil, fmt.Errorf("%s of %s", c.Function, arg)
		}
	}
	switch c.Function {
	case spec.Sum:
		if retract {
			return sum, []logical.Type{sum, bigint}, nil
		}
		return sum, []logical.Type{sum}, nil
	case spec.Sum0:
		return sum, []logical.Type{sum}, nil
	case spec.Avg:
		result = arg
		switch arg.Kind {
		case logical.Decimal:
			result.Precision, result.Scale = 38, max(6, arg.Scale)
		case logical.Float, logical.Double:
			sum = logical.Type{Kind: logical.Double}
		default:
			sum = bigint
		}
		return result, []logical.Type{sum, bigint}, nil
	case spec.SingleValue:
		return arg, []logical.Type{arg, {Kind: logical.Integer}}, nil
	}
	return arg, []logical.Type{arg}, nil // MIN, MAX, FIRST_VALUE, LAST_VALUE
}

// newCall makes a call ready to read rows of a layout; its fields are placed later.
func newCall(i int, c spec.AggregateCall, retract bool, layout *binrow.Layout, columns []logical.Type) (*call, error) {
	k := &call{index: i, retracts: retract}
	if c.FilterArg >= 0 {
		if columns[c.FilterArg].Kind != logical.Boolean {
			return nil, fmt.Errorf("a filter of %s", columns[c.FilterArg])
		}
		k.filtered = true
		k.filter, _ = columnOf(layout, columns[c.FilterArg], c.FilterArg)
	}
	if len(c.ArgList) == 0 {
		k.op = opCountStar
		return k, nil
	}
	t := columns[c.ArgList[0]]
	k.optional = !t.NotNull
	var err error
	if k.arg, err = columnOf(layout, t, c.ArgList[0]); err != nil {
		if c.Function != spec.Count {
			return nil, err
		}
		err = nil // COUNT looks at the null bit alone
	}
	if len(c.ArgList) > 1 {
		k.delimited = true
		k.delimiter, err = columnOf(layout, columns[c.ArgList[1]], c.ArgList[1])
	}
	k.scale, k.upTo = t.Scale, max(6, t.Scale)
	either := func(plain, retracting opcode) {
		if k.op = plain; retract {
			k.op = retracting
		}
	}
	numeric := func(whole, float32, float64, decimal opcode) {
		switch {
		case t.Kind == logical.Decimal:
			k.op = decimal
		case t.Kind == logical.Float:
			k.op = float32
		case t.Kind == logical.Double:
			k.op = float64
		default:
			k.op = whole
		}
	}
	switch c.Function {
	case spec.Count:
		k.op = opCount
	case spec.Sum:
		numeric(opSumInt, opSumFloat32, opSumFloat64, opSumDecimal)
	case spec.Sum0:
		k.retracts, k.zero = false, true
		numeric(opSumInt, opSumFloat32, opSumFloat64, opSum0Decimal)
	case spec.Avg:
		numeric(opAvgInt, opAvgFloat, opAvgFloat, opAvgDecimal)
	case spec.Min:
		either(opMin, opMinRetract)
	case spec.Max:
		either(opMax, opMaxRetract)
	case spec.FirstValue:
		either(opFirst, opFirstRetract)
	case spec.LastValue:
		either(opLast, opLastRetract)
	case spec.SingleValue:
		k.op = opSingle
	case spec.ListAgg:
		either(opListAgg, opListAggRetract)
	}
	return k, err
}
