package expr_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"drey/native/expr"
	"drey/native/logical"
	"drey/native/optest"
)

// The columns of the tests: those of the left row, then those of the right one.
var columns = []struct{ name, typ string }{
	{"t", "TINYINT"}, {"s", "SMALLINT"}, {"i", "INT"}, {"l", "BIGINT"}, {"f", "FLOAT"}, {"d", "DOUBLE"}, {"b", "BOOLEAN"},
	{"p", "DECIMAL(10, 2)"}, {"q", "DECIMAL(38, 4)"},
	{"ts3", "TIMESTAMP(3)"}, {"ts9", "TIMESTAMP(9)"}, {"ltz", "TIMESTAMP(3) WITH LOCAL TIME ZONE"}, {"date", "DATE"}, {"time", "TIME(0)"},
	{"str", "STRING"}, {"bin", "BYTES"}, {"day", "INTERVAL DAY(2) TO SECOND(3)"}, {"month", "INTERVAL YEAR(2) TO MONTH"},
}

// leftColumns is how many of them the left row has.
const leftColumns = 9

type table struct {
	types       []logical.Type
	left, right *optest.Codec
}

func newTable(t testing.TB) *table {
	var tab table
	var rows [2]logical.Row
	for i, c := range columns {
		typ, err := logical.Parse(c.typ)
		if err != nil {
			t.Fatal(err)
		}
		tab.types = append(tab.types, typ)
		side := 0
		if i >= leftColumns {
			side = 1
		}
		rows[side].Fields = append(rows[side].Fields, logical.Field{Name: c.name, Type: typ})
	}
	for i, codec := range []**optest.Codec{&tab.left, &tab.right} {
		var err error
		if *codec, err = optest.NewCodec(rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	return &tab
}

// pair makes the two rows of which the given columns have values; all others are null.
func (tab *table) pair(t testing.TB, values map[string]string) (left, right []byte) {
	t.Helper()
	var texts [2][]string
	seen := 0
	for i, c := range columns {
		v, ok := values[c.name]
		if !ok {
			v = "NULL"
		} else {
			seen++
		}
		side := 0
		if i >= leftColumns {
			side = 1
		}
		texts[side] = append(texts[side], v)
	}
	if seen != len(values) {
		t.Fatalf("no column for one of %v", values)
	}
	_, left, err := tab.left.Parse("+I " + strings.Join(texts[0], " "))
	if err != nil {
		t.Fatal(err)
	}
	_, right, err = tab.right.Parse("+I " + strings.Join(texts[1], " "))
	if err != nil {
		t.Fatal(err)
	}
	return left, right
}

// col is a column, lit a literal, null a NULL, call anything else.
func col(name string) expr.Expr {
	for i, c := range columns {
		if c.name == name {
			return expr.Expr{Op: "REF", Index: &i, Type: c.typ}
		}
	}
	panic("no column " + name)
}

func lit(typ, text string) expr.Expr { return expr.Expr{Op: "LITERAL", Type: typ, Value: &text} }
func null(typ string) expr.Expr      { return expr.Expr{Op: "LITERAL", Type: typ} }

func call(op, typ string, args ...expr.Expr) expr.Expr {
	return expr.Expr{Op: op, Type: typ, Args: args}
}

func boolean(op string, args ...expr.Expr) expr.Expr { return call(op, "BOOLEAN", args...) }

// is tells whether a predicate is true, false or unknown.
func (tab *table) is(t testing.TB, e expr.Expr, values map[string]string) string {
	t.Helper()
	left, right := tab.pair(t, values)
	answer := func(e expr.Expr) bool {
		p, err := expr.Compile(&e, tab.types, leftColumns)
		if err != nil {
			t.Fatalf("%s: %v", text(e), err)
		}
		matches := make([]bool, 3)
		p.Evaluate([][]byte{left, left, left}, [][]byte{right, right, right}, matches)
		if matches[0] != matches[1] || matches[0] != matches[2] {
			t.Fatalf("%s: %v for equal pairs", text(e), matches)
		}
		return matches[0]
	}
	yes, no, unknown := answer(e), answer(boolean("NOT", e)), answer(boolean("IS NULL", e))
	switch {
	case yes && !no && !unknown:
		return "true"
	case no && !yes && !unknown:
		return "false"
	case unknown && !yes && !no:
		return "NULL"
	}
	t.Fatalf("%s: true %v, false %v, unknown %v", text(e), yes, no, unknown)
	return ""
}

func text(e expr.Expr) string {
	b, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// check is a predicate, values, and what it is by Java's and Flink's rules.
type check struct {
	e      expr.Expr
	values map[string]string
	want   string
}

type values = map[string]string

func run(t *testing.T, checks []check) {
	t.Helper()
	tab := newTable(t)
	for _, c := range checks {
		if got := tab.is(t, c.e, c.values); got != c.want {
			t.Errorf("%s of %v is %s, want %s", text(c.e), c.values, got, c.want)
		}
	}
}

func TestThreeValues(t *testing.T) {
	yes, no, unknown := lit("BOOLEAN", "true"), lit("BOOLEAN", "false"), null("BOOLEAN")
	of := map[string]expr.Expr{"true": yes, "false": no, "NULL": unknown}
	var checks []check
	for _, row := range []struct{ a, b, and, or string }{
		{"true", "true", "true", "true"}, {"true", "false", "false", "true"}, {"true", "NULL", "NULL", "true"},
		{"false", "true", "false", "true"}, {"false", "false", "false", "false"}, {"false", "NULL", "false", "NULL"},
		{"NULL", "true", "NULL", "true"}, {"NULL", "false", "false", "NULL"}, {"NULL", "NULL", "NULL", "NULL"},
	} {
		checks = append(checks, check{boolean("AND", of[row.a], of[row.b]), nil, row.and}, check{boolean("OR", of[row.a], of[row.b]), nil, row.or},
			check{boolean("AND", yes, of[row.a], of[row.b]), nil, row.and}, check{boolean("OR", of[row.a], no, of[row.b]), nil, row.or})
	}
	for _, row := range []struct{ a, not, isTrue, isNotTrue, isFalse, isNotFalse, isNull string }{
		{"true", "false", "true", "false", "false", "true", "false"},
		{"false", "true", "false", "true", "true", "false", "false"},
		{"NULL", "NULL", "false", "true", "false", "true", "true"},
	} {
		checks = append(checks, check{boolean("NOT", of[row.a]), nil, row.not}, check{boolean("IS TRUE", of[row.a]), nil, row.isTrue},
			check{boolean("IS NOT TRUE", of[row.a]), nil, row.isNotTrue}, check{boolean("IS FALSE", of[row.a]), nil, row.isFalse},
			check{boolean("IS NOT FALSE", of[row.a]), nil, row.isNotFalse}, check{boolean("IS NULL", of[row.a]), nil, row.isNull},
			check{boolean("NOT", boolean("IS NOT NULL", of[row.a])), nil, row.isNull})
	}
	run(t, checks)
}

// Less, equal and greater, of a column and a literal, for each type.
func TestComparisons(t *testing.T) {
	var checks []check
	for _, c := range []struct {
		column, typ          string
		value                string
		less, equal, greater string // literals that are less, equal, greater than the value
	}{
		{"t", "TINYINT", "-5", "-6", "-5", "5"},
		{"s", "SMALLINT", "-300", "-301", "-300", "0"},
		{"i", "INT", "70000", "-2147483648", "70000", "70001"},
		{"l", "BIGINT", "-5000000000", "-9223372036854775808", "-5000000000", "1"},
		{"i", "BIGINT", "7", "-5000000000", "7", "5000000000"},
		{"t", "INT", "7", "6", "7", "128"},
		{"f", "FLOAT", "1.5", "-1.5", "1.5", "1.5000001"},
		{"d", "DOUBLE", "0.1", "0.09999999999999999", "0.1", "0.10000000000000002"},
		{"i", "DOUBLE", "3", "2.9", "3.0", "3.1"},
		{"p", "DECIMAL(10, 2)", "-1.50", "-1.51", "-1.50", "0.00"},
		{"p", "DECIMAL(12, 4)", "1.50", "1.4999", "1.5000", "1.5001"},
		{"p", "INT", "3.00", "2", "3", "4"},
		{"q", "DECIMAL(38, 4)", "-9999999999999999999999999999999999.9999", "-9999999999999999999999999999999999.9999", "", "1.0000"},
		{"q", "DECIMAL(3, 1)", "1.5000", "1.4", "1.5", "1.6"},
		{"q", "BIGINT", "-2.0000", "-3", "-2", "2"},
		{"ts3", "TIMESTAMP(3)", "1000", "999 0", "1000 0", "1001 0"},
		{"ts3", "TIMESTAMP(9)", "1000", "999 999999", "1000 0", "1000 1"},
		{"ts9", "TIMESTAMP(9)", "-1000+500", "-1000 499", "-1000 500", "-999 0"},
		{"ltz", "TIMESTAMP(3) WITH LOCAL TIME ZONE", "5", "4 0", "5 0", "6 0"},
		{"date", "DATE", "-3", "-4", "-3", "0"},
		{"time", "TIME(0)", "3000", "2000", "3000", "86399000"},
		{"str", "STRING", `"abc"`, "abb", "abc", "abcd"},
		{"str", "CHAR(2)", `"é"`, "zz", "é", "日本"},
		{"str", "STRING", `""`, "", "", "a"},
		{"bin", "BYTES", "x'80ff'", "7fff", "80ff", "80ff00"},
		{"b", "BOOLEAN", "true", "false", "true", ""},
		{"day", "INTERVAL DAY(2) TO SECOND(3)", "86400000", "0", "86400000", "86400001"},
		{"month", "INTERVAL YEAR(2) TO MONTH", "12", "-12", "12", "13"},
	} {
		for order, literal := range []string{c.less, c.equal, c.greater} {
			if literal == "" && c.typ != "STRING" || c.value == `""` && order == 0 || order == 0 && strings.HasPrefix(c.value, "-9999") {
				continue
			}
			// The column is greater, equal, less than the literal.
			for op, want := range map[string][3]bool{
				"=": {false, true, false}, "<>": {true, false, true}, "<": {false, false, true}, "<=": {false, true, true},
				">": {true, false, false}, ">=": {true, true, false},
				"IS DISTINCT FROM": {true, false, true}, "IS NOT DISTINCT FROM": {false, true, false},
			} {
				checks = append(checks, check{boolean(op, col(c.column), lit(c.typ, literal)), values{c.column: c.value}, fmt.Sprint(want[order])})
			}
		}
		checks = append(checks,
			check{boolean("<", col(c.column), null(c.typ)), values{c.column: c.value}, "NULL"},
			check{boolean("=", col(c.column), col(c.column)), nil, "NULL"},
			check{boolean("IS DISTINCT FROM", col(c.column), null(c.typ)), values{c.column: c.value}, "true"},
			check{boolean("IS DISTINCT FROM", col(c.column), null(c.typ)), nil, "false"},
			check{boolean("IS NOT DISTINCT FROM", col(c.column), null(c.typ)), values{c.column: c.value}, "false"},
			check{boolean("IS NOT DISTINCT FROM", null(c.typ), col(c.column)), nil, "true"})
	}
	run(t, checks)
}

// Java compares floating-point numbers by <, > and ==: NaN is none of them, and the zeros are equal.
func TestFloats(t *testing.T) {
	zero := lit("DOUBLE", "0.0")
	run(t, []check{
		{boolean("=", col("d"), zero), values{"d": "-0"}, "true"},
		{boolean("=", col("d"), col("d")), values{"d": "NaN"}, "false"},
		{boolean("<>", col("d"), col("d")), values{"d": "NaN"}, "true"},
		{boolean("<", col("d"), zero), values{"d": "NaN"}, "false"},
		{boolean(">=", col("d"), zero), values{"d": "NaN"}, "false"},
		{boolean("IS DISTINCT FROM", col("d"), col("d")), values{"d": "NaN"}, "true"},
		{boolean(">", col("d"), zero), values{"d": "+Inf"}, "true"},
		// long and float meet as float, long and double as double
		{boolean("=", col("l"), lit("FLOAT", "1.6777216E7")), values{"l": "16777217"}, "true"},
		{boolean("=", col("l"), lit("DOUBLE", "1.6777216E7")), values{"l": "16777217"}, "false"},
		{boolean("=", col("f"), lit("DOUBLE", "0.1")), values{"f": "0.1"}, "false"},
		{boolean("=", call("+", "FLOAT", col("f"), lit("FLOAT", "1.0")), lit("FLOAT", "1.6777216E7")), values{"f": "16777216"}, "true"},
		{boolean("=", call("/", "DOUBLE", col("d"), lit("DOUBLE", "0.0")), col("d")), values{"d": "+Inf"}, "true"},
		{boolean("=", call("*", "DOUBLE", col("d"), lit("INT", "3")), lit("DOUBLE", "4.5")), values{"d": "1.5"}, "true"},
		{boolean("=", call("-", "DOUBLE", col("d")), lit("DOUBLE", "-1.5")), values{"d": "1.5"}, "true"},
	})
}

func TestArithmetic(t *testing.T) {
	eq := func(e expr.Expr, literal string) expr.Expr {
		return boolean("IS NOT DISTINCT FROM", e, lit(e.Type, literal))
	}
	run(t, []check{
		{eq(call("+", "INT", col("i"), lit("INT", "1")), "-2147483648"), values{"i": "2147483647"}, "true"},
		{eq(call("-", "TINYINT", col("t"), lit("TINYINT", "1")), "127"), values{"t": "-128"}, "true"},
		{eq(call("*", "BIGINT", col("l"), col("i")), "-2"), values{"l": "9223372036854775807", "i": "2"}, "true"},
		{eq(call("+", "BIGINT", col("i"), lit("INT", "1")), "2147483648"), values{"i": "2147483647"}, "true"},
		{eq(call("/", "INT", col("i"), lit("INT", "-2")), "3"), values{"i": "-7"}, "true"},
		{eq(call("/", "INT", col("i"), lit("INT", "-1")), "-2147483648"), values{"i": "-2147483648"}, "true"},
		{eq(call("%", "INT", col("i"), lit("INT", "3")), "-1"), values{"i": "-7"}, "true"},
		{eq(call("-", "SMALLINT", col("s")), "-32768"), values{"s": "-32768"}, "true"},
		{boolean("IS NULL", call("+", "INT", col("i"), lit("INT", "1"))), nil, "true"},
		{boolean("IS NULL", call("-", "INT", col("i"))), nil, "true"},
		{eq(call("+", "DECIMAL(13, 4)", col("p"), lit("DECIMAL(5, 4)", "0.0001")), "1.5001"), values{"p": "1.50"}, "true"},
		{eq(call("-", "DECIMAL(20, 2)", col("p"), lit("DECIMAL(10, 2)", "2.00")), "-0.50"), values{"p": "1.50"}, "true"},
		{eq(call("*", "DECIMAL(20, 4)", col("p"), col("p")), "2.2500"), values{"p": "-1.50"}, "true"},
		{boolean("IS NULL", call("*", "DECIMAL(20, 4)", col("p"), col("p"))), nil, "true"},
		{eq(call("+", "TIMESTAMP(3)", col("ts3"), lit("INTERVAL DAY(2) TO SECOND(3)", "10000")), "11000 0"), values{"ts3": "1000"}, "true"},
		{eq(call("-", "TIMESTAMP(9)", col("ts9"), lit("INTERVAL DAY(2) TO SECOND(3)", "1")), "999 7"), values{"ts9": "1000+7"}, "true"},
		{eq(call("-", "INTERVAL DAY(2) TO SECOND(3)", col("ts9"), col("ts3")), "-1000"), values{"ts9": "1000+999999", "ts3": "2000"}, "true"},
		{eq(call("+", "DATE", col("date"), lit("INTERVAL DAY(2) TO SECOND(3)", "172800000")), "12"), values{"date": "10"}, "true"},
		{eq(call("-", "DATE", col("date"), lit("INTERVAL DAY(2) TO SECOND(3)", "86399999")), "10"), values{"date": "10"}, "true"},
		{eq(call("+", "INTERVAL YEAR(2) TO MONTH", col("month"), lit("INTERVAL YEAR(2) TO MONTH", "1")), "13"), values{"month": "12"}, "true"},
		{boolean("IS NULL", call("+", "TIMESTAMP(3)", col("ts3"), lit("INTERVAL DAY(2) TO SECOND(3)", "10000"))), nil, "true"},
	})
}

func TestCasts(t *testing.T) {
	eq := func(e expr.Expr, typ, literal string) expr.Expr {
		return boolean("IS NOT DISTINCT FROM", call("CAST", typ, e), lit(typ, literal))
	}
	run(t, []check{
		{eq(col("l"), "INT", "705032704"), values{"l": "5000000000"}, "true"},
		{eq(col("i"), "TINYINT", "-56"), values{"i": "200"}, "true"},
		{eq(col("i"), "BIGINT", "-1"), values{"i": "-1"}, "true"},
		{eq(col("i"), "DOUBLE", "16777217.0"), values{"i": "16777217"}, "true"},
		{eq(col("i"), "FLOAT", "1.6777216E7"), values{"i": "16777217"}, "true"},
		{eq(col("d"), "FLOAT", "0.1"), values{"d": "0.1"}, "true"},
		{eq(col("d"), "INT", "2147483647"), values{"d": "1e10"}, "true"},
		{eq(col("d"), "INT", "-2147483648"), values{"d": "-Inf"}, "true"},
		{eq(col("d"), "INT", "-3"), values{"d": "-3.99"}, "true"},
		{eq(col("d"), "INT", "0"), values{"d": "NaN"}, "true"},
		{eq(col("d"), "BIGINT", "9223372036854775807"), values{"d": "1e300"}, "true"},
		{eq(col("d"), "TINYINT", "-1"), values{"d": "1e10"}, "true"}, // by way of int: (byte) 2147483647
		{eq(col("d"), "SMALLINT", "4464"), values{"d": "70000.9"}, "true"},
		{eq(col("i"), "DECIMAL(12, 2)", "7.00"), values{"i": "7"}, "true"},
		{eq(col("l"), "DECIMAL(38, 4)", "-9223372036854775808.0000"), values{"l": "-9223372036854775808"}, "true"},
		{eq(col("p"), "DECIMAL(38, 4)", "1.5000"), values{"p": "1.50"}, "true"},
		{eq(col("p"), "DECIMAL(12, 4)", "-1.5000"), values{"p": "-1.50"}, "true"},
		{eq(col("p"), "DOUBLE", "1.1"), values{"p": "1.10"}, "true"},
		{eq(col("ts3"), "TIMESTAMP(9)", "5 0"), values{"ts3": "5"}, "true"},
		{eq(col("p"), "INT", "-1"), values{"p": "-1.99"}, "true"},
		{eq(col("p"), "TINYINT", "44"), values{"p": "300.00"}, "true"},
		{eq(col("q"), "BIGINT", "-9223372036854775808"), values{"q": "9223372036854775808.9000"}, "true"},
		{eq(col("q"), "INT", "-1"), values{"q": "-1.9999"}, "true"},
		{eq(col("p"), "FLOAT", "1.1"), values{"p": "1.10"}, "true"},
		{eq(col("ts9"), "TIMESTAMP(3)", "1234 0"), values{"ts9": "1234+567891"}, "true"},
		{eq(col("ts9"), "TIMESTAMP(6)", "1234 567000"), values{"ts9": "1234+567891"}, "true"},
		{eq(col("ts9"), "TIMESTAMP(0)", "1000 0"), values{"ts9": "1234+567891"}, "true"},
		{eq(col("ts9"), "TIMESTAMP(0)", "-1000 0"), values{"ts9": "-1500+1"}, "true"},
		{eq(col("ts9"), "TIMESTAMP(3)", "1000 999"), values{"ts9": "1000+999"}, "true"}, // 999 has three digits
		{eq(col("ts9"), "TIMESTAMP(0)", "1000 7"), values{"ts9": "1000+7"}, "false"},
		{eq(col("ts9"), "TIMESTAMP(0)", "1000 0"), values{"ts9": "1000+0"}, "true"},
		// and is more than 1000 milliseconds
		{boolean(">", call("CAST", "TIMESTAMP(3)", col("ts9")), col("ts3")), values{"ts9": "1000+999", "ts3": "1000"}, "true"},
		{eq(col("ts9"), "DATE", "1"), values{"ts9": "172799999+0"}, "true"},
		{eq(col("ts9"), "DATE", "0"), values{"ts9": "-1+0"}, "true"},
		{eq(col("time"), "TIMESTAMP(3)", "3000 0"), values{"time": "3000"}, "true"},
		{eq(col("date"), "TIMESTAMP(3)", "-86400000 0"), values{"date": "-1"}, "true"},
		{boolean("=", call("CAST", "STRING", lit("CHAR(3)", "abc")), col("str")), values{"str": `"abc"`}, "true"},
		{boolean("IS NULL", call("CAST", "INT", col("d"))), nil, "true"},
	})
}

func TestCaseAndCoalesce(t *testing.T) {
	e := call("CASE", "INT", boolean(">", col("i"), lit("INT", "5")), lit("INT", "1"), col("b"), lit("INT", "2"), null("INT"))
	is := func(want string) expr.Expr { return boolean("IS NOT DISTINCT FROM", e, lit("INT", want)) }
	run(t, []check{
		{is("1"), values{"i": "6", "b": "true"}, "true"},
		{is("2"), values{"i": "5", "b": "true"}, "true"},
		{is("2"), values{"b": "true"}, "true"},
		{boolean("IS NULL", e), values{"i": "1", "b": "false"}, "true"},
		{boolean("IS NULL", e), nil, "true"},
		{boolean("=", call("COALESCE", "STRING", col("str"), lit("STRING", "none")), lit("STRING", "none")), nil, "true"},
		{boolean("=", call("COALESCE", "STRING", col("str"), lit("STRING", "none")), lit("STRING", "some")), values{"str": `"some"`}, "true"},
		{boolean("IS NULL", call("COALESCE", "DECIMAL(38, 4)", col("q"), null("DECIMAL(38, 4)"))), nil, "true"},
		{boolean("=", call("COALESCE", "DECIMAL(38, 4)", col("q"), lit("DECIMAL(38, 4)", "1.0000")), lit("INT", "1")), nil, "true"},
		{boolean("=", call("COALESCE", "TIMESTAMP(9)", col("ts9"), lit("TIMESTAMP(9)", "1 2")), lit("TIMESTAMP(9)", "1 2")), nil, "true"},
		{boolean("=", call("CASE", "DOUBLE", col("b"), col("d"), lit("DOUBLE", "2.0")), lit("DOUBLE", "2.0")), values{"b": "false", "d": "1"}, "true"},
	})
}

// What Flink has rules of its own for, or none, is not in the language.
func TestRefuses(t *testing.T) {
	tab := newTable(t)
	index := 99
	for _, e := range []expr.Expr{
		col("i"),
		boolean("LIKE", col("str"), lit("STRING", "a%")),
		boolean("=", col("i"), col("str")),
		boolean("=", col("ts3"), col("ltz")),
		boolean("=", col("date"), col("time")),
		boolean("=", col("d"), col("p")),
		boolean("=", col("str"), col("bin")),
		boolean("=", col("i"), col("b")),
		boolean("=", col("i")),
		boolean("AND", col("b")),
		boolean("AND", col("b"), col("i")),
		boolean("NOT", col("i")),
		boolean("IS TRUE", col("i")),
		boolean("=", call("/", "INT", col("i"), col("i")), lit("INT", "1")),
		boolean("=", call("/", "INT", col("i"), lit("INT", "0")), lit("INT", "1")),
		boolean("=", call("%", "INT", col("l"), lit("INT", "2")), lit("INT", "1")),
		boolean("=", call("%", "DOUBLE", col("d"), col("d")), lit("DOUBLE", "1.0")),
		boolean("=", call("+", "INT", col("l"), col("i")), lit("INT", "1")),
		boolean("=", call("+", "FLOAT", col("f"), col("d")), lit("FLOAT", "1.0")),
		boolean("=", call("+", "DECIMAL(10, 2)", col("p"), col("p")), lit("INT", "1")),
		boolean("=", call("*", "DECIMAL(38, 6)", col("q"), col("p")), lit("INT", "1")),
		boolean("=", call("/", "DECIMAL(38, 6)", col("p"), col("p")), lit("INT", "1")),
		boolean("=", call("+", "TIMESTAMP(3)", col("ts3"), lit("INTERVAL YEAR(2) TO MONTH", "1")), col("ts3")),
		boolean("=", call("+", "TIMESTAMP(6)", col("ts3"), col("day")), col("ts3")),
		boolean("=", call("+", "DATE", col("date"), col("day")), col("date")),
		boolean("=", call("CAST", "DECIMAL(11, 2)", col("i")), lit("INT", "1")),
		boolean("=", call("CAST", "DECIMAL(10, 1)", col("p")), lit("INT", "1")),
		boolean("=", call("CAST", "DECIMAL(10, 2)", col("d")), lit("INT", "1")),
		boolean("=", call("CAST", "DOUBLE", col("q")), lit("DOUBLE", "1.0")),
		boolean("=", call("CAST", "STRING", col("i")), lit("STRING", "1")),
		boolean("=", call("CAST", "VARCHAR(2)", col("str")), lit("STRING", "1")),
		boolean("=", call("CAST", "TIMESTAMP(3)", col("ltz")), col("ts3")),
		boolean("=", call("CAST", "INT", col("b")), lit("INT", "1")),
		boolean("=", call("CASE", "INT", col("b"), col("i")), lit("INT", "1")),
		boolean("=", call("CASE", "INT", col("b"), col("i"), col("l")), lit("INT", "1")),
		boolean("=", call("COALESCE", "INT"), lit("INT", "1")),
		boolean("=", call("UPPER", "STRING", col("str")), col("str")),
		boolean("=", lit("INT", "2147483648"), col("i")),
		boolean("=", lit("INT", "1.0"), col("i")),
		boolean("=", lit("DOUBLE", "NaN"), col("d")),
		boolean("=", lit("DECIMAL(3, 1)", "1.55"), col("p")),
		boolean("=", lit("DECIMAL(3, 1)", "123.4"), col("p")),
		boolean("=", lit("TIMESTAMP(3)", "5"), col("ts3")),
		boolean("=", lit("TIMESTAMP(9)", "5 1000000"), col("ts9")),
		boolean("=", lit("BYTES", "abc"), col("bin")),
		boolean("=", lit("INT NOT", "1"), col("i")),
		boolean("IS NULL", null("ARRAY<INT>")),
		boolean("IS NULL", expr.Expr{Op: "REF", Type: "INT", Index: &index}),
		boolean("IS NULL", expr.Expr{Op: "REF", Type: "INT"}),
		boolean("IS NULL", expr.Expr{Op: "REF", Type: "INT", Index: col("l").Index}),
		{Op: "NOT", Type: "BOOLEAN", Index: &index, Args: []expr.Expr{col("b")}},
	} {
		if _, err := expr.Compile(&e, tab.types, leftColumns); err == nil {
			t.Errorf("%s was compiled", text(e))
		}
	}
	deep := col("b")
	for range 300 {
		deep = boolean("NOT", deep)
	}
	if _, err := expr.Compile(&deep, tab.types, leftColumns); err == nil {
		t.Error("an expression nested 300 deep was compiled")
	}
}

// A program is used again, with fewer and with more pairs, and gives each pair its own answer.
func TestBatches(t *testing.T) {
	tab := newTable(t)
	e := boolean("AND", boolean(">", col("l"), lit("BIGINT", "3")), boolean("<>", col("str"), lit("STRING", "x")))
	p, err := expr.Compile(&e, tab.types, leftColumns)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(p.Columns()); got != "[3 14]" {
		t.Errorf("columns %s", got)
	}
	for _, n := range []int{3, 0, 200, 1, 70} {
		var left, right [][]byte
		for i := range n {
			l, r := tab.pair(t, values{"l": fmt.Sprint(i % 7), "str": []string{`"x"`, `"y"`}[i%2]})
			left, right = append(left, l), append(right, r)
		}
		matches := make([]bool, n)
		p.Evaluate(left, right, matches)
		for i := range matches {
			if want := i%7 > 3 && i%2 == 1; matches[i] != want {
				t.Errorf("%d pairs: pair %d is %v", n, i, matches[i])
			}
		}
	}
}

// FuzzCompile: whatever the host writes is refused or evaluated.
func FuzzCompile(f *testing.F) {
	tab := newTable(f)
	f.Add([]byte(text(boolean("AND", boolean("<", col("l"), lit("BIGINT", "3")), boolean("IS NULL", col("q"))))))
	f.Add([]byte(text(boolean("=", call("CASE", "DECIMAL(38, 4)", col("b"), col("q"), null("DECIMAL(38, 4)")), call("CAST", "DECIMAL(12, 2)", col("i"))))))
	left, right := tab.pair(f, values{"i": "1", "l": "2", "q": "1.0000", "ts9": "1+1", "str": `"abc"`, "b": "true"})
	f.Fuzz(func(t *testing.T, b []byte) {
		var e expr.Expr
		if json.Unmarshal(b, &e) != nil {
			return
		}
		p, err := expr.Compile(&e, tab.types, leftColumns)
		if err != nil {
			return
		}
		matches := make([]bool, 2)
		p.Evaluate([][]byte{left, left}, [][]byte{right, right}, matches)
		if matches[0] != matches[1] {
			t.Fatal("equal pairs, different answers")
		}
	})
}

func BenchmarkEvaluate(b *testing.B) {
	tab := newTable(b)
	e := boolean("AND", boolean(">=", col("ts3"), lit("TIMESTAMP(3)", "5 0")), boolean("<=", col("l"), lit("BIGINT", "9")))
	p, err := expr.Compile(&e, tab.types, leftColumns)
	if err != nil {
		b.Fatal(err)
	}
	const n = 1024
	var left, right [][]byte
	for i := range n {
		l, r := tab.pair(b, values{"l": fmt.Sprint(i), "ts3": fmt.Sprint(i)})
		left, right = append(left, l), append(right, r)
	}
	matches := make([]bool, n)
	var times []time.Duration
	for b.Loop() {
		start := time.Now()
		p.Evaluate(left, right, matches)
		times = append(times, time.Since(start))
	}
	optest.ReportTimes(b, times, n)
}
