package agg_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"drey/native/logical"
	"drey/native/spec"
)

var recordable = flag.Bool("recordable", false, "write the events of the scenarios whose output Flink records")

// TestRecordable writes the scenarios named recorded_* anew, but for what comes out: AggregateScenarioFilesTest adds that, from
// Flink's operators.
func TestRecordable(t *testing.T) {
	if !*recordable {
		t.Skip("-recordable is not set")
	}
	for seed := range uint64(5) {
		for _, retracts := range []bool{false, true} {
			for _, ttl := range []int64{0, 20} {
				kind := "plain"
				if retracts {
					kind = "retract"
				}
				if ttl > 0 {
					kind += "_ttl"
				}
				recordPlain(t, kind, seed, retracts, ttl)
			}
		}
		recordBundles(t, seed)
	}
}

// narrowInput has the columns to group and filter by, some of any types, and a string.
func narrowInput(t *testing.T, rng *rand.Rand) logical.Row {
	t.Helper()
	all := inputRow(t)
	row := logical.Row{Fields: append([]logical.Field{}, all.Fields[:firstValue]...)}
	for range 4 {
		row.Fields = append(row.Fields, all.Fields[firstValue+rng.IntN(all.Len()-firstValue)])
	}
	row.Fields = append(row.Fields, all.Fields[all.Len()-1])
	for i := range row.Fields {
		row.Fields[i].Name = fmt.Sprintf("f%d", i)
	}
	return row
}

func recordPlain(t *testing.T, kind string, seed uint64, retracts bool, ttl int64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, uint64(len(kind))))
	input := narrowInput(t, rng)
	s := randomSpec(rng, input)
	for len(s.AggCalls) < 4 || s.NeedRetraction != retracts || s.StateTTLMillis != ttl {
		s = randomSpec(rng, input)
	}
	var lines []string
	now := 0
	for _, e := range changelogOf(rng, input, retracts, 60) {
		if rng.IntN(4) == 0 {
			now += rng.IntN(12)
			lines = append(lines, fmt.Sprintf("> now %d", now))
		}
		lines = append(lines, "> "+lineOf(e, input))
	}
	output := logical.Row{Fields: append(keyRow(input, s.Grouping).Fields, resultRow(t, s.AggCalls, s.CountStarInserted).Fields...)}
	writeScenario(t, fmt.Sprintf("%s_%d", kind, seed), s, input, output, lines)
}

// recordBundles writes scenarios of mini-batches: in one phase, local, and global over what the local one emits.
func recordBundles(t *testing.T, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 77))
	input := narrowInput(t, rng)
	s := randomSpec(rng, input)
	for len(s.AggCalls) < 3 || s.NeedRetraction && s.StateTTLMillis > 0 { // Flink 2.2 drops keys behind one with retractions only
		s = randomSpec(rng, input)
	}
	s.MiniBatch = &spec.Bundle{Size: int64(5 + rng.IntN(30))}
	var events []event
	var live []event
	for _, e := range changelogOf(rng, input, s.NeedRetraction, 120) {
		if e.kind[0] == '+' {
			e.row[0], e.row[1] = int64(rng.IntN(40)), "k" // many keys, to see their order
			live = append(live, e)
		} else if !contains(&live, e) {
			continue
		}
		events = append(events, e)
	}
	var lines []string
	now := 0
	for _, e := range events {
		switch rng.IntN(20) {
		case 0:
			now += rng.IntN(12)
			lines = append(lines, fmt.Sprintf("> now %d", now))
		case 1:
			lines = append(lines, "> flush")
		case 2:
			lines = append(lines, fmt.Sprintf("> watermark %d", len(lines)))
		}
		lines = append(lines, "> "+lineOf(e, input))
	}
	lines = append(lines, "> flush")
	keys := keyRow(input, s.Grouping)
	results := resultRow(t, s.AggCalls, s.CountStarInserted)
	output := logical.Row{Fields: append(append([]logical.Field{}, keys.Fields...), results.Fields...)}
	writeScenario(t, fmt.Sprintf("bundle_%d", seed), s, input, output, lines)

	onlyMergeable(s)
	localSpec, globalSpec, between := twoPhases(t, s, input)
	middle := logical.Row{Fields: append(append([]logical.Field{}, keys.Fields...), between.Fields...)}
	writeScenario(t, fmt.Sprintf("local_%d", seed), localSpec, input, middle, lines)
	local := newMachine(t, localSpec, input, keys, between)
	defer local.close()
	var merged []string
	for _, e := range events {
		for _, line := range local.push(local.batch([]event{e})) {
			merged = append(merged, "> "+line)
		}
		if rng.IntN(8) == 0 {
			for _, line := range local.flush() {
				merged = append(merged, "> "+line)
			}
		}
	}
	merged = append(merged, "> flush")
	writeScenario(t, fmt.Sprintf("global_%d", seed), globalSpec, middle,
		logical.Row{Fields: append(append([]logical.Field{}, keys.Fields...), resultRow(t, s.AggCalls, s.CountStarInserted).Fields...)}, merged)
}

// onlyMergeable leaves the calls whose accumulators are plain fields.
func onlyMergeable(s *spec.GroupAggregate) {
	calls, retracts := []spec.AggregateCall{}, []bool{}
	for i, c := range s.AggCalls {
		switch {
		case c.Distinct, c.Function == spec.FirstValue, c.Function == spec.LastValue:
		case s.AggCallNeedRetractions[i] && (c.Function == spec.Min || c.Function == spec.Max || c.Function == spec.ListAgg):
		default:
			calls, retracts = append(calls, c), append(retracts, s.AggCallNeedRetractions[i])
		}
	}
	s.AggCalls, s.AggCallNeedRetractions = calls, retracts
	if s.IndexOfCountStar != nil {
		at := len(calls) - 1
		s.IndexOfCountStar = &at
	}
}

func lineOf(e event, input logical.Row) string {
	texts := []string{e.kind}
	for i, v := range e.row {
		texts = append(texts, textOf(v, input.Fields[i].Type))
	}
	return strings.Join(texts, " ")
}

func writeScenario(t *testing.T, name string, s spec.Spec, input, output logical.Row, lines []string) {
	t.Helper()
	for i := range output.Fields {
		output.Fields[i].Name = fmt.Sprintf("o%d", i)
	}
	whole := ""
	if strings.Contains(string(spec.Encode(s)), "miniBatch") {
		whole = "whole\n" // a new HashMap is walked in another order than one that was larger once
	}
	text := "# Recorded from Flink, by AggregateScenarioFilesTest, for events that TestRecordable has made. Not to be edited.\nspec " +
		string(spec.Encode(s)) + "\ninput " + string(logical.FormatFields(input)) + "\noutput " + string(logical.FormatFields(output)) + "\n" +
		whole + "\n" + strings.Join(lines, "\n") + "\n"
	if err := os.WriteFile("testdata/recorded_"+name+".txt", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
