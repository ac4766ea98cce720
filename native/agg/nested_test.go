package agg_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"drey/native"
	"drey/native/logical"
	"drey/native/op"
	"drey/native/optest"
	"drey/native/spec"
	"drey/rowstate"
)

// retractingPhases are the local and the global phase of one call that retracts.
func retractingPhases(t testing.TB, column string, c spec.AggregateCall) (local, global *machine) {
	t.Helper()
	at := 1
	s := &spec.GroupAggregate{
		Grouping: []int{}, MiniBatch: &spec.Bundle{Size: 100}, NeedRetraction: true, IndexOfCountStar: &at, CountStarInserted: true,
		GenerateUpdateBefore: true, AggCalls: []spec.AggregateCall{c, call(spec.Count, "BIGINT NOT NULL")}, AggCallNeedRetractions: []bool{true, true},
	}
	var input logical.Row
	for i, text := range []string{column, "STRING"} {
		typ, err := logical.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		input.Fields = append(input.Fields, logical.Field{Name: fmt.Sprintf("f%d", i), Type: typ})
	}
	localSpec, globalSpec, between := twoPhases(t, s, input)
	return newMachine(t, localSpec, input, logical.Row{}, between),
		newMachine(t, globalSpec, between, logical.Row{}, resultRow(t, s.AggCalls, true))
}

// Min- and MaxWithRetractAggFunction.merge: what went away in a later bundle than it came in.
func TestRetractedMinimumIsFoundAcrossPhases(t *testing.T) {
	local, global := retractingPhases(t, "INT", call(spec.Min, "INT", 0))
	defer func() { local.close(); global.close() }()
	for _, step := range []struct {
		rows []string
		want string
	}{
		{[]string{`+I 3 ""`, `+I 5 ""`, `+I 3 ""`, `+I 7 ""`}, "[+I 3]"},
		{[]string{`-D 3 ""`}, "[]"},
		{[]string{`-D 3 ""`, `+I 9 ""`}, "[-U 3 +U 5]"},
		{[]string{`-D 5 ""`, `+I 4 ""`, `-D 4 ""`}, "[-U 5 +U 7]"},
		{[]string{`-D 7 ""`, `-D 9 ""`, `+I NULL ""`}, "[-U 7 +U NULL]"},
		{[]string{`-D NULL ""`}, "[-D NULL]"},
	} {
		global.restart()
		got := global.lines(local.lines(step.rows...)...)
		if fmt.Sprint(got) != step.want {
			t.Fatalf("%v: %v, want %v", step.rows, got, step.want)
		}
	}
}

// ListAggWsWithRetractAggFunction.merge: a text may be retracted in a bundle before the one it came in has been merged.
func TestListsOfPhases(t *testing.T) {
	local, global := retractingPhases(t, "STRING", call(spec.ListAgg, "STRING", 0, 1))
	defer func() { local.close(); global.close() }()
	early := local.lines(`+I "b" "-"`, `-D "a" "-"`)
	late := local.lines(`+I "a" "+"`, `+I "a longer text" "+"`)
	if got := fmt.Sprint(global.lines(early...)); got != "[]" { // as many rows came as went
		t.Fatal(got)
	}
	if got := fmt.Sprint(global.lines(append(early, late...)...)); got != `[+I "b+a longer text"]` {
		t.Fatal(got)
	}
	global.restart()
	if got := fmt.Sprint(global.lines(local.lines(`-D "b" NULL`, `+I "c" NULL`)...)); got != `[-U "b+a longer text" +U NULL]` {
		t.Fatal(got)
	}
	if got := fmt.Sprint(global.lines(local.lines(`+I NULL "!"`, `+I "d" "."`)...)); got != `[-U NULL +U "a longer text.c.d"]` {
		t.Fatal(got)
	}
}

// FuzzNested: bytes that are no accumulator are refused before anything has changed, and nothing is read beyond them.
func FuzzNested(f *testing.F) {
	calls := []spec.AggregateCall{
		call(spec.Min, "DECIMAL(38, 4)", 0), call(spec.Max, "STRING", 0), call(spec.Min, "TIMESTAMP(9)", 0), call(spec.Max, "TINYINT", 0),
		call(spec.ListAgg, "STRING", 0), call(spec.ListAgg, "STRING", 0, 1),
	}
	columns := []string{"DECIMAL(38, 4)", "STRING", "TIMESTAMP(9)", "TINYINT", "STRING", "STRING"}
	values := []string{"1.5000", `"a longer text"`, "5+7", "-3", `"x"`, `"a longer text"`}
	for i, c := range calls {
		local, global := retractingPhases(f, columns[i], c)
		for _, lines := range [][]string{{"+I " + values[i] + ` "a longer delimiter"`}, {"+I " + values[i] + ` ","`, "-D " + values[i] + " NULL", "-D " + values[i] + ` ";"`}} {
			line := local.lines(lines...)[0]
			b, err := hex.DecodeString(line[strings.Index(line, "x'")+2 : strings.LastIndex(line, "'")])
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b, uint8(i))
		}
		local.close()
		global.close()
	}
	f.Fuzz(func(t *testing.T, b []byte, which uint8) {
		i := int(which) % len(calls)
		local, m := retractingPhases(t, columns[i], calls[i])
		defer func() { local.close(); m.close() }()
		if err := m.op.Push(0, m.parse([]string{fmt.Sprintf("+I x'%x' 1", b)}), m.out); err != nil {
			return
		}
		if err := m.op.Flush(m.out); err != nil {
			t.Fatal(err)
		}
		optest.Drain(m.out)
	})
}

// A bundle that the budget has no room for is refused before it is merged; all that was taken goes on to the end.
func TestBudgetOfPhases(t *testing.T) {
	for _, c := range []spec.AggregateCall{call(spec.Max, "STRING", 0), call(spec.ListAgg, "STRING", 0, 1)} {
		local, global := retractingPhases(t, "STRING", c)
		global.close()
		global.budget = rowstate.NewBudget(3 << 20)
		var err error
		if global.op, err = native.Open(global.text, []logical.Row{global.input}, optest.Groups, global.budget, op.Host{}); err != nil {
			t.Fatal(err)
		}
		rows := 0
		for refused := false; !refused; {
			var lines []string
			for range 200 {
				lines = append(lines, fmt.Sprintf(`+I "%08d%s" "-"`, rows+len(lines), strings.Repeat("x", 100)))
			}
			err := global.op.Push(0, global.parse(local.lines(lines...)), global.out)
			var exhausted *rowstate.BudgetError
			if refused = errors.As(err, &exhausted); !refused {
				if err != nil {
					t.Fatal(err)
				}
				if rows += len(lines); rows > 100_000 {
					t.Fatalf("%s: the budget was never exhausted", c.Function)
				}
			}
			if rows%600 == 0 || refused {
				lines := global.flush()
				want := fmt.Sprintf("%08d", rows-1)
				if len(lines) > 0 && !strings.Contains(lines[len(lines)-1], want) {
					t.Fatalf("%s: %d rows were taken, %.40q came out", c.Function, rows, lines)
				}
			}
		}
		if rows < 600 {
			t.Errorf("%s: the budget took %d rows", c.Function, rows)
		}
		local.close()
		global.close()
	}
}

// SingleValueAggFunction's merge: a value may leave in another bundle than it came in, but two at a time are an error.
func TestSingleValueOfPhases(t *testing.T) {
	local, global := retractingPhases(t, "BIGINT", call(spec.SingleValue, "BIGINT", 0))
	defer func() { local.close(); global.close() }()
	for _, step := range []struct{ row, want string }{
		{`+I 5 ""`, "[+I 5]"}, {`-D 5 ""`, "[-D 5]"}, {`+I NULL ""`, "[+I NULL]"}, {`-D NULL ""`, "[-D NULL]"}, {`+I 7 ""`, "[+I 7]"},
	} {
		if got := fmt.Sprint(global.lines(local.lines(step.row)...)); got != step.want {
			t.Fatalf("%s: %s, want %s", step.row, got, step.want)
		}
	}
	if err := global.op.Push(0, global.parse(local.lines(`+I 8 ""`)), global.out); err != nil {
		t.Fatal(err)
	}
	if err := global.op.Flush(global.out); !isSecondValue(err) {
		t.Errorf("two values at a time: %v", err)
	}
}
