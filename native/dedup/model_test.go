package dedup_test

import (
	"math"
	"sort"

	"drey/native/changelog"
	"drey/native/keygroup"
	"drey/native/optest"
	"drey/native/spec"
)

// model is the semantics in the fewest words: a builtin map of keys, slices of rows, no bytes saved.
type model struct {
	s         *spec.Deduplicate
	keyOf     func(row []byte) string
	timeOf    func(row []byte) int64
	now       int64
	watermark int64
	late      int64
	keys      map[string]*modelKey
	order     int // of timers
	bundle    []modelBundled
	elements  int64
	bins      int
}

type modelKey struct {
	row     []byte // last stored
	written int64
	waiting []byte
	order   int
	emitted bool
}

type modelBundled struct {
	key  string
	rows [][]byte
}

func newModel(s *spec.Deduplicate, keyOf func([]byte) string, timeOf func([]byte) int64) *model {
	return &model{s: s, keyOf: keyOf, timeOf: timeOf, watermark: math.MinInt64, keys: map[string]*modelKey{}, bins: 16}
}

// get is a key's state with all forgotten that has expired.
func (m *model) get(key string) *modelKey {
	k := m.keys[key]
	if k == nil {
		k = &modelKey{}
		m.keys[key] = k
	}
	if ttl := m.s.StateTTLMillis; ttl > 0 && (k.row != nil || k.emitted) && k.written+ttl <= m.now {
		k.row, k.emitted = nil, false
	}
	return k
}

func (m *model) push(row []byte) []optest.Output {
	if m.s.MiniBatch == nil {
		return m.apply(m.keyOf(row), row)
	}
	m.add(row)
	if m.elements == m.s.MiniBatch.Size {
		return m.flush()
	}
	return nil
}

func (m *model) apply(key string, row []byte) []optest.Output {
	k := m.get(key)
	switch {
	case !m.s.IsRowtime && !m.s.KeepLastRow:
		if k.emitted {
			return nil
		}
		k.emitted, k.written = true, m.now
		return []optest.Output{{Kind: changelog.Insert, Row: row}}
	case m.s.IsRowtime && m.s.OutputInsertOnly:
		m.wait(k, row)
		return nil
	case !m.s.IsRowtime && !m.s.GenerateInsert && !m.s.GenerateUpdateBefore:
		return []optest.Output{{Kind: changelog.UpdateAfter, Row: row}}
	case !m.s.IsRowtime:
		if k.row != nil && m.s.StateTTLMillis == 0 && string(k.row) == string(row) {
			return nil
		}
	case m.s.KeepLastRow:
		if k.row != nil && m.timeOf(k.row) > m.timeOf(row) {
			return nil
		}
	default:
		if k.row != nil && m.timeOf(row) >= m.timeOf(k.row) {
			return nil
		}
	}
	var out []optest.Output
	switch {
	case k.row == nil && (m.s.GenerateInsert || m.s.GenerateUpdateBefore):
		out = append(out, optest.Output{Kind: changelog.Insert, Row: row})
	default:
		if k.row != nil && m.s.GenerateUpdateBefore {
			out = append(out, optest.Output{Kind: changelog.UpdateBefore, Row: k.row})
		}
		out = append(out, optest.Output{Kind: changelog.UpdateAfter, Row: row})
	}
	k.row, k.written = row, m.now
	return out
}

func (m *model) wait(k *modelKey, row []byte) {
	switch {
	case m.timeOf(row) < m.watermark:
		m.late++
	case !k.emitted && (k.waiting == nil || m.timeOf(row) < m.timeOf(k.waiting)):
		m.order++
		k.waiting, k.order = row, m.order
	}
}

func (m *model) advance(watermark int64) []optest.Output {
	out := m.flush()
	m.watermark = max(m.watermark, watermark)
	var due []*modelKey
	for _, k := range m.keys {
		if k.waiting != nil && m.timeOf(k.waiting) <= m.watermark {
			due = append(due, k)
		}
	}
	sort.Slice(due, func(i, j int) bool {
		if a, b := m.timeOf(due[i].waiting), m.timeOf(due[j].waiting); a != b {
			return a < b
		}
		return due[i].order < due[j].order
	})
	for _, k := range due {
		out = append(out, optest.Output{Kind: changelog.Insert, Row: k.waiting})
		k.waiting, k.emitted, k.written = nil, true, m.now
	}
	return out
}

func (m *model) add(row []byte) {
	m.elements++
	key := m.keyOf(row)
	var b *modelBundled
	for i := range m.bundle {
		if m.bundle[i].key == key {
			b = &m.bundle[i]
		}
	}
	if b == nil {
		m.bundle = append(m.bundle, modelBundled{key: key})
		b = &m.bundle[len(m.bundle)-1]
		if 4*len(m.bundle) > 3*m.bins {
			m.bins *= 2
		}
	}
	b.rows = append(b.rows, row)
}

func (m *model) flush() []optest.Output {
	// A java.util.HashMap of few keys: by bin, then by age.
	sort.SliceStable(m.bundle, func(i, j int) bool { return m.bin(m.bundle[i].key) < m.bin(m.bundle[j].key) })
	var out []optest.Output
	for _, b := range m.bundle {
		rows := b.rows
		if !m.s.IsRowtime && m.s.KeepLastRow {
			rows = rows[len(rows)-1:]
		} else if !m.s.IsRowtime {
			rows = rows[:1]
		} else if m.s.MiniBatch.CompactChanges {
			best := rows[0]
			for _, row := range rows[1:] {
				if a, b := m.timeOf(best), m.timeOf(row); m.s.KeepLastRow && a <= b || !m.s.KeepLastRow && b < a {
					best = row
				}
			}
			rows = [][]byte{best}
		}
		for _, row := range rows {
			out = append(out, m.apply(b.key, row)...)
		}
		if m.s.IsRowtime && !m.s.MiniBatch.CompactChanges {
			m.get(b.key).written = m.now
		}
	}
	m.bundle, m.elements = nil, 0
	return out
}

func (m *model) bin(key string) uint32 {
	hash := uint32(keygroup.Hash([]byte(key)))
	return (hash ^ hash>>16) % uint32(m.bins)
}
