package join_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"drey/native"
	"drey/native/binrow"
	"drey/native/changelog"
	"drey/native/javamap"
	"drey/native/keygroup"
	"drey/native/logical"
	"drey/native/op"
	"drey/native/optest"
	"drey/native/spec"
	"drey/rowstate"
)

// modelBundle is a bundle of the mini-batch operator. Its maps iterate as the JDK's do, which javamap tests.
type modelBundle struct {
	m     *model
	keyOf [2]func(row []byte) []byte
	idOf  [2]func(row []byte) []byte
	sides [2]javamap.Map[*modelKey]
	count int
}

// modelKey is the messages of a join key: by unique key, by hash of the row, or all in one list.
type modelKey struct {
	lists javamap.Map[[]modelMessage]
}

type modelMessage struct {
	kind changelog.RowKind
	row  modelRow
}

func newModelBundle(t testing.TB, m *model, inputs []logical.Row) *modelBundle {
	b := &modelBundle{m: m}
	project := func(row logical.Row, columns []int) func([]byte) []byte {
		p, err := binrow.NewProjector(row.Types(), columns)
		if err != nil {
			t.Fatal(err)
		}
		return func(row []byte) []byte {
			var keys rowstate.Rows
			keys.Reset(p.Width())
			p.Append(row, &keys)
			return keys.Row(0)
		}
	}
	for i, d := range m.sides {
		b.keyOf[i] = project(inputs[i], d.spec.Keys)
		switch {
		case d.spec.UniqueKey == nil:
			b.idOf[i] = func(row []byte) []byte { return row }
		case d.spec.KeysContainUniqueKey():
			b.idOf[i] = func([]byte) []byte { return nil }
		default:
			b.idOf[i] = project(inputs[i], *d.spec.UniqueKey)
		}
	}
	return b
}

// add adds a row, folded by the rules of the bundle of its side. Each access to Flink's maps is one here.
func (b *modelBundle) add(input int, kind changelog.RowKind, text string, row []byte) {
	b.count++
	key, id := b.keyOf[input](row), b.idOf[input](row)
	keyHash, idHash := keygroup.Hash(key), keygroup.Hash(id)
	counted := b.m.sides[input].spec.UniqueKey == nil
	if counted {
		id = nil // the map's keys are hash codes
	}
	list := func() *[]modelMessage {
		k := b.sides[input].Of(key, keyHash)
		if *k == nil {
			*k = new(modelKey)
		}
		return (*k).lists.Of(id, idHash)
	}
	messages := list()
	gone := false
	for i := len(*messages) - 1; i >= 0; i-- {
		old := (*messages)[i]
		opposite := old.kind.IsAccumulate() != kind.IsAccumulate()
		if counted {
			if gone = opposite && old.row.text == text; gone {
				*messages = slices.Delete(*messages, i, i+1)
				break
			}
			continue
		}
		gone = old.kind.IsAccumulate() && !kind.IsAccumulate()
		if gone || !opposite {
			*messages = slices.Delete(*messages, i, i+1)
		}
		break
	}
	if !gone {
		messages = list()
		*messages = append(*messages, modelMessage{kind, newRow(text)})
		return
	}
	if k := *b.sides[input].Of(key, keyHash); len(*messages) == 0 {
		if k.lists.Remove(id, idHash); k.lists.Len() == 0 {
			b.sides[input].Remove(key, keyHash)
		}
	}
}

// end joins what is in the bundle.
func (b *modelBundle) end() {
	order := []int{1, 0}
	if b.m.s.JoinType == spec.RightJoin {
		order = []int{0, 1}
	}
	for _, input := range order {
		counted := b.m.sides[input].spec.UniqueKey == nil
		keys := &b.sides[input]
		if counted {
			keys = new(javamap.Map[*modelKey])
			b.sides[input].All(func(key []byte, k **modelKey) { *keys.Of(key, keygroup.Hash(key)) = *k })
		}
		keys.All(func(_ []byte, k **modelKey) {
			(*k).lists.All(func(_ []byte, list *[]modelMessage) {
				update := !counted && len(*list) == 2
				for _, m := range *list {
					b.m.push(input, m.kind, m.row, update)
				}
			})
		})
	}
	for i := range b.sides {
		b.sides[i].Clear()
	}
	b.count = 0
}

// TestBundlesAgainstModel plays random changelogs through the mini-batch operator.
func TestBundlesAgainstModel(t *testing.T) {
	optest.Seeds(t, 3, func(t *testing.T, rng *rand.Rand) {
		for _, s := range variants(rng) {
			if s.JoinType == spec.SemiJoin || s.JoinType == spec.AntiJoin {
				continue
			}
			s.MiniBatch = &spec.JoinMiniBatch{Size: int64(1 + rng.IntN(60))}
			t.Run(fmt.Sprintf("%s/%s", s.JoinType, spec.Encode(s)), func(t *testing.T) { playBundles(t, rng, s) })
		}
	})
}

func playBundles(t *testing.T, rng *rand.Rand, s *spec.Join) {
	sc, codecs, parse := emptyScenario(t, s)
	budget := rowstate.NewBudget(0)
	o, err := native.Open(sc.Spec, sc.Inputs, optest.Groups, budget, newHost(t))
	if err != nil {
		t.Fatal(err)
	}
	defer optest.CloseAndCheck(t, o, budget)
	out := changelog.NewBuilder(changelog.BuilderOptions{Rows: 5, Bytes: 300})
	m := newModel(s, [2]string{nullRow, nullRow}, conditionOf(s))
	b := newModelBundle(t, m, sc.Inputs)
	rows := inputRows(rng, []int{1, 3, 30}[rng.IntN(3)])
	text := func(kind changelog.RowKind, row []byte, right []byte) string {
		return fmt.Sprintf("%s %x %x", kind, row, right)
	}
	compare := func(what string) {
		t.Helper()
		var want, got []string
		for _, o := range m.take(parse) {
			want = append(want, text(o.Kind, o.Row, nil))
		}
		emitted, err := optest.DrainAll(o, out)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range emitted {
			if e.Source != changelog.NoSource {
				t.Errorf("%s: a row of a bundle has source %d", what, e.Source)
			}
			wide := parse(e.Kind, wideText(codecs, e))
			got = append(got, text(wide.Kind, wide.Row, nil))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s: got\n%q\nwant\n%q", what, got, want)
		}
	}
	for round := range 40 {
		input := rng.IntN(2)
		batch := &changelog.Batch{Now: m.now, Offsets: []int32{0}}
		for range rng.IntN(30) {
			kind, rowText := rows[input].next()
			_, row, err := codecs[input].Parse(kind.String() + " " + rowText)
			if err != nil {
				t.Fatal(err)
			}
			batch.Kinds, batch.Data = append(batch.Kinds, kind), append(batch.Data, row...)
			batch.Offsets = append(batch.Offsets, int32(len(batch.Data)))
			b.add(input, kind, rowText, row)
			if int64(b.count) >= s.MiniBatch.Size {
				b.end()
			}
		}
		if err := o.Push(input, batch, out); err != nil {
			t.Fatal(err)
		}
		compare(fmt.Sprintf("round %d", round))
		if rng.IntN(4) == 0 {
			b.end()
			if rng.IntN(2) == 0 {
				err = o.Flush(out)
			} else {
				err = o.Watermark(int64(round), out)
			}
			if err != nil {
				t.Fatal(err)
			}
			compare(fmt.Sprintf("flush after round %d", round))
		}
		m.now += int64(rng.IntN(20))
		if err := o.ProcessingTime(m.now, out); err != nil {
			t.Fatal(err)
		}
	}
}

// wideText is the text of the fields of both rows.
func wideText(codecs [2]*optest.Codec, e optest.Emitted) string {
	kind := e.Kind.String()
	return codecs[0].Format(e.Kind, e.Row)[len(kind)+1:] + " " + codecs[1].Format(e.Kind, e.Right)[len(kind)+1:]
}

// A budget that is exhausted at the end of a bundle, when one side may have been joined already, is the end of the operator:
// it stays unfinished, by which the boundary knows.
func TestBundleBudget(t *testing.T) {
	f := open(t, on(spec.InnerJoin, func(s *spec.Join) { s.MiniBatch = &spec.JoinMiniBatch{Size: 1 << 40} }), 4<<20)
	defer f.Close()
	for i := range 400 {
		for input := range 2 {
			var rows []string
			for j := range 500 {
				rows = append(rows, fmt.Sprintf(`+I %d "some payload"`, i*500+j))
			}
			f.PushTo(input, rows...)
		}
		err := f.Op.Flush(f.Out)
		if err == nil {
			if got := len(f.Drain()); got != 500 {
				t.Fatalf("%d rows came out of bundle %d", got, i)
			}
			continue
		}
		var exhausted *rowstate.BudgetError
		if !errors.As(err, &exhausted) || i < 5 {
			t.Fatalf("bundle %d: %v", i, err)
		}
		if !f.Op.(op.Resumer).Unfinished() {
			t.Error("the operator could go on")
		}
		return
	}
	t.Error("the budget is never exhausted")
}
