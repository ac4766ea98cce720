package join_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"drey/native"
	"drey/native/binrow"
	"drey/native/changelog"
	"drey/native/expr"
	"drey/native/logical"
	"drey/native/op"
	"drey/native/optest"
	"drey/native/spec"
	"drey/rowstate"
)

// The inputs of all random tests. The columns of the right one stand elsewhere.
const (
	leftFields  = `[{"name":"k","type":"BIGINT"},{"name":"g","type":"STRING"},{"name":"id","type":"INT"},{"name":"v","type":"BIGINT"},{"name":"s","type":"STRING"}]`
	rightFields = `[{"name":"v","type":"BIGINT"},{"name":"s","type":"STRING"},{"name":"k","type":"BIGINT"},{"name":"id","type":"INT"},{"name":"g","type":"STRING"}]`
)

var (
	leftColumns  = map[string]int{"k": 0, "g": 1, "id": 2, "v": 3, "s": 4}
	rightColumns = map[string]int{"v": 0, "s": 1, "k": 2, "id": 3, "g": 4}
)

func rowOf(columns map[string]int, k, g, id, v, s string) string {
	f := make([]string, 5)
	f[columns["k"]], f[columns["g"]], f[columns["id"]], f[columns["v"]], f[columns["s"]] = k, g, id, v, s
	return fmt.Sprintf("%s %s %s %s %s", f[0], f[1], f[2], f[3], f[4])
}

var joinTypes = []string{spec.InnerJoin, spec.LeftJoin, spec.RightJoin, spec.FullJoin, spec.SemiJoin, spec.AntiJoin}

// variants is every join type with every pair of shapes and some condition, keys and retention.
func variants(rng *rand.Rand) []*spec.Join {
	index := func(i int) *int { return &i }
	less := &spec.Condition{Expr: &expr.Expr{Op: "<", Type: "BOOLEAN", Args: []expr.Expr{
		{Op: "REF", Index: index(3), Type: "BIGINT"}, {Op: "REF", Index: index(5), Type: "BIGINT"},
	}}}
	var list []*spec.Join
	for _, joinType := range joinTypes {
		for shapes := range 9 {
			if testing.Short() && rng.IntN(6) > 0 {
				continue // the race detector takes ten times as long
			}
			s := &spec.Join{Name: "join", Version: 1, JoinType: joinType, Condition: []*spec.Condition{nil, less, {Host: true}}[rng.IntN(3)]}
			key := [][]string{{"k"}, {"k"}, {"g", "k"}, {}}[rng.IntN(4)]
			s.FilterNulls = []bool{}
			for range key {
				s.FilterNulls = append(s.FilterNulls, rng.IntN(3) > 0)
			}
			side := func(columns map[string]int, shape int) spec.JoinSide {
				d := spec.JoinSide{Keys: []int{}}
				for _, name := range key {
					d.Keys = append(d.Keys, columns[name])
				}
				switch shape {
				case 1:
					d.UniqueKey = &[][]int{{columns["id"]}, {columns["id"], columns["g"]}}[rng.IntN(2)]
				case 2:
					d.UniqueKey = &[]int{}
					if len(key) > 0 {
						d.UniqueKey = &[]int{columns["k"]}
					}
				}
				if rng.IntN(3) == 0 {
					d.StateTTLMillis = int64(1 + rng.IntN(100))
				}
				return d
			}
			s.Left, s.Right = side(leftColumns, shapes%3), side(rightColumns, shapes/3)
			list = append(list, s)
		}
	}
	return list
}

// condition is the predicate of variants, for the model.
func conditionOf(s *spec.Join) func(left, right modelRow) bool {
	if s.Condition == nil {
		return nil
	}
	return func(left, right modelRow) bool {
		a, err1 := strconv.Atoi(left.fields[leftColumns["v"]])
		b, err2 := strconv.Atoi(right.fields[rightColumns["v"]])
		return err1 == nil && err2 == nil && a < b
	}
}

// hostCondition is the predicate of variants, as a host has it.
type hostCondition struct{ left, right *binrow.Layout }

func newHost(t testing.TB) op.Host {
	c := hostCondition{}
	for i, fields := range []string{leftFields, rightFields} {
		row, err := logical.ParseFields([]byte(fields))
		if err != nil {
			t.Fatal(err)
		}
		l, err := binrow.NewLayout(row.Types())
		if err != nil {
			t.Fatal(err)
		}
		*[]**binrow.Layout{&c.left, &c.right}[i] = l
	}
	return op.Host{Condition: c}
}

func (c hostCondition) Evaluate(left, right *rowstate.Rows, matches []bool) error {
	for i := range matches {
		l, r := left.Row(i), right.Row(i)
		a, b := leftColumns["v"], rightColumns["v"]
		matches[i] = !c.left.IsNull(l, a) && !c.right.IsNull(r, b) && c.left.Int64(l, a) < c.right.Int64(r, b)
	}
	return nil
}

// TestAgainstModel plays random changelogs through every join type and shape, with random batch sizes, restores and
// rescales.
func TestAgainstModel(t *testing.T) {
	optest.Seeds(t, 3, func(t *testing.T, rng *rand.Rand) {
		for _, s := range variants(rng) {
			name, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			scenario := randomScenario(t, rng, s, inputRows(rng, []int{1, 3, 20}[rng.IntN(3)]), 150+rng.IntN(200))
			size, between := 1+rng.IntN(40), []string{"nothing", "restore", "rescale"}[rng.IntN(3)]
			mixed := rng.IntN(3) > 0
			t.Run(fmt.Sprintf("%s/batch=%d/mixed=%v/between=%s", name, size, mixed, between), func(t *testing.T) {
				scenario.Play(t, native.Open, optest.Options{Seldom: 1 + rng.IntN(20), Mixed: mixed, Host: newHost(t)}, size, between)
			})
		}
	})
}

// TestLongChains is TestAgainstModel with keys of hundreds of rows, few of which match.
func TestLongChains(t *testing.T) {
	optest.Seeds(t, 1, func(t *testing.T, rng *rand.Rand) {
		for _, s := range variants(rng) {
			if s.Left.UniqueKey != nil && s.Left.KeysContainUniqueKey() || s.Right.UniqueKey != nil && s.Right.KeysContainUniqueKey() {
				continue
			}
			s.Left.StateTTLMillis, s.Right.StateTTLMillis = s.Left.StateTTLMillis*20, s.Right.StateTTLMillis*20
			s.Condition = &spec.Condition{Host: true}
			rows := inputRows(rng, 1)
			for i, r := range rows {
				r.ids, r.values, r.stay = 1000, []int{1000, 8}[i], 4
			}
			scenario := randomScenario(t, rng, s, rows, 1200)
			between := []string{"nothing", "restore"}[rng.IntN(2)]
			t.Run(fmt.Sprintf("%s/%s/between=%s", s.JoinType, spec.Encode(s), between), func(t *testing.T) {
				scenario.Play(t, native.Open, optest.Options{Seldom: 40, Mixed: rng.IntN(2) == 0, Host: newHost(t)}, 1+rng.IntN(100), between)
			})
		}
	})
}

// randomRows makes a changelog of one input: mostly rows that come and go, some that go without having come.
type randomRows struct {
	rng     *rand.Rand
	columns map[string]int
	keys    int
	ids     int
	values  int
	live    []string
	stay    int // one row in so many is retracted; 0: two in five
}

func (r *randomRows) next() (changelog.RowKind, string) {
	rng := r.rng
	retract := []changelog.RowKind{changelog.UpdateBefore, changelog.Delete}[rng.IntN(2)]
	leave := rng.IntN(5) < 2
	if r.stay > 0 {
		leave = rng.IntN(r.stay) == 0
	}
	if n := len(r.live); n > 0 && leave {
		i := rng.IntN(n)
		text := r.live[i]
		r.live[i] = r.live[n-1]
		r.live = r.live[:n-1]
		return retract, text
	}
	number := func(n int) string {
		if rng.IntN(10) == 0 {
			return "NULL"
		}
		return strconv.Itoa(rng.IntN(n))
	}
	text := rowOf(r.columns, number(r.keys), []string{"NULL", `"a"`, `"a-long-group-name"`}[rng.IntN(3)], number(r.ids), number(r.values),
		[]string{`"x"`, `"something-longer-than-that"`, "NULL"}[rng.IntN(3)])
	if n := len(r.live); n > 0 && rng.IntN(6) == 0 {
		text = r.live[rng.IntN(n)] // a duplicate
	}
	if rng.IntN(8) == 0 {
		return retract, text
	}
	r.live = append(r.live, text)
	return []changelog.RowKind{changelog.Insert, changelog.UpdateAfter}[rng.IntN(2)], text
}

// inputRows are generators of both inputs.
func inputRows(rng *rand.Rand, keys int) [2]*randomRows {
	return [2]*randomRows{
		{rng: rng, columns: leftColumns, keys: keys, ids: 6, values: 5}, {rng: rng, columns: rightColumns, keys: keys, ids: 6, values: 5},
	}
}

const nullRow = "NULL NULL NULL NULL NULL"

// emptyScenario is a scenario of a specification, and what parses rows of its inputs and its output.
func emptyScenario(t testing.TB, s *spec.Join) (*optest.Scenario, [2]*optest.Codec, func(changelog.RowKind, string) optest.Output) {
	t.Helper()
	sc := &optest.Scenario{Spec: spec.Encode(s)}
	var codecs [2]*optest.Codec
	for i, fields := range []string{leftFields, rightFields} {
		row, err := logical.ParseFields([]byte(fields))
		if err != nil {
			t.Fatal(err)
		}
		sc.Inputs = append(sc.Inputs, row)
		if codecs[i], err = optest.NewCodec(row); err != nil {
			t.Fatal(err)
		}
	}
	sc.Output = sc.Inputs[0]
	if s.JoinType != spec.SemiJoin && s.JoinType != spec.AntiJoin {
		sc.Output = logical.Row{Fields: append(append([]logical.Field{}, sc.Inputs[0].Fields...), sc.Inputs[1].Fields...)}
	}
	out, err := optest.NewCodec(sc.Output)
	if err != nil {
		t.Fatal(err)
	}
	return sc, codecs, func(kind changelog.RowKind, text string) optest.Output {
		_, row, err := out.Parse(kind.String() + " " + text)
		if err != nil {
			t.Fatal(err)
		}
		return optest.Output{Kind: kind, Row: row}
	}
}

func randomScenario(t *testing.T, rng *rand.Rand, s *spec.Join, rows [2]*randomRows, events int) *optest.Scenario {
	sc, codecs, parse := emptyScenario(t, s)
	m := newModel(s, [2]string{nullRow, nullRow}, conditionOf(s))
	input := 0
	for line := range events {
		switch rng.IntN(20) {
		case 0:
			m.now += int64(rng.IntN(60))
			sc.Events = append(sc.Events, optest.Event{Line: line, Kind: optest.Now, Value: m.now})
			continue
		case 1, 2, 3, 4:
			input = 1 - input
		}
		kind, text := rows[input].next()
		m.push(input, kind, newRow(text), false)
		_, row, err := codecs[input].Parse(kind.String() + " " + text)
		if err != nil {
			t.Fatal(err)
		}
		sc.Events = append(sc.Events, optest.Event{Line: line, Input: input, Row: optest.Output{Kind: kind, Row: row}, Want: m.take(parse)})
	}
	return sc
}
