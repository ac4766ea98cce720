package topn_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"drey/native"
	"drey/native/binrow"
	"drey/native/changelog"
	"drey/native/logical"
	"drey/native/optest"
	"drey/native/spec"
	"drey/rowstate"
)

// The input of all random tests: partition p, row key k, sort keys s and t, end of a variable range e, and something else.
const fields = `[{"name":"p","type":"INT"},{"name":"k","type":"STRING"},{"name":"s","type":"BIGINT"},{"name":"t","type":"STRING"},` +
	`{"name":"e","type":"INT"},{"name":"v","type":"STRING"}]`

const (
	columnP = iota
	columnK
	columnS
	columnT
	columnE
	columnV
)

func variants(rng *rand.Rand) []spec.Rank {
	var list []spec.Rank
	endIndex := columnE
	constant := func(start, end int64) spec.RankRange {
		return spec.RankRange{Type: "Constant", Start: &start, End: &end}
	}
	for _, function := range []string{spec.AppendOnlyFirstN, spec.FastTop1, spec.AppendOnlyTopN, spec.UpdatableTopN, spec.RetractableTopN} {
		for _, r := range []spec.RankRange{
			constant(1, 1), constant(1, 3), constant(1, 100), constant(2, 2), constant(2, 4), {Type: "Variable", EndIndex: &endIndex},
		} {
			if function == spec.FastTop1 && !r.IsTop1() {
				continue
			}
			for bits := range 4 {
				s := spec.Rank{
					Name: "rank", Version: 1, Function: function, RankRange: r, GenerateUpdateBefore: bits&1 != 0,
					OutputRowNumber: bits&2 != 0, Partition: []int{columnP}, OrderBy: []spec.SortField{},
				}
				for _, c := range [][]int{{columnS}, {columnT}, {columnS, columnT}, {}}[rng.IntN(4)] {
					s.OrderBy = append(s.OrderBy, spec.SortField{Index: c, IsAscending: rng.IntN(2) == 0, NullIsLast: rng.IntN(2) == 0})
				}
				if function == spec.UpdatableTopN {
					s.PrimaryKeys = [][]int{{columnP, columnK}, {columnK}}[rng.IntN(2)]
				}
				if rng.IntN(5) == 0 {
					s.Partition = []int{}
				}
				list = append(list, s)
				s.StateTTLMillis = 1 + rng.Int64N(60)
				list = append(list, s)
			}
		}
	}
	return list
}

// TestAgainstModel plays random rows through every strategy, with random batch sizes, restores and rescales.
func TestAgainstModel(t *testing.T) {
	optest.Seeds(t, 2, func(t *testing.T, rng *rand.Rand) {
		for _, s := range variants(rng) {
			name, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			scenario := randomScenario(t, rng, &s, 300)
			size, between := 1+rng.IntN(40), []string{"nothing", "restore", "rescale"}[rng.IntN(3)]
			t.Run(fmt.Sprintf("%s/batch=%d/between=%s", name, size, between), func(t *testing.T) {
				scenario.Play(t, native.Open, optest.Options{Seldom: 1 + rng.IntN(20)}, size, between)
			})
		}
	})
}

// TestLargeGroups has groups of equal sort keys that are searched through an index, with equal rows among them, and
// retractions of rows that were never there.
func TestLargeGroups(t *testing.T) {
	optest.Seeds(t, 1, func(t *testing.T, rng *rand.Rand) {
		for _, s := range variants(rng) {
			if s.Function != spec.RetractableTopN || rng.IntN(3) > 0 {
				continue
			}
			if s.OrderBy = s.OrderBy[:0]; rng.IntN(2) == 0 {
				s.OrderBy = append(s.OrderBy, spec.SortField{Index: columnT})
			}
			s.Partition = []int{}
			s.StateTTLMillis = min(s.StateTTLMillis, 1) * 100
			scenario := randomScenario(t, rng, &s, 1500)
			scenario.Play(t, native.Open, optest.Options{Seldom: 20}, 1+rng.IntN(40), []string{"nothing", "restore"}[rng.IntN(2)])
		}
	})
}

func randomScenario(t *testing.T, rng *rand.Rand, s *spec.Rank, rows int) *optest.Scenario {
	input, err := logical.ParseFields([]byte(fields))
	if err != nil {
		t.Fatal(err)
	}
	output := input
	if s.OutputRowNumber {
		bigint, err := logical.Parse("BIGINT NOT NULL")
		if err != nil {
			t.Fatal(err)
		}
		output.Fields = append(append([]logical.Field{}, input.Fields...), logical.Field{Name: "rank", Type: bigint})
	}
	layout, err := binrow.NewLayout(input.Types())
	if err != nil {
		t.Fatal(err)
	}
	outputLayout, err := binrow.NewLayout(output.Types())
	if err != nil {
		t.Fatal(err)
	}
	numbered := binrow.NewWriter(outputLayout)
	project := func(columns []int) func([]byte) string {
		p, err := binrow.NewProjector(input.Types(), columns)
		if err != nil {
			t.Fatal(err)
		}
		return func(row []byte) string {
			var keys rowstate.Rows
			keys.Reset(p.Width())
			p.Append(row, &keys)
			return string(keys.Row(0))
		}
	}
	m := &model{
		s: s, ttl: s.StateTTLMillis, partition: project(s.Partition), rowKey: project(s.PrimaryKeys), partitions: map[string]*modelPartition{},
		endOf:   func(row []byte) int64 { return int64(layout.Int32(row, columnE)) },
		compare: func(a, b []byte) int { return compare(layout, s.OrderBy, a, b) },
		withRank: func(row []byte, rank int64) []byte {
			numbered.Reset()
			for c, field := range input.Fields {
				switch {
				case layout.IsNull(row, c):
					numbered.SetPlainNull(c)
				case field.Type.Kind == logical.Varchar:
					numbered.SetBytes(c, layout.Bytes(row, c))
				default:
					numbered.SetInt(c, layout.Int64(row, c))
				}
			}
			numbered.SetInt(len(input.Fields), rank)
			return bytes.Clone(numbered.Row())
		},
	}
	scenario := &optest.Scenario{Name: "random", Spec: spec.Encode(s), Inputs: []logical.Row{input}, Output: output}
	var there [][]byte
	partitions, values := 1+rng.IntN(4), 1+rng.IntN(8)
	w := binrow.NewWriter(layout)
	for i := range rows {
		if m.ttl > 0 && rng.IntN(4) == 0 {
			// Mostly a little; else to just before, at or behind the end of something.
			m.now += []int64{1, rng.Int64N(6), m.ttl/2 + 1, m.ttl - 1, m.ttl, m.ttl + 1}[min(rng.IntN(20), 5)]
			scenario.Events = append(scenario.Events, optest.Event{Line: i + 1, Kind: optest.Now, Value: m.now})
		}
		kind := changelog.Insert
		var row []byte
		if s.Function == spec.RetractableTopN && len(there) > 0 && rng.IntN(5) < 2 {
			// Mostly of what is there, else of what never was.
			kind = []changelog.RowKind{changelog.UpdateBefore, changelog.Delete}[rng.IntN(2)]
			at := rng.IntN(len(there))
			row = there[at]
			if rng.IntN(8) > 0 {
				there = append(there[:at], there[at+1:]...)
			}
		} else {
			w.Reset()
			w.SetInt(columnP, int64(rng.IntN(partitions)))
			writeString(rng, w, columnK, fmt.Sprint("key ", rng.IntN(12)), false)
			if rng.IntN(6) == 0 {
				w.SetPlainNull(columnS)
			} else {
				w.SetInt(columnS, int64(rng.IntN(values)-values/2))
			}
			writeString(rng, w, columnT, []string{"", "a", "b", "a string behind the slots", "a string behind the slotz"}[rng.IntN(5)], true)
			w.SetInt(columnE, int64(rng.IntN(7)-2))
			writeString(rng, w, columnV, []string{"x", "y, which is longer than a slot"}[rng.IntN(2)], false)
			row = append([]byte(nil), w.Row()...)
			there = append(there, row)
			if s.Function != spec.AppendOnlyFirstN && s.Function != spec.AppendOnlyTopN {
				kind = []changelog.RowKind{changelog.Insert, changelog.UpdateAfter}[rng.IntN(2)]
			}
		}
		e := optest.Event{Line: i + 1, Row: optest.Output{Kind: kind, Row: row}}
		e.Want = m.push(kind, row)
		scenario.Events = append(scenario.Events, e)
	}
	return scenario
}

func writeString(rng *rand.Rand, w *binrow.Writer, c int, text string, nulls bool) {
	if nulls && rng.IntN(6) == 0 {
		w.SetPlainNull(c)
	} else {
		w.SetBytes(c, []byte(text))
	}
}

// compare orders rows as Flink's generated comparator does.
func compare(l *binrow.Layout, fields []spec.SortField, a, b []byte) int {
	for _, f := range fields {
		aNull, bNull := l.IsNull(a, f.Index), l.IsNull(b, f.Index)
		switch {
		case aNull && bNull:
			continue
		case aNull != bNull:
			if aNull == f.NullIsLast {
				return 1
			}
			return -1
		}
		c := 0
		if f.Index == columnS {
			c = int(max(-1, min(1, l.Int64(a, f.Index)-l.Int64(b, f.Index))))
		} else {
			c = bytes.Compare(l.Bytes(a, f.Index), l.Bytes(b, f.Index))
		}
		if !f.IsAscending {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}
