package agg_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"sort"
	"strconv"
	"strings"

	"drey/native/logical"
	"drey/native/spec"
)

// The model is Flink's functions in the fewest words: builtin maps and slices of Go values, big numbers, no bytes. A value is
// nil, bool, int64, float32, float64, *big.Int (the unscaled value of a decimal) or string; timestamps are strings that
// sort as they do.
type model struct {
	s      *spec.GroupAggregate
	types  []logical.Type
	groups map[string]*modelGroup
	now    int64
}

type modelGroup struct {
	key     []any
	written int64
	calls   []modelCall
	views   map[string]map[string]*modelEntry // arguments of the view, then value
}

type modelEntry struct {
	counts  map[int]int64
	written int64
}

// modelText is an element of a ListView.
type modelText struct {
	text    string
	written int64
}

// modelCall is what a function remembers.
type modelCall struct {
	count  int64
	sum    any
	value  any
	size   int64
	counts map[string]*modelEntry // of a retracting MIN or MAX
	values map[string]any
	list   []modelText
	any    []any
	delim  any
}

func newModel(s *spec.GroupAggregate, input logical.Row) *model {
	return &model{s: s, types: input.Types(), groups: map[string]*modelGroup{}}
}

func (m *model) keyOf(row []any) string {
	var parts []string
	for _, c := range m.s.Grouping {
		parts = append(parts, javaKey(row[c]))
	}
	return strings.Join(parts, "|")
}

// javaKey is equal for values that are equal in Java.
func javaKey(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case float64:
		if v != v {
			return "NaN"
		}
		return fmt.Sprintf("%x", math.Float64bits(v))
	case float32:
		if v != v {
			return "NaN"
		}
		return fmt.Sprintf("%x", math.Float32bits(v))
	}
	return fmt.Sprintf("%q", fmt.Sprint(v))
}

func (m *model) ttlOver(written int64) bool {
	return m.s.StateTTLMillis > 0 && written+m.s.StateTTLMillis <= m.now
}

// group is a group's accumulator, or nil.
func (m *model) group(key string) *modelGroup {
	g := m.groups[key]
	if g != nil && m.ttlOver(g.written) {
		delete(m.groups, key)
		return nil
	}
	return g
}

func (m *model) newGroup(row []any) *modelGroup {
	g := &modelGroup{calls: make([]modelCall, len(m.s.AggCalls)), views: map[string]map[string]*modelEntry{}}
	for _, c := range m.s.Grouping {
		g.key = append(g.key, row[c])
	}
	for i, c := range m.s.AggCalls {
		k := &g.calls[i]
		k.counts, k.values, k.delim = map[string]*modelEntry{}, map[string]any{}, ","
		zero := c.Function == spec.Sum0
		if c.Function == spec.Avg || zero {
			switch t := m.types[c.ArgList[0]]; t.Kind {
			case logical.Decimal:
				k.sum = big.NewInt(0)
			case logical.Float:
				k.sum = float32(0)
				if !zero {
					k.sum = float64(0)
				}
			case logical.Double:
				k.sum = float64(0)
			default:
				k.sum = int64(0)
			}
		}
	}
	return g
}

// push is GroupAggHelper.processElement; what comes out are lines of text.
func (m *model) push(kind string, row []any) []string {
	accumulates := kind == "+I" || kind == "+U"
	key := m.keyOf(row)
	g := m.group(key)
	first := g == nil
	if first {
		if !accumulates {
			return nil
		}
		g = m.newGroup(row)
	}
	before := m.results(g)
	m.apply(g, accumulates, row)
	return m.answer(key, g, first, before)
}

// bundle is MiniBatchGroupAggFunction.finishBundle for one key.
func (m *model) bundle(kinds []string, rows [][]any) []string {
	key := m.keyOf(rows[0])
	g := m.group(key)
	first := g == nil
	var before []any
	for i, row := range rows {
		accumulates := kinds[i] == "+I" || kinds[i] == "+U"
		if g == nil {
			if !accumulates {
				continue
			}
			g = m.newGroup(row)
		}
		if i == 0 || before == nil {
			before = m.results(g)
		}
		m.apply(g, accumulates, row)
	}
	if g == nil {
		return nil
	}
	return m.answer(key, g, first, before)
}

func (m *model) answer(key string, g *modelGroup, first bool, before []any) []string {
	after := m.results(g)
	line := func(kind string, values []any) string { return m.line(kind, g.key, values) }
	if m.s.NeedRetraction && g.calls[*m.s.IndexOfCountStar].count == 0 {
		delete(m.groups, key)
		if first {
			return nil
		}
		return []string{line("-D", before)}
	}
	g.written = m.now
	m.groups[key] = g
	switch {
	case first:
		return []string{line("+I", after)}
	case m.s.StateTTLMillis == 0 && equalResults(before, after):
		return nil
	case m.s.GenerateUpdateBefore:
		return []string{line("-U", before), line("+U", after)}
	}
	return []string{line("+U", after)}
}

func equalResults(a, b []any) bool {
	for i := range a {
		switch x := a[i].(type) {
		case float64:
			if y, ok := b[i].(float64); !ok || x != y {
				return false
			}
		case float32:
			if y, ok := b[i].(float32); !ok || x != y {
				return false
			}
		default:
			if javaKey(a[i]) != javaKey(b[i]) {
				return false
			}
		}
	}
	return true
}

func (m *model) line(kind string, key, values []any) string {
	texts := []string{kind}
	for i, v := range key {
		texts = append(texts, textOf(v, m.types[m.s.Grouping[i]]))
	}
	at := 0
	for i, c := range m.s.AggCalls {
		if m.s.CountStarInserted && i == *m.s.IndexOfCountStar {
			continue
		}
		t, _ := logical.Parse(c.Type)
		texts = append(texts, textOf(values[at], t))
		at++
	}
	return strings.Join(texts, " ")
}

// textOf is a value in the form of scenarios.
func textOf(v any, t logical.Type) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case float32:
		return floatText(float64(v), 32)
	case float64:
		return floatText(v, 64)
	case *big.Int:
		text := new(big.Int).Abs(v).String()
		if t.Scale > 0 {
			text = strings.Repeat("0", max(0, t.Scale+1-len(text))) + text
			text = text[:len(text)-t.Scale] + "." + text[len(text)-t.Scale:]
		}
		if v.Sign() < 0 {
			text = "-" + text
		}
		return text
	case string:
		if t.Kind == logical.Timestamp || t.Kind == logical.TimestampLTZ {
			return timeText(v, t.Precision)
		}
		return quote(v)
	}
	return fmt.Sprint(v)
}

func floatText(v float64, bits int) string {
	return strings.Replace(strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, bits), "+"), "Inf", "Infinity", 1)
}

// timeOf is a timestamp as a string that sorts as it does.
func timeOf(millis int64, nanos int) string { return fmt.Sprintf("%020d+%06d", millis+1<<60, nanos) }

func timeText(v string, precision int) string {
	millis, _ := strconv.ParseInt(v[:20], 10, 64)
	text := strconv.FormatInt(millis-1<<60, 10)
	if precision > 3 {
		nanos, _ := strconv.Atoi(v[21:])
		text += "+" + strconv.Itoa(nanos)
	}
	return text
}

func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always encode
	}
	return string(text)
}

// apply is accumulate or retract of the generated AggsHandleFunction.
func (m *model) apply(g *modelGroup, accumulates bool, row []any) {
	seen := map[string]bool{}
	for i, c := range m.s.AggCalls {
		if viewed(c) {
			view := fmt.Sprint(c.ArgList)
			if !seen[view] {
				seen[view] = true
				m.applyView(g, view, c.ArgList, accumulates, row)
			}
			continue
		}
		if m.passes(c, row) {
			m.applyCall(g, i, accumulates, row)
		}
	}
}

// viewed tells whether a call sees distinct values only; MIN and MAX don't care.
func viewed(c spec.AggregateCall) bool {
	return c.Distinct && len(c.ArgList) > 0 && c.Function != spec.Min && c.Function != spec.Max
}

func (m *model) passes(c spec.AggregateCall, row []any) bool {
	return c.FilterArg < 0 || row[c.FilterArg] == true
}

func (m *model) applyView(g *modelGroup, view string, args []int, accumulates bool, row []any) {
	var parts []string
	for _, a := range args {
		parts = append(parts, javaKey(row[a]))
	}
	value := strings.Join(parts, "|")
	entries := g.views[view]
	if entries == nil {
		entries = map[string]*modelEntry{}
		g.views[view] = entries
	}
	e := entries[value]
	if e == nil || m.ttlOver(e.written) {
		e = &modelEntry{counts: map[int]int64{}}
	}
	looked := false // a view whose calls all have filters does not even look at a row that passes none
	for _, c := range m.s.AggCalls {
		looked = looked || viewed(c) && fmt.Sprint(c.ArgList) == view && m.passes(c, row)
	}
	if !looked {
		return
	}
	changed := m.s.NeedRetraction
	for i, c := range m.s.AggCalls {
		if !viewed(c) || fmt.Sprint(c.ArgList) != view || !m.passes(c, row) {
			continue
		}
		switch {
		case !m.s.NeedRetraction:
			if e.counts[i] == 0 {
				e.counts[i] = 1
				changed = true
				m.applyCall(g, i, true, row)
			}
		case accumulates:
			if e.counts[i]++; e.counts[i] == 1 {
				m.applyCall(g, i, true, row)
			}
		default:
			if e.counts[i]--; e.counts[i] == 0 {
				m.applyCall(g, i, false, row)
			}
		}
	}
	empty := true
	for _, n := range e.counts {
		empty = empty && n == 0
	}
	if empty {
		delete(entries, value)
	} else if changed {
		e.written = m.now
		entries[value] = e
	}
}

var limit = new(big.Int).Exp(big.NewInt(10), big.NewInt(38), nil)

// plus adds or subtracts as the generated code does for a type; nil if a decimal has too many digits.
func plus(t logical.Type, a, b any, minus bool) any {
	sign := 1
	if minus {
		sign = -1
	}
	switch a := a.(type) {
	case int64:
		v := a + int64(sign)*b.(int64)
		switch t.Kind {
		case logical.TinyInt:
			return int64(int8(v))
		case logical.SmallInt:
			return int64(int16(v))
		case logical.Integer:
			return int64(int32(v))
		}
		return v
	case float32:
		return a + float32(sign)*b.(float32)
	case float64:
		if f, ok := b.(float32); ok {
			b = float64(f)
		}
		return a + float64(sign)*b.(float64)
	case *big.Int:
		v := new(big.Int).Mul(b.(*big.Int), big.NewInt(int64(sign)))
		if v.Add(v, a).CmpAbs(limit) >= 0 {
			return nil
		}
		return v
	}
	return nil
}

func zeroOf(v any) any {
	switch v.(type) {
	case float32:
		return float32(0)
	case float64:
		return float64(0)
	case *big.Int:
		return big.NewInt(0)
	}
	return int64(0)
}

func (m *model) applyCall(g *modelGroup, i int, accumulates bool, row []any) {
	c, k := m.s.AggCalls[i], &g.calls[i]
	n := int64(1)
	if !accumulates {
		n = -1
	}
	if len(c.ArgList) == 0 {
		k.count += n
		return
	}
	v, t := row[c.ArgList[0]], m.types[c.ArgList[0]]
	if v == nil {
		return
	}
	retracts := m.s.AggCallNeedRetractions[i]
	switch c.Function {
	case spec.Count:
		k.count += n
	case spec.Sum:
		switch {
		case k.sum != nil:
			k.sum = plus(t, k.sum, v, !accumulates)
		case accumulates:
			k.sum = v
		default:
			k.sum = plus(t, zeroOf(v), v, true)
		}
		k.count += n
	case spec.Sum0:
		if k.sum != nil {
			k.sum = plus(t, k.sum, v, !accumulates)
		}
	case spec.Avg:
		if k.sum != nil {
			if t.Kind != logical.Decimal {
				t = logical.Type{Kind: logical.BigInt}
			}
			k.sum = plus(t, k.sum, v, !accumulates)
		}
		k.count += n
	case spec.Min, spec.Max:
		if retracts {
			m.applySet(k, c.Function == spec.Max, accumulates, v)
		} else if accumulates {
			if k.value == nil || less(v, k.value) && c.Function == spec.Min || less(k.value, v) && c.Function == spec.Max {
				k.value = v
			}
		}
	case spec.FirstValue, spec.LastValue:
		switch {
		case retracts && accumulates:
			k.any = append(k.any, v)
		case retracts:
			if at := slices.IndexFunc(k.any, func(w any) bool { return javaKey(w) == javaKey(v) }); at >= 0 {
				k.any = slices.Delete(k.any, at, at+1)
			}
		case c.Function == spec.LastValue || k.value == nil:
			k.value = v
		}
	case spec.ListAgg:
		m.applyList(k, c, retracts, accumulates, row)
	}
}

func (m *model) applyList(k *modelCall, c spec.AggregateCall, retracts, accumulates bool, row []any) {
	text, delimiter := row[c.ArgList[0]].(string), any(",")
	if len(c.ArgList) > 1 {
		delimiter = row[c.ArgList[1]]
		k.delim = delimiter
	}
	switch {
	case !retracts && k.value == nil:
		k.value = text
	case !retracts && delimiter == nil:
		k.value = nil
	case !retracts:
		k.value = k.value.(string) + delimiter.(string) + text
	case accumulates:
		k.list = append(k.list, modelText{text, m.now})
	default:
		// StateListView.remove: an expired element can't be seen, and all others are written again.
		there := m.texts(k)
		if at := slices.Index(there, text); at >= 0 {
			k.list = nil
			for _, t := range slices.Delete(there, at, at+1) {
				k.list = append(k.list, modelText{t, m.now})
			}
		}
	}
}

// texts are those of a list that have not expired.
func (m *model) texts(k *modelCall) []string {
	var texts []string
	for _, t := range k.list {
		if !m.ttlOver(t.written) {
			texts = append(texts, t.text)
		}
	}
	return texts
}

// less is SQL's <.
func less(a, b any) bool {
	switch a := a.(type) {
	case bool:
		return !a && b.(bool)
	case int64:
		return a < b.(int64)
	case float32:
		return a < b.(float32)
	case float64:
		return a < b.(float64)
	case *big.Int:
		return a.Cmp(b.(*big.Int)) < 0
	}
	return a.(string) < b.(string)
}

// compareTo is Java's.
func compareTo(a, b any) int {
	rank := func(v float64) int { // apart from the order of numbers
		switch {
		case v != v:
			return 2
		case v == 0 && math.Signbit(v):
			return 0
		case v == 0:
			return 1
		}
		return 1
	}
	if f, ok := a.(float32); ok {
		a, b = float64(f), float64(b.(float32))
	}
	if x, ok := a.(float64); ok {
		y := b.(float64)
		if x < y {
			return -1
		} else if x > y {
			return 1
		}
		return rank(x) - rank(y)
	}
	switch {
	case less(a, b):
		return -1
	case less(b, a):
		return 1
	}
	return 0
}

// applySet is Min- and MaxWithRetractAggFunction.
func (m *model) applySet(k *modelCall, isMax, accumulates bool, v any) {
	better := func(c int) bool { return isMax && c > 0 || !isMax && c < 0 }
	key := javaKey(v)
	count := int64(0)
	if e := k.counts[key]; e != nil && !m.ttlOver(e.written) {
		count = e.counts[0]
	}
	put := func() {
		if count == 0 {
			delete(k.counts, key)
			return
		}
		k.counts[key] = &modelEntry{counts: map[int]int64{0: count}, written: m.now}
		k.values[key] = v
	}
	if accumulates {
		if k.size == 0 || better(compareTo(v, k.value)) {
			k.value = v
		}
		count++
		put()
		if count == 1 {
			k.size++
		}
		return
	}
	count--
	put()
	if count != 0 {
		return
	}
	if k.size--; k.size == 0 {
		k.value = nil
		return
	}
	if javaKey(k.value) != key {
		return
	}
	k.value = nil
	for key, e := range k.counts {
		if w := k.values[key]; !m.ttlOver(e.written) && (k.value == nil || better(compareTo(w, k.value))) {
			k.value = w
		}
	}
	if k.value == nil {
		k.size = 0
	}
}

// results is getValue.
func (m *model) results(g *modelGroup) []any {
	var values []any
	for i, c := range m.s.AggCalls {
		if !m.s.CountStarInserted || i != *m.s.IndexOfCountStar {
			values = append(values, m.result(c, &g.calls[i], m.s.AggCallNeedRetractions[i]))
		}
	}
	return values
}

func (m *model) result(c spec.AggregateCall, k *modelCall, retracts bool) any {
	switch c.Function {
	case spec.Count:
		return k.count
	case spec.Sum:
		if retracts && k.count == 0 {
			return nil
		}
		return k.sum
	case spec.Sum0:
		return k.sum
	case spec.Avg:
		return modelAverage(k.sum, k.count, m.types[c.ArgList[0]])
	case spec.Min, spec.Max:
		if retracts && k.size <= 0 {
			return nil
		}
		return k.value
	case spec.FirstValue, spec.LastValue:
		switch {
		case !retracts:
			return k.value
		case len(k.any) == 0:
			return nil
		case c.Function == spec.FirstValue:
			return k.any[0]
		}
		return k.any[len(k.any)-1]
	}
	if !retracts {
		return k.value
	}
	texts := m.texts(k)
	if len(texts) == 0 || k.delim == nil {
		return nil
	}
	return strings.Join(texts, k.delim.(string))
}

func modelAverage(sum any, count int64, t logical.Type) any {
	if count == 0 || sum == nil {
		return nil
	}
	switch s := sum.(type) {
	case int64:
		q := s / count
		switch t.Kind {
		case logical.TinyInt:
			return int64(int8(q))
		case logical.SmallInt:
			return int64(int16(q))
		case logical.Integer:
			return int64(int32(q))
		}
		return q
	case float64:
		if t.Kind == logical.Float {
			return float32(s / float64(count))
		}
		return s / float64(count)
	}
	// BigDecimal.divide with 38 digits half up, then setScale half up: with rationals.
	q := new(big.Rat).SetFrac(sum.(*big.Int), big.NewInt(count))
	if q.Sign() == 0 {
		return big.NewInt(0)
	}
	ten := big.NewRat(10, 1)
	exponent := 0 // 10^37 <= |q| * 10^exponent < 10^38
	low, high := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(37), nil)), new(big.Rat).SetInt(limit)
	for v := new(big.Rat).Abs(q); ; {
		if v.Cmp(low) < 0 {
			v.Mul(v, ten)
			exponent++
		} else if v.Cmp(high) >= 0 {
			v.Quo(v, ten)
			exponent--
		} else {
			break
		}
	}
	scaled := roundHalfUp(shift(q, exponent))
	up := max(6, t.Scale) - t.Scale
	v := roundHalfUp(shift(new(big.Rat).SetInt(scaled), up-exponent))
	if v.CmpAbs(limit) >= 0 {
		return nil
	}
	return v
}

func shift(q *big.Rat, n int) *big.Rat {
	p := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, -n))), nil))
	if n < 0 {
		p.Inv(p)
	}
	return p.Mul(p, q)
}

func roundHalfUp(q *big.Rat) *big.Int {
	twice := new(big.Int).Lsh(new(big.Int).Abs(q.Num()), 1)
	twice.Add(twice, q.Denom())
	v := twice.Quo(twice, new(big.Int).Lsh(q.Denom(), 1))
	if q.Sign() < 0 {
		v.Neg(v)
	}
	return v
}

// sortByKey sorts lines so that those of one key stay in order.
func sortByKey(lines []string, keys int) {
	keyOf := func(line string) string {
		fields := strings.SplitN(line, " ", keys+2)
		return strings.Join(fields[1:min(len(fields), keys+1)], " ")
	}
	sort.SliceStable(lines, func(i, j int) bool { return keyOf(lines[i]) < keyOf(lines[j]) })
}
