package topn_test

import (
	"sort"

	"drey/native/changelog"
	"drey/native/optest"
	"drey/native/spec"
)

// model is stock's rank functions with stock's data structures, as slices: sorted groups of equal sort keys, each a list.
// Nothing is done cleverly. With a TTL it is stock without the caches in front of its state.
type model struct {
	s          *spec.Rank
	partition  func(row []byte) string
	rowKey     func(row []byte) string
	endOf      func(row []byte) int64
	compare    func(a, b []byte) int // rows, by sort key
	withRank   func(row []byte, rank int64) []byte
	partitions map[string]*modelPartition
	invalid    int64
	now, ttl   int64

	out []optest.Output // of the row at work
	end int64
}

type modelPartition struct {
	end     int64
	written int64 // the end
	counter int64
	top     []byte
	stamp   int64 // of counter, top, and the sorted map
	groups  []*modelGroup
	hidden  []*modelGroup    // lists whose count went to 0
	stamps  map[string]int64 // by row key
}

type modelGroup struct {
	key   []byte // a row that has the sort key
	rows  [][]byte
	count int64 // of the retract strategy's sorted map
	stamp int64
}

func (m *model) expired(stamp int64) bool { return m.ttl > 0 && stamp+m.ttl <= m.now }

// expire is what stock no longer finds in a partition's state.
func (m *model) expire(p *modelPartition) {
	keep := func(list []*modelGroup, alive func(*modelGroup) bool) (kept []*modelGroup) {
		for _, g := range list {
			if alive(g) {
				kept = append(kept, g)
			}
		}
		return kept
	}
	fresh := func(g *modelGroup) bool { return !m.expired(g.stamp) }
	switch m.s.Function {
	case spec.AppendOnlyFirstN, spec.FastTop1:
		if m.expired(p.stamp) {
			p.counter, p.top = 0, nil
		}
	case spec.AppendOnlyTopN:
		p.groups = keep(p.groups, fresh)
	case spec.UpdatableTopN:
		for _, g := range p.groups {
			var rows [][]byte
			for _, r := range g.rows {
				if !m.expired(p.stamps[m.rowKey(r)]) {
					rows = append(rows, r)
				}
			}
			g.rows = rows
		}
		p.groups = keep(p.groups, func(g *modelGroup) bool { return len(g.rows) > 0 })
	default:
		if m.expired(p.stamp) {
			p.groups, p.hidden = nil, nil
		}
		p.hidden = keep(p.hidden, fresh)
		for _, g := range p.groups {
			if m.expired(g.stamp) {
				g.rows = nil
			}
		}
	}
}

func (m *model) start() int64 {
	if m.s.RankRange.Type == "Constant" {
		return *m.s.RankRange.Start
	}
	return -1
}

func (m *model) withNumber() bool { return m.s.OutputRowNumber || m.start() > 1 }

func (m *model) topN() int64 {
	if m.s.RankRange.Type == "Constant" {
		return *m.s.RankRange.End
	}
	return 100
}

// collect emits with a rank, plain without.
func (m *model) collect(kind changelog.RowKind, row []byte, rank int64) {
	if rank > m.end || rank < m.start() || kind == changelog.UpdateBefore && !m.s.GenerateUpdateBefore {
		return
	}
	if m.s.OutputRowNumber {
		row = m.withRank(row, rank)
	}
	m.out = append(m.out, optest.Output{Kind: kind, Row: row})
}

func (m *model) plain(kind changelog.RowKind, row []byte) {
	if kind != changelog.UpdateBefore || m.s.GenerateUpdateBefore {
		m.out = append(m.out, optest.Output{Kind: kind, Row: row})
	}
}

func (m *model) push(kind changelog.RowKind, row []byte) []optest.Output {
	m.out = nil
	key := m.partition(row)
	p := m.partitions[key]
	end := m.topN()
	if m.s.RankRange.Type == "Variable" {
		end = m.endOf(row)
	}
	if p == nil {
		p = &modelPartition{end: end, written: m.now, stamps: map[string]int64{}}
		m.partitions[key] = p
	}
	if m.expired(p.written) {
		p.end, p.written = end, m.now
	}
	m.expire(p)
	if p.end != end {
		m.invalid++
	}
	m.end = p.end
	switch {
	case m.s.Function == spec.RetractableTopN && kind.IsAccumulate():
		m.add(p, row)
	case m.s.Function == spec.RetractableTopN:
		m.retract(p, row)
	case m.s.Function == spec.AppendOnlyFirstN:
		if p.counter < m.end {
			p.counter++
			p.stamp = m.now
			if m.withNumber() {
				m.collect(changelog.Insert, row, p.counter)
			} else {
				m.plain(changelog.Insert, row)
			}
		}
	case m.s.Function == spec.FastTop1:
		if p.top == nil {
			p.top, p.stamp = row, m.now
			m.collect(changelog.Insert, row, 1)
		} else if m.compare(row, p.top) < 0 {
			m.collect(changelog.UpdateBefore, p.top, 1)
			m.collect(changelog.UpdateAfter, row, 1)
			p.top, p.stamp = row, m.now
		}
	case m.s.Function == spec.AppendOnlyTopN:
		if m.accepts(p, row) {
			m.put(p, row)
			m.added(p, row)
		}
	default:
		m.update(p, row)
	}
	return m.out
}

func (p *modelPartition) size() int64 {
	n := 0
	for _, g := range p.groups {
		n += len(g.rows)
	}
	return int64(n)
}

func (m *model) accepts(p *modelPartition, row []byte) bool {
	if len(p.groups) == 0 || m.compare(row, p.groups[len(p.groups)-1].rows[0]) < 0 {
		return true
	}
	return p.size() < m.topN()
}

// own is the group of a row's sort key, or -1 and where it belongs.
func (m *model) own(groups []*modelGroup, row []byte) (int, bool) {
	i := sort.Search(len(groups), func(i int) bool { return m.compare(groups[i].key, row) >= 0 })
	return i, i < len(groups) && m.compare(groups[i].key, row) == 0
}

func (m *model) put(p *modelPartition, row []byte) int {
	i, found := m.own(p.groups, row)
	if !found {
		p.groups = append(p.groups[:i], append([]*modelGroup{{key: row}}, p.groups[i:]...)...)
	}
	p.groups[i].rows, p.groups[i].stamp = append(p.groups[i].rows, row), m.now
	if m.rowKey != nil {
		p.stamps[m.rowKey(row)] = m.now
	}
	return i
}

// added is what happens when a row has come into the buffer, of append-only and update.
func (m *model) added(p *modelPartition, row []byte) {
	if m.withNumber() {
		m.cascade(p, row, nil, 0)
		return
	}
	if p.size() > m.end {
		g := p.groups[len(p.groups)-1]
		last := g.rows[len(g.rows)-1]
		g.rows, g.stamp = g.rows[:len(g.rows)-1], m.now
		if len(g.rows) == 0 {
			p.groups = p.groups[:len(p.groups)-1]
		}
		if m.s.Function == spec.AppendOnlyTopN && string(last) == string(row) {
			return
		}
		m.plain(changelog.Delete, last)
	}
	m.plain(changelog.Insert, row)
}

// cascade is emitRecordsWithRowNumber: of a new row, or of one that had a rank before.
func (m *model) cascade(p *modelPartition, row, old []byte, oldRank int64) {
	own, _ := m.own(p.groups, row)
	rank, at := int64(0), 0
	carry, retracted := row, false
	for at < len(p.groups) && rank <= m.end { // none at all if the end is below 0
		g := p.groups[at]
		at++
		if at-1 <= own {
			rank += int64(len(g.rows))
			continue
		}
		if old != nil && m.compare(g.rows[0], old) > 0 {
			break
		}
		for _, o := range g.rows {
			if old == nil && rank > m.end || old != nil && rank >= oldRank {
				break
			}
			m.collect(changelog.UpdateBefore, o, rank)
			if old != nil && !retracted {
				m.collect(changelog.UpdateBefore, old, oldRank)
				retracted = true
			}
			m.collect(changelog.UpdateAfter, carry, rank)
			carry = o
			rank++
		}
	}
	if rank <= m.end {
		if old == nil {
			m.collect(changelog.Insert, carry, rank)
			if m.s.Function == spec.UpdatableTopN {
				return
			}
		} else {
			if !retracted {
				m.collect(changelog.UpdateBefore, old, oldRank)
			}
			m.collect(changelog.UpdateAfter, carry, rank)
			return
		}
	}
	p.groups = p.groups[:at]
}

func (m *model) update(p *modelPartition, row []byte) {
	var old []byte
	group, index := 0, 0
	for i, g := range p.groups {
		for j, r := range g.rows {
			if m.rowKey(r) == m.rowKey(row) {
				old, group, index = r, i, j
			}
		}
	}
	if old == nil {
		if m.accepts(p, row) {
			m.put(p, row)
			m.added(p, row)
		}
		return
	}
	rankAt := func(row []byte) int64 {
		n := int64(0)
		for _, g := range p.groups {
			for _, r := range g.rows {
				n++
				if m.rowKey(r) == m.rowKey(row) {
					return n
				}
			}
		}
		panic("lost")
	}
	oldRank := rankAt(row)
	compared := m.compare(row, old)
	p.stamps[m.rowKey(row)] = m.now
	if compared == 0 {
		p.groups[group].rows[index] = row
	} else {
		g := p.groups[group]
		for _, r := range g.rows[index+1:] {
			p.stamps[m.rowKey(r)] = m.now
		}
		g.rows = append(append([][]byte{}, g.rows[:index]...), g.rows[index+1:]...)
		if len(g.rows) == 0 {
			p.groups = append(p.groups[:group], p.groups[group+1:]...)
		}
		m.put(p, row)
	}
	switch {
	case !m.withNumber():
		m.plain(changelog.UpdateBefore, old)
		m.plain(changelog.UpdateAfter, row)
	case compared == 0:
		m.collect(changelog.UpdateBefore, old, oldRank)
		m.collect(changelog.UpdateAfter, row, oldRank)
	case compared < 0:
		m.cascade(p, row, old, oldRank)
	default:
		m.collect(changelog.UpdateBefore, old, oldRank)
		rank := int64(0)
		for _, g := range p.groups {
			for _, o := range g.rows {
				if rank++; rank >= oldRank && rank < rankAt(row) {
					m.collect(changelog.UpdateBefore, o, rank+1)
					m.collect(changelog.UpdateAfter, o, rank)
				}
			}
		}
		m.collect(changelog.UpdateAfter, row, rankAt(row))
	}
}

// add and retract are RetractableTopNFunction. Groups have counts of their own, and rows of groups without a count are in
// hidden. A group with a count whose list has expired has no rows.
func (m *model) add(p *modelPartition, row []byte) {
	p.stamp = m.now
	own, found := m.own(p.groups, row)
	if !found {
		g := &modelGroup{key: row}
		if i, ok := m.own(p.hidden, row); ok {
			g = p.hidden[i]
			p.hidden = append(p.hidden[:i], p.hidden[i+1:]...)
		}
		p.groups = append(p.groups[:own], append([]*modelGroup{g}, p.groups[own:]...)...)
	}
	p.groups[own].count++
	rank, carry := int64(0), row
	var deleted []byte
	reached, in, done := false, false, false
	var kept []*modelGroup
	for i, g := range p.groups {
		kept = append(kept, g)
		if done || rank > m.end {
			continue
		}
		switch {
		case i <= own:
			rank += g.count
			reached = reached || i == own
			in = i == own && rank <= m.end && rank >= m.start()
		case len(g.rows) == 0: // processStateStaled
			kept = kept[:len(kept)-1]
		case m.withNumber():
			for _, o := range g.rows {
				if rank > m.end {
					break
				}
				m.collect(changelog.UpdateBefore, o, rank)
				m.collect(changelog.UpdateAfter, carry, rank)
				carry = o
				rank++
			}
		case rank+g.count <= m.end:
			rank += g.count
		default:
			if at := m.end - rank; at < int64(len(g.rows)) { // else stock fails
				deleted = g.rows[at]
			}
			done = true
		}
	}
	g := p.groups[own]
	p.groups = kept
	switch {
	case m.withNumber() && reached:
		m.collect(changelog.Insert, carry, rank)
	case in:
		if deleted != nil {
			m.plain(changelog.Delete, deleted)
		}
		m.plain(changelog.Insert, row)
	}
	g.rows, g.stamp = append(g.rows, row), m.now
}

func (m *model) retract(p *modelPartition, row []byte) {
	p.stamp = m.now
	own, found := m.own(p.groups, row)
	removed := false
	if found {
		if m.withNumber() {
			removed = m.retractNumbered(p, own, row)
		} else {
			removed = m.retractPlain(p, own, row)
		}
	}
	if own, found = m.own(p.groups, row); found {
		g := p.groups[own]
		g.stamp = m.now
		g.count--
		if !removed {
			g.rows = without(g.rows, row)
		}
		if g.count == 0 {
			p.groups = append(p.groups[:own], p.groups[own+1:]...)
			if len(g.rows) > 0 {
				i, _ := m.own(p.hidden, row)
				p.hidden = append(p.hidden[:i], append([]*modelGroup{g}, p.hidden[i:]...)...)
			}
		}
	} else if i, ok := m.own(p.hidden, row); ok {
		g := p.hidden[i]
		g.stamp = m.now
		if g.rows = without(g.rows, row); len(g.rows) == 0 {
			p.hidden = append(p.hidden[:i], p.hidden[i+1:]...)
		}
	}
}

// without takes the first equal row out of a list.
func without(rows [][]byte, row []byte) [][]byte {
	for i, r := range rows {
		if string(r) == string(row) {
			return append(append([][]byte{}, rows[:i]...), rows[i+1:]...)
		}
	}
	return rows
}

func (m *model) retractNumbered(p *modelPartition, own int, row []byte) bool {
	rank := int64(0)
	var previous []byte
	var kept []*modelGroup
	for i, g := range p.groups {
		kept = append(kept, g)
		switch {
		case rank > m.end:
			continue
		case i != own && previous == nil:
			rank += g.count
			continue
		case len(g.rows) == 0: // processStateStaled
			kept = kept[:len(kept)-1]
			continue
		}
		removed := false
		for _, o := range g.rows {
			if rank > m.end {
				break
			}
			if i == own && previous == nil && string(o) == string(row) {
				previous, removed = o, true
			} else if previous != nil {
				m.collect(changelog.UpdateBefore, previous, rank)
				m.collect(changelog.UpdateAfter, o, rank)
				previous = o
			}
			rank++
		}
		if removed {
			g.rows = without(g.rows, row)
		}
	}
	p.groups = kept
	if rank <= m.end && previous != nil {
		m.collect(changelog.Delete, previous, rank)
	}
	return previous != nil
}

func (m *model) retractPlain(p *modelPartition, own int, row []byte) bool {
	next, removed, done := int64(1), false, false
	var kept []*modelGroup
	for i, g := range p.groups {
		kept = append(kept, g)
		switch {
		case done || next > m.end:
		case i == own && len(g.rows) == 0, removed && next+g.count-1 >= m.end && len(g.rows) == 0:
			kept = kept[:len(kept)-1] // processStateStaled
		case i == own:
			for _, o := range g.rows {
				if next > m.end {
					break
				}
				if !removed && string(o) == string(row) {
					m.collect(changelog.Delete, o, next)
					removed = true
					continue
				}
				if removed && next == m.end {
					m.collect(changelog.Insert, o, next)
				}
				next++
			}
			if removed {
				g.rows = without(g.rows, row)
			}
		case !removed:
			next += g.count
		case next+g.count-1 < m.end:
			next += g.count
		default:
			if at := m.end - next; at < int64(len(g.rows)) { // else stock fails
				m.plain(changelog.Insert, g.rows[at])
			}
			done = true
		}
	}
	p.groups = kept
	return removed
}
