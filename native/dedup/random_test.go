package dedup_test

import (
	"encoding/binary"
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

// inputs are row types to go through: the key columns, then whatever.
var inputs = []struct {
	keys   []int
	fields string
}{
	{[]int{0}, `[{"name":"k","type":"BIGINT"},{"name":"v","type":"STRING"},{"name":"t","type":"TIMESTAMP(3)"}]`},
	{[]int{1, 0}, `[{"name":"a","type":"INT"},{"name":"b","type":"SMALLINT"},{"name":"t","type":"TIMESTAMP(3)"},{"name":"v","type":"BYTES"}]`},
	{[]int{1}, `[{"name":"v","type":"DOUBLE"},{"name":"k","type":"STRING"},{"name":"t","type":"TIMESTAMP(3) WITH LOCAL TIME ZONE"}]`},
	{[]int{0, 1}, `[{"name":"d","type":"DECIMAL(30, 2)"},{"name":"s","type":"TIMESTAMP(9)"},{"name":"t","type":"TIMESTAMP(3)"}]`},
	{[]int{}, `[{"name":"v","type":"ARRAY<INT>"},{"name":"w","type":"INT"},{"name":"t","type":"TIMESTAMP(3)"}]`},
}

// variants are all combinations of flags that stock's translator lets through, with every kind of mini-batch and TTL.
func variants() []spec.Deduplicate {
	var list []spec.Deduplicate
	index := 2
	for bits := range 1 << 5 {
		s := spec.Deduplicate{
			Name: "deduplicate", Version: 1, GenerateInsert: bits&1 != 0, GenerateUpdateBefore: bits&2 != 0,
			IsRowtime: bits&4 != 0, KeepLastRow: bits&8 != 0, OutputInsertOnly: bits&16 != 0,
		}
		if s.OutputInsertOnly && s.KeepLastRow {
			continue
		}
		if s.IsRowtime {
			s.RowtimeIndex = &index
		}
		batches := []*spec.MiniBatch{nil}
		if !s.OutputInsertOnly {
			batches = append(batches, &spec.MiniBatch{Size: 1 << 30}, &spec.MiniBatch{Size: 7}, &spec.MiniBatch{Size: 20, CompactChanges: true})
		}
		for _, b := range batches {
			for _, ttl := range []int64{0, 50} {
				s.MiniBatch, s.StateTTLMillis = b, ttl
				list = append(list, s)
			}
		}
	}
	return list
}

// TestAgainstModel plays random events through every variant: with random batch sizes, restores and rescales, and compares
// what comes out row by row.
func TestAgainstModel(t *testing.T) {
	optest.Seeds(t, 1, func(t *testing.T, rng *rand.Rand) {
		for _, s := range variants() {
			input := inputs[rng.IntN(len(inputs))]
			s.UniqueKeys = input.keys
			name, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			row, err := logical.ParseFields([]byte(input.fields))
			if err != nil {
				t.Fatal(err)
			}
			keys := 1 + rng.IntN(12)
			many := s.MiniBatch != nil && rng.IntN(2) == 0
			if many {
				keys = 40
			}
			scenario := randomScenario(t, rng, &s, row, keys)
			for range 2 {
				size, between := 1+rng.IntN(40), []string{"nothing", "restore", "rescale"}[rng.IntN(3)]
				if many {
					between = "nothing" // a bundle's map that has grown stays so until a restore
				}
				t.Run(fmt.Sprintf("%s/batch=%d/between=%s", name, size, between), func(t *testing.T) {
					scenario.Play(t, native.Open, optest.Options{Bundled: s.MiniBatch != nil, Seldom: 1 + rng.IntN(20)}, size, between)
				})
			}
		}
	})
}

// randomScenario is random events, with what the model has to say to each.
func randomScenario(t *testing.T, rng *rand.Rand, s *spec.Deduplicate, row logical.Row, keys int) *optest.Scenario {
	layout, err := binrow.NewLayout(row.Types())
	if err != nil {
		t.Fatal(err)
	}
	projector, err := binrow.NewProjector(row.Types(), s.UniqueKeys)
	if err != nil {
		t.Fatal(err)
	}
	keyOf := func(row []byte) string {
		var keys rowstate.Rows
		keys.Reset(projector.Width())
		projector.Append(row, &keys)
		return string(keys.Row(0))
	}
	timeOf := func(row []byte) int64 { return int64(binary.LittleEndian.Uint64(row[layout.Slot(2):])) }
	m := newModel(s, keyOf, timeOf)
	scenario := &optest.Scenario{Name: "random", Spec: spec.Encode(s), Inputs: []logical.Row{row}, Output: row}
	writer := binrow.NewWriter(layout)
	now, watermark, time := int64(1000), int64(0), int64(0)
	for i := range 400 {
		e := optest.Event{Line: i + 1}
		switch rng.IntN(24) {
		case 0:
			now += int64(rng.IntN(40))
			e.Kind, e.Value = optest.Now, now
			m.now = now
		case 1:
			watermark = max(watermark, time-int64(rng.IntN(60)))
			e.Kind, e.Value = optest.Watermark, watermark
			e.Want = m.advance(watermark)
		case 2:
			e.Kind = optest.Flush
			e.Want = m.flush()
		default:
			time += int64(rng.IntN(3))
			writeRow(rng, writer, row.Types(), s.UniqueKeys, keys)
			at := time - int64(rng.IntN(40))
			if at == watermark {
				at++ // a restore tells rows as old as the watermark from others
			}
			writer.SetInt(2, at)
			e.Row = optest.Output{Kind: changelog.Insert, Row: append([]byte(nil), writer.Row()...)}
			e.Want = m.push(e.Row.Row)
		}
		scenario.Events = append(scenario.Events, e)
	}
	return scenario
}

// writeRow writes small random values, of few different keys.
func writeRow(rng *rand.Rand, w *binrow.Writer, types []logical.Type, uniqueKeys []int, keys int) {
	w.Reset()
	isKey := map[int]bool{}
	for _, c := range uniqueKeys {
		isKey[c] = true
	}
	key := rng.IntN(keys)
	for i, t := range types {
		if i == 2 {
			w.SetInt(i, 0) // the time, set later
			continue
		}
		v := rng.IntN(3)
		if isKey[i] {
			v = key
		}
		if v == 0 {
			w.SetPlainNull(i)
			continue
		}
		text := fmt.Sprint("value "[:v%7], v)
		switch {
		case t.Kind == logical.Timestamp && t.Precision > 3:
			w.SetTimestamp(i, int64(v), int32(v))
		case t.Kind == logical.Double:
			w.SetFloat64(i, float64(v))
		case t.Kind == logical.Decimal, t.Kind == logical.Varchar, t.Kind == logical.Varbinary, t.Kind == logical.Array:
			w.SetBytes(i, []byte(text))
		default:
			w.SetInt(i, int64(v))
		}
	}
}
