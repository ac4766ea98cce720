package join_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"drey/native"
	"drey/native/changelog"
	"drey/native/op"
	"drey/native/optest"
	"drey/native/spec"
	"drey/rowstate"
)

// twin is two operators of one specification that get the same rows.
type twin struct {
	t       *testing.T
	s       *spec.Join
	codecs  [2]*optest.Codec
	budgets [2]*rowstate.Budget
	ops     [2]op.Operator
	outs    [2]*changelog.Builder
	now     int64
}

func newTwin(t *testing.T, s *spec.Join, hosts [2]op.Host, options changelog.BuilderOptions) *twin {
	sc, codecs, _ := emptyScenario(t, s)
	w := &twin{t: t, s: s, codecs: codecs}
	for i := range w.ops {
		w.budgets[i] = rowstate.NewBudget(0)
		var err error
		if w.ops[i], err = native.Open(sc.Spec, sc.Inputs, optest.Groups, w.budgets[i], hosts[i]); err != nil {
			t.Fatal(err)
		}
		w.outs[i] = changelog.NewBuilder(options)
	}
	return w
}

func (w *twin) close() {
	for i, o := range w.ops {
		optest.CloseAndCheck(w.t, o, w.budgets[i])
	}
}

// row adds a row to a batch of both inputs.
func (w *twin) row(b *changelog.Batch, input int, kind changelog.RowKind, text string) {
	w.t.Helper()
	_, row, err := w.codecs[input].Parse(kind.String() + " " + text)
	if err != nil {
		w.t.Fatal(err)
	}
	if b.Offsets == nil {
		b.Now, b.Offsets = w.now, []int32{0}
	}
	b.Kinds, b.Inputs, b.Data = append(b.Kinds, kind), append(b.Inputs, uint8(input)), append(b.Data, row...)
	b.Offsets = append(b.Offsets, int32(len(b.Data)))
}

// push gives the first operator the batch, the second one run after run of rows of one input, and compares what comes out.
func (w *twin) push(b *changelog.Batch) {
	w.t.Helper()
	if err := w.ops[0].(op.Mixed).PushMixed(b, w.outs[0]); err != nil {
		w.t.Fatal(err)
	}
	got := w.drain(0, 0)
	var want []string
	for from := 0; from < b.Len(); {
		end := b.Run(from)
		run := b.Slice(from, end)
		if err := w.ops[1].Push(int(b.Inputs[from]), &run, w.outs[1]); err != nil {
			w.t.Fatal(err)
		}
		want = append(want, w.drain(1, from)...)
		from = end
	}
	w.compare(got, want)
}

func (w *twin) compare(got, want []string) {
	w.t.Helper()
	if !slices.Equal(got, want) {
		w.t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if w.s.Left.StateTTLMillis > 0 || w.s.Right.StateTTLMillis > 0 {
		return // what has expired is freed bit by bit, with each batch
	}
	if stats := w.ops[0].Stats(nil); !slices.Equal(rowsOf(stats), rowsOf(w.ops[1].Stats(nil))) {
		w.t.Fatalf("state %v, want %v", stats, w.ops[1].Stats(nil))
	}
}

// rowsOf is the statistics but for bytes, which depend on how much room was made at a time.
func rowsOf(stats []op.Stat) []op.Stat {
	return slices.DeleteFunc(stats, func(s op.Stat) bool { return s.Name == "state.bytes" })
}

// drain is what an operator has emitted; base is where in the host's batch its own began.
func (w *twin) drain(i, base int) []string {
	w.t.Helper()
	rows, err := optest.DrainAll(w.ops[i], w.outs[i])
	if err != nil {
		w.t.Fatal(err)
	}
	var texts []string
	for _, r := range rows {
		if r.Source != changelog.NoSource {
			r.Source += base
		}
		texts = append(texts, fmt.Sprintf("%s %x %x from %d", r.Kind, r.Row[1:], r.Right, r.Source))
	}
	return texts
}

// TestMixedEqualsRuns: a batch of rows of both inputs is what its runs of rows of one input are, wherever the operator
// stops, and leaves the same state.
func TestMixedEqualsRuns(t *testing.T) {
	optest.Seeds(t, 2, func(t *testing.T, rng *rand.Rand) {
		for i, s := range variants(rng) {
			bundles := i%3 == 0 && s.JoinType != spec.SemiJoin && s.JoinType != spec.AntiJoin
			if bundles {
				s.MiniBatch = &spec.JoinMiniBatch{Size: int64(1 + rng.IntN(60))}
			}
			chunk := 1 + rng.IntN(7)
			t.Run(fmt.Sprintf("chunk=%d/%s", chunk, spec.Encode(s)), func(t *testing.T) {
				met := [2]meetings{{newHost(t).Condition, map[string]bool{}}, {newHost(t).Condition, map[string]bool{}}}
				w := newTwin(t, s, [2]op.Host{{Condition: met[0]}, {Condition: met[1]}}, changelog.BuilderOptions{Rows: chunk, Bytes: 1 << 16})
				defer w.close()
				rows := inputRows(rng, []int{1, 3, 50}[rng.IntN(3)])
				for range 12 {
					var b changelog.Batch
					n, swap := 2+rng.IntN(100), 1+rng.IntN(4)
					for input := 0; b.Len() < n; {
						kind, text := rows[input].next()
						w.row(&b, input, kind, text)
						if rng.IntN(swap) == 0 {
							input = 1 - input
						}
					}
					w.push(&b)
					if bundles {
						for i, o := range w.ops {
							if err := o.Flush(w.outs[i]); err != nil {
								t.Fatal(err)
							}
						}
						w.compare(w.drain(0, 0), w.drain(1, 0))
					}
					w.now += int64(rng.IntN(20))
				}
				got, want := optest.TakeSnapshot(t, w.ops[0], optest.Groups), optest.TakeSnapshot(t, w.ops[1], optest.Groups)
				if !maps.EqualFunc(got, want, func(a, b []byte) bool { return len(a) == len(b) }) {
					t.Error("the states differ")
				}
				if !maps.Equal(met[0].pairs, met[1].pairs) {
					t.Errorf("the host was asked about %d pairs, %d meet", len(met[0].pairs), len(met[1].pairs))
				}
				restored := newTwin(t, s, [2]op.Host{newHost(t), newHost(t)}, changelog.BuilderOptions{})
				defer restored.close()
				for i, groups := range []map[int][]byte{got, want} {
					if err := restored.ops[i].ProcessingTime(w.now, restored.outs[i]); err != nil {
						t.Fatal(err)
					}
					optest.RestoreSnapshot(t, restored.ops[i], groups, optest.Groups)
				}
				restored.now = w.now
				var b changelog.Batch
				for i := range 40 {
					kind, text := rows[i%2].next()
					restored.row(&b, i%2, kind, text)
				}
				restored.push(&b)
			})
		}
	})
}

// meetings is the pairs that a host's condition was asked about. One that never meet may be one that the condition fails for.
type meetings struct {
	op.Condition
	pairs map[string]bool
}

func (m meetings) Evaluate(left, right *rowstate.Rows, matches []bool) error {
	for i := range matches {
		m.pairs[fmt.Sprintf("%x %x", left.Row(i), right.Row(i))] = true
	}
	return m.Condition.Evaluate(left, right, matches)
}

// asked counts how often, and about how many pairs, a host's condition was asked.
type asked struct {
	op.Condition
	calls, pairs int
}

func (a *asked) Evaluate(left, right *rowstate.Rows, matches []bool) error {
	a.calls++
	a.pairs += len(matches)
	return a.Condition.Evaluate(left, right, matches)
}

// TestMixedConditions: the condition is evaluated for many rows at once, each pair once, though rows of both inputs come in
// turn, and those of a key meet within the batch.
func TestMixedConditions(t *testing.T) {
	for _, test := range []struct {
		name   string
		rows   int
		key    func(i int) int
		before int // rows of key 0 that were there before, on either side
		calls  int // at most
		pairs  int
	}{
		{"keys that meet within the batch", 400, func(i int) int { return i / 2 }, 0, 1, 200},
		{"one key", 400, func(int) int { return 0 }, 0, 100, 200 * 200},
		{"long chains", 40, func(int) int { return 0 }, 1100, 40 * 2, 40*1100 + 20*20},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &spec.Join{Name: "join", Version: 1, JoinType: spec.LeftJoin, FilterNulls: []bool{true},
				Left: spec.JoinSide{Keys: []int{0}}, Right: spec.JoinSide{Keys: []int{2}}, Condition: &spec.Condition{Host: true}}
			host := newHost(t)
			count := &asked{Condition: host.Condition}
			w := newTwin(t, s, [2]op.Host{{Condition: count}, host}, changelog.BuilderOptions{})
			defer w.close()
			row := func(b *changelog.Batch, i, input, key int) {
				columns := []map[string]int{leftColumns, rightColumns}[input]
				w.row(b, input, changelog.Insert, rowOf(columns, fmt.Sprint(key), `"g"`, fmt.Sprint(i), fmt.Sprint(i%7), `"s"`))
			}
			for input := range 2 {
				var b changelog.Batch
				for i := range test.before {
					row(&b, i, input, 0)
				}
				if test.before > 0 {
					pure := b.Slice(0, b.Len())
					for i, o := range w.ops {
						if err := o.Push(input, &pure, w.outs[i]); err != nil {
							t.Fatal(err)
						}
						if _, err := optest.DrainAll(o, w.outs[i]); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			var b changelog.Batch
			for i := range test.rows {
				row(&b, test.before+i, i%2, test.key(i))
			}
			*count = asked{Condition: count.Condition}
			if err := w.ops[0].(op.Mixed).PushMixed(&b, w.outs[0]); err != nil {
				t.Fatal(err)
			}
			got := w.drain(0, 0)
			if count.calls > test.calls || count.pairs != test.pairs {
				t.Errorf("%d calls about %d pairs, want at most %d about %d", count.calls, count.pairs, test.calls, test.pairs)
			}
			var want []string
			for from := 0; from < b.Len(); from++ {
				run := b.Slice(from, from+1)
				if err := w.ops[1].Push(int(b.Inputs[from]), &run, w.outs[1]); err != nil {
					t.Fatal(err)
				}
				want = append(want, w.drain(1, from)...)
			}
			w.compare(got, want)
		})
	}
}

func TestMixedRefusesBadBatches(t *testing.T) {
	f := open(t, on(spec.LeftJoin, func(s *spec.Join) { s.Right.UniqueKey = &[]int{1} }), 0)
	defer f.Close()
	good := f.BatchOf(0, `+I 1 "a"`, `+I 1 "a-string-of-some-length"`, `+I 1 "b"`)
	good.Inputs = []uint8{0, 1, 0}
	for what, change := range map[string]func(b *changelog.Batch){
		"3 rows with 2 inputs": func(b *changelog.Batch) { b.Inputs = b.Inputs[:2] },
		"row 2: input 2":       func(b *changelog.Batch) { b.Inputs[2] = 2 },
		"row 1: row kind 4":    func(b *changelog.Batch) { b.Kinds[1] = 4 },
		"offsets":              func(b *changelog.Batch) { b.Offsets = b.Offsets[:1] },
		"whole words":          func(b *changelog.Batch) { b.Offsets[1] -= 4 },
		"input 1: row 1: column 1": func(b *changelog.Batch) {
			b.Data[int(b.Offsets[1])+20] = 200
		},
	} {
		b := *good
		b.Kinds, b.Inputs = slices.Clone(b.Kinds), slices.Clone(b.Inputs)
		b.Offsets, b.Data = slices.Clone(b.Offsets), bytes.Clone(b.Data)
		change(&b)
		err := f.Op.(op.Mixed).PushMixed(&b, f.Out)
		if !errors.Is(err, op.ErrCorrupt) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: error %v", what, err)
		}
		if rows := f.Drain(); rows != nil || f.Stat("state.leftRows") != 0 || f.Op.(op.Resumer).Unfinished() {
			t.Errorf("%s: emitted %q, or stored, or has not ended", what, rows)
		}
	}
	if err := f.Op.(op.Mixed).PushMixed(&changelog.Batch{Offsets: []int32{0}}, f.Out); err != nil {
		t.Error(err)
	}
	f.expect(f.pushed(f.Op.(op.Mixed).PushMixed(good, f.Out)),
		`+I 1 "a" NULL NULL`, `-D 1 "a" NULL NULL`, `+I 1 "a" 1 "a-string-of-some-length"`, `+I 1 "b" 1 "a-string-of-some-length"`)
}

// An exhausted budget is told before anything has changed, of batches of both inputs as well.
func TestMixedBudget(t *testing.T) {
	f := open(t, on(spec.InnerJoin, nil), 2<<20)
	defer f.Close()
	for i := 0; ; i++ {
		var rows []string
		for j := range 400 {
			rows = append(rows, fmt.Sprintf(`+I %d "some payload of a row %d"`, i*400+j/2*2, j))
		}
		b := f.BatchOf(0, rows...)
		for j := range rows {
			b.Inputs = append(b.Inputs, uint8(j%2))
		}
		before := rowsOf(f.Op.Stats(nil))
		err := f.Op.(op.Mixed).PushMixed(b, f.Out)
		if err == nil {
			if got := len(f.Drain()); got != 200 {
				t.Fatalf("%d rows came out of batch %d", got, i)
			}
			continue
		}
		var exhausted *rowstate.BudgetError
		if !errors.As(err, &exhausted) || i < 5 {
			t.Fatalf("batch %d: %v", i, err)
		}
		if after := rowsOf(f.Op.Stats(nil)); !slices.Equal(before, after) || f.Op.(op.Resumer).Unfinished() || f.Drain() != nil {
			t.Errorf("state %v, want %v", after, before)
		}
		return
	}
}
