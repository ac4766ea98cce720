package join_test

import (
	"slices"
	"strings"

	"drey/native/changelog"
	"drey/native/optest"
	"drey/native/spec"
)

// The model: Flink's join operators over lists of texts, written from their semantics, as plainly as it goes. A row is the
// text of its fields.

type modelRow struct {
	text   string
	fields []string
}

func newRow(text string) modelRow { return modelRow{text, strings.Fields(text)} }

func (r modelRow) project(columns []int) string {
	var parts []string
	for _, c := range columns {
		parts = append(parts, r.fields[c])
	}
	return strings.Join(parts, " ")
}

type modelRecord struct {
	row     modelRow
	count   int
	n       int
	written int64
}

type modelSide struct {
	spec    *spec.JoinSide
	outer   bool
	null    string
	records map[string][]*modelRecord // by join key, in the order of insertion
}

type model struct {
	s         *spec.Join
	sides     [2]*modelSide
	condition func(left, right modelRow) bool
	now       int64
	out       []modelOutput
}

type modelOutput struct {
	kind changelog.RowKind
	text string
}

func newModel(s *spec.Join, nulls [2]string, condition func(left, right modelRow) bool) *model {
	m := &model{s: s, condition: condition}
	semi := s.JoinType == spec.SemiJoin || s.JoinType == spec.AntiJoin
	m.sides[0] = &modelSide{spec: &s.Left, outer: s.LeftIsOuter() || semi, null: nulls[0], records: map[string][]*modelRecord{}}
	m.sides[1] = &modelSide{spec: &s.Right, outer: s.RightIsOuter(), null: nulls[1], records: map[string][]*modelRecord{}}
	return m
}

// id is what a side tells rows of a join key apart by.
func (d *modelSide) id(r modelRow) string {
	switch {
	case d.spec.UniqueKey == nil:
		return r.text
	case d.spec.KeysContainUniqueKey():
		return ""
	}
	return r.project(*d.spec.UniqueKey)
}

func (m *model) alive(d *modelSide, r *modelRecord) bool {
	return d.spec.StateTTLMillis == 0 || r.written+d.spec.StateTTLMillis > m.now
}

// clean removes what has expired, which can't be told from never seeing it.
func (m *model) clean(d *modelSide, key string) {
	d.records[key] = slices.DeleteFunc(d.records[key], func(r *modelRecord) bool { return !m.alive(d, r) })
}

func (m *model) find(d *modelSide, key string, r modelRow) *modelRecord {
	m.clean(d, key)
	for _, record := range d.records[key] {
		if d.id(record.row) == d.id(r) {
			return record
		}
	}
	return nil
}

func (m *model) add(d *modelSide, key string, r modelRow, n int) {
	record := m.find(d, key, r)
	switch {
	case record == nil:
		d.records[key] = append(d.records[key], &modelRecord{row: r, count: 1, n: n, written: m.now})
	case d.spec.UniqueKey == nil:
		record.count++
		record.n, record.written = n, m.now
	default:
		*record = modelRecord{row: r, count: 1, n: n, written: m.now}
	}
}

func (m *model) retract(d *modelSide, key string, r modelRow) {
	record := m.find(d, key, r)
	if record == nil {
		return
	}
	if record.count--; record.count > 0 {
		record.written = m.now
		return
	}
	d.records[key] = slices.DeleteFunc(d.records[key], func(r *modelRecord) bool { return r == record })
}

// match is a row of the other side, once for each time it is there, with its associations when it was reached.
type match struct {
	record *modelRecord
	n      int
}

func (m *model) matches(input int, key string, r modelRow) []match {
	if m.hasNull(input, r) {
		return nil
	}
	d := m.sides[1-input]
	m.clean(d, key)
	var list []match
	for _, record := range d.records[key] {
		left, right := r, record.row
		if input == 1 {
			left, right = right, left
		}
		if m.condition != nil && !m.condition(left, right) {
			continue
		}
		for range record.count {
			list = append(list, match{record, record.n})
		}
	}
	return list
}

func (m *model) hasNull(input int, r modelRow) bool {
	for i, c := range m.sides[input].spec.Keys {
		if m.s.FilterNulls[i] && r.fields[c] == "NULL" {
			return true
		}
	}
	return false
}

func (m *model) emit(kind changelog.RowKind, text string) {
	m.out = append(m.out, modelOutput{kind, text})
}

func (m *model) pair(kind changelog.RowKind, input int, own, other string) {
	if input == 1 {
		own, other = other, own
	}
	m.emit(kind, own+" "+other)
}

func (m *model) associate(x match, by int) {
	x.record.n, x.record.written = x.n+by, m.now
}

// push joins a row. quiet is isSuppress of the mini-batch operator.
func (m *model) push(input int, kind changelog.RowKind, r modelRow, quiet bool) {
	switch m.s.JoinType {
	case spec.SemiJoin, spec.AntiJoin:
		if input == 0 {
			m.pushSemiLeft(kind, r)
		} else {
			m.pushSemiRight(kind, r)
		}
		return
	}
	own, other := m.sides[input], m.sides[1-input]
	key := r.project(own.spec.Keys)
	if kind.IsAccumulate() {
		if !own.outer {
			m.add(own, key, r, -1)
		}
		found := m.matches(input, key, r)
		for _, x := range found {
			if other.outer {
				if x.n == 0 && !quiet {
					m.pair(changelog.Delete, input, own.null, x.record.row.text)
				}
				m.associate(x, 1)
			}
			out := kind
			if own.outer || other.outer {
				out = changelog.Insert
			}
			m.pair(out, input, r.text, x.record.row.text)
		}
		if own.outer {
			if len(found) == 0 {
				m.pair(changelog.Insert, input, r.text, other.null)
			}
			m.add(own, key, r, len(found))
		}
		return
	}
	if !quiet {
		m.retract(own, key, r)
	}
	found := m.matches(input, key, r)
	for _, x := range found {
		out := kind
		if own.outer {
			out = changelog.Delete
		}
		m.pair(out, input, r.text, x.record.row.text)
		if other.outer {
			if x.n == 1 && !quiet {
				m.pair(changelog.Insert, input, own.null, x.record.row.text)
			}
			m.associate(x, -1)
		}
	}
	if own.outer && len(found) == 0 {
		m.pair(changelog.Delete, input, r.text, other.null)
	}
}

func (m *model) pushSemiLeft(kind changelog.RowKind, r modelRow) {
	key := r.project(m.s.Left.Keys)
	found := m.matches(0, key, r)
	if (len(found) > 0) == (m.s.JoinType == spec.SemiJoin) {
		m.emit(kind, r.text)
	}
	if kind.IsAccumulate() {
		m.add(m.sides[0], key, r, len(found))
	} else {
		m.retract(m.sides[0], key, r)
	}
}

func (m *model) pushSemiRight(kind changelog.RowKind, r modelRow) {
	key := r.project(m.s.Right.Keys)
	anti := m.s.JoinType == spec.AntiJoin
	by, turning, out := 1, 0, changelog.Delete
	if kind.IsAccumulate() {
		m.add(m.sides[1], key, r, -1)
	} else {
		m.retract(m.sides[1], key, r)
		by, turning, out = -1, 1, changelog.Insert
	}
	if !anti {
		out = kind
	}
	for _, x := range m.matches(1, key, r) {
		if x.n == turning {
			m.emit(out, x.record.row.text)
		}
		m.associate(x, by)
	}
}

// take is what was emitted since the last call.
func (m *model) take(parse func(kind changelog.RowKind, text string) optest.Output) []optest.Output {
	var list []optest.Output
	for _, o := range m.out {
		list = append(list, parse(o.kind, o.text))
	}
	m.out = nil
	return list
}
