package agg_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"drey/native/logical"
	"drey/native/optest"
	"drey/native/spec"
)

// maps were written by Flink 2.2.1: what ExternalSerializer makes of the MapView of as many COUNT(DISTINCT v) over inserts, with
// one value that all of them have seen.
var maps = []struct {
	column string
	calls  int
	value  string
	bytes  string
}{
	{"BIGINT", 2, `5`,
		"000000380000000000000000240000001000000010000000010000000000000005000000000000000100000000000000030000000000000000000000"},
	{"INT", 1, `-5`,
		"0000003800000000000000002400000010000000100000000100000000000000fbffffff000000000100000000000000010000000000000000000000"},
	{"TINYINT", 1, `-5`,
		"0000003800000000000000002400000010000000100000000100000000000000fb000000000000000100000000000000010000000000000000000000"},
	{"BOOLEAN", 1, `true`,
		"000000380000000000000000240000001000000010000000010000000000000001000000000000000100000000000000010000000000000000000000"},
	{"DOUBLE", 1, `-1.5`,
		"0000003800000000000000002400000010000000100000000100000000000000000000000000f8bf0100000000000000010000000000000000000000"},
	{"FLOAT", 1, `1.5`,
		"00000038000000000000000024000000100000001000000001000000000000000000c03f000000000100000000000000010000000000000000000000"},
	{"STRING", 1, `"seven77"`,
		"0000003800000000000000002400000010000000100000000100000000000000736576656e3737870100000000000000010000000000000000000000"},
	{"STRING", 1, `"eight888x"`,
		"00000048000000000000000034000000100000002000000001000000000000000900000010000000656967687438383878000000000000000100000000000000010000000000000000000000"},
	{"DECIMAL(38, 4)", 1, `-1.5000`,
		"00000048000000000000000034000000100000002000000001000000000000000200000010000000c56800000000000000000000000000000100000000000000010000000000000000000000"},
	{"DECIMAL(10, 2)", 1, `-1.50`,
		"00000038000000000000000024000000100000001000000001000000000000006affffffffffffff0100000000000000010000000000000000000000"},
	{"TIMESTAMP(9)", 1, `-1+999999`,
		"0000004000000000000000002c000000100000001800000001000000000000003f420f0010000000ffffffffffffffff0100000000000000010000000000000000000000"},
}

// Other maps of Flink's: with the values 5 and null, the first seen by two calls; without values; and of two calls that retract,
// which have counted the value 5 three times, and once less than never.
const (
	mapWithNull   = "00000048000000000000000034000000100000001800000002000000010000000000000000000000050000000000000002000000000000000100000000000000030000000000000000000000"
	emptyMap      = "0000002800000000000000001400000010000000080000000000000000000000000000000000000000000000"
	mapWithCounts = "0000005000000000000000003c0000001000000010000000010000000000000005000000000000000100000000000000180000001000000002000000000000000300000000000000ffffffffffffffff00000000"
)

// localOf is a local aggregate of calls that count distinct values in column 0; the next ones are their filters, if any.
func localOf(t *testing.T, column string, calls int, filtered, retracts bool) (*machine, *spec.LocalGroupAggregate, logical.Row) {
	t.Helper()
	s := &spec.GroupAggregate{Grouping: []int{}, MiniBatch: &spec.Bundle{Size: 100}, NeedRetraction: retracts}
	for i := range calls {
		c := spec.AggregateCall{Function: spec.Count, ArgList: []int{0}, FilterArg: -1, Distinct: true, Type: "BIGINT NOT NULL"}
		if filtered {
			c.FilterArg = 1 + i
		}
		s.AggCalls, s.AggCallNeedRetractions = append(s.AggCalls, c), append(s.AggCallNeedRetractions, retracts)
	}
	if retracts {
		s.AggCalls = append(s.AggCalls, spec.AggregateCall{Function: spec.Count, ArgList: []int{}, FilterArg: -1, Type: "BIGINT"})
		s.AggCallNeedRetractions = append(s.AggCallNeedRetractions, true)
		s.IndexOfCountStar, s.CountStarInserted = &calls, true
	}
	var input logical.Row
	for i, text := range []string{column, "BOOLEAN", "BOOLEAN"} {
		typ, err := logical.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		input.Fields = append(input.Fields, logical.Field{Name: fmt.Sprintf("f%d", i), Type: typ})
	}
	local, _, between := twoPhases(t, s, input)
	return newMachine(t, local, input, logical.Row{}, between), local, between
}

func (m *machine) lines(lines ...string) []string {
	m.t.Helper()
	return append(m.push(m.parse(lines)), m.flush()...)
}

func TestMapsAreFlinks(t *testing.T) {
	for _, c := range maps {
		m, _, _ := localOf(t, c.column, c.calls, false, false)
		got := m.lines("+I " + c.value + " NULL NULL")
		if want := "+I" + strings.Repeat(" 1", c.calls) + " x'" + c.bytes + "'"; len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", c.column, got, want)
		}
		m.close()
	}
	m, _, _ := localOf(t, "BIGINT", 2, true, true)
	defer m.close()
	got := m.lines("+I 5 true NULL", "+I 5 true false", "+I 5 true NULL", "-D 5 NULL true")
	if want := "+I 1 0 2 x'" + mapWithCounts + "'"; len(got) != 1 || got[0] != want {
		t.Errorf("%q, want %q", got, want)
	}
	got = m.lines("+I NULL true NULL")
	if want := "+I 0 0 1 x'" + emptyMap + "'"; len(got) != 1 || got[0] != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// globalOf is the global aggregate of such calls.
func globalOf(t *testing.T, column string, calls int, retracts bool) *machine {
	t.Helper()
	m, local, between := localOf(t, column, calls, false, retracts)
	m.close()
	s := &spec.GlobalGroupAggregate{
		Name: "globalGroupAggregate", Version: 1, AggCalls: local.AggCalls, AggCallNeedRetractions: local.AggCallNeedRetractions, Grouping: []int{},
		CountStarInserted: local.CountStarInserted, IndexOfCountStar: local.IndexOfCountStar, NeedRetraction: retracts, MiniBatch: local.MiniBatch,
		GenerateUpdateBefore: true, LocalAggInputRowType: "ROW<`f` " + column + ">",
	}
	return newMachine(t, s, between, logical.Row{}, resultRow(t, s.AggCalls, s.CountStarInserted))
}

func TestMapsOfFlinkAreRead(t *testing.T) {
	for _, c := range maps {
		m := globalOf(t, c.column, c.calls, false)
		counts := strings.Repeat(" 1", c.calls)
		line := "+I" + counts + " x'" + c.bytes + "'"
		if got := m.lines(line, line); len(got) != 1 || got[0] != "+I"+counts {
			t.Errorf("%s: %q", c.column, got)
		}
		if got := m.lines(line); len(got) != 0 {
			t.Errorf("%s: a value that was there before counts again: %q", c.column, got)
		}
		m.close()
	}
	m := globalOf(t, "BIGINT", 2, false)
	if got := m.lines("+I 1 1 x'" + mapWithNull + "'"); len(got) != 1 || got[0] != "+I 1 1" {
		t.Errorf("%q", got)
	}
	m.close()
	m = globalOf(t, "BIGINT", 2, true)
	defer m.close()
	if got := m.lines("+I 7 7 2 x'" + mapWithCounts + "'"); len(got) != 1 || got[0] != "+I 1 0" {
		t.Errorf("%q", got)
	}
	if got := m.lines("+I 7 7 2 x'"+mapWithCounts+"'", "+I 0 0 1 x'"+emptyMap+"'"); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// FuzzMaps: bytes that are no map are refused before anything has changed, and nothing is read beyond them.
func FuzzMaps(f *testing.F) {
	for _, c := range maps {
		b, err := hex.DecodeString(c.bytes)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, c.column, false)
	}
	b, err := hex.DecodeString(mapWithCounts)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, "BIGINT", true)
	f.Fuzz(func(t *testing.T, b []byte, column string, retracts bool) {
		for _, c := range maps {
			if c.column == column {
				m := globalOf(t, column, 2, retracts)
				defer m.close()
				line := fmt.Sprintf("+I 1 1 x'%x'", b)
				if retracts {
					line = fmt.Sprintf("+I 1 1 1 x'%x'", b)
				}
				batch := m.parse([]string{line})
				if err := m.op.Push(0, batch, m.out); err != nil {
					return
				}
				if err := m.op.Flush(m.out); err != nil {
					t.Fatal(err)
				}
				optest.Drain(m.out)
				return
			}
		}
	})
}
