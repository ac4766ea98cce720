package javamap

import "bytes"

// Map has the order of iteration of a java.util.HashMap that is filled by computeIfAbsent: Flink's bundles are processed
// in it. A new entry goes to the front of its bucket; the map doubles with the call after the one that made it too full, or
// where a bucket of a small map gets long; removing entries, and clear, leave its size. Doubling keeps the order within a
// bucket. So an iteration is by bucket, and there from the newest entry to the oldest, and small maps need no buckets at all.
// Buckets that the JDK makes trees of, from eight keys in one of 64 or more, are lists here: no honest keys get there.
//
// Entries and what their values hold are used again after clear.
type Map[V any] struct {
	entries  []entry[V]
	used     int     // entries that were made since clear; some may have been removed
	size     int     // entries that are there
	capacity int     // of the table that a HashMap would have; 0: none yet
	buckets  []int32 // entry + 1 that came last, per bucket; unused while few entries were made
	keys     []byte

	// Reuse empties a value for another key; nil: there is nothing to keep of it.
	Reuse func(v *V)
}

type entry[V any] struct {
	value V
	at, n int32 // of the key
	next  int32 // entry + 1 before in the bucket
	hash  uint32
	gone  bool
}

// few entries are searched one by one.
const few = 8

// Of finds the value of a key with this hashCode, or makes one; it is valid until the next call. Keys may be nil and are
// told apart by their hashCode then.
func (m *Map[V]) Of(key []byte, hashCode int32) *V {
	if m.size > m.capacity/4*3 || m.capacity == 0 {
		m.double()
	}
	h := spread(hashCode)
	if i := m.find(key, h); i > 0 {
		return &m.entries[i-1].value
	}
	before := 0
	if m.capacity < treeBins && m.size >= longBin-1 {
		before = m.inBucket(h)
	}
	v := m.add(key, h)
	if before >= longBin-1 {
		m.double()
	}
	return v
}

func (m *Map[V]) key(e *entry[V]) []byte { return m.keys[e.at : e.at+e.n : e.at+e.n] }

func (m *Map[V]) bucket(h uint32) uint32 { return h & uint32(m.capacity-1) }

// find is the entry of a key, counted from 1, or 0.
func (m *Map[V]) find(key []byte, h uint32) int32 {
	if m.used <= few {
		for i := range m.used {
			if e := &m.entries[i]; e.hash == h && !e.gone && bytes.Equal(m.key(e), key) {
				return int32(i + 1)
			}
		}
		return 0
	}
	for i := m.buckets[m.bucket(h)]; i > 0; i = m.entries[i-1].next {
		if e := &m.entries[i-1]; e.hash == h && bytes.Equal(m.key(e), key) {
			return i
		}
	}
	return 0
}

func (m *Map[V]) inBucket(h uint32) int {
	n := 0
	for i := range m.used {
		if e := &m.entries[i]; !e.gone && m.bucket(e.hash) == m.bucket(h) {
			n++
		}
	}
	return n
}

func (m *Map[V]) add(key []byte, h uint32) *V {
	if m.used == len(m.entries) {
		m.entries = append(m.entries, entry[V]{})
	}
	e := &m.entries[m.used]
	if m.Reuse != nil {
		m.Reuse(&e.value)
	} else {
		var zero V
		e.value = zero
	}
	e.at, e.n, e.hash, e.gone, e.next = int32(len(m.keys)), int32(len(key)), h, false, 0
	m.keys = append(m.keys, key...)
	m.used++
	m.size++
	switch {
	case m.used == few+1:
		m.fill()
	case m.used > few:
		m.push(int32(m.used))
	}
	return &m.entries[m.used-1].value
}

// push puts an entry in front of its bucket.
func (m *Map[V]) push(i int32) {
	e := &m.entries[i-1]
	b := &m.buckets[m.bucket(e.hash)]
	e.next, *b = *b, i
}

// fill puts all entries in their buckets.
func (m *Map[V]) fill() {
	if cap(m.buckets) < m.capacity {
		m.buckets = make([]int32, m.capacity)
	}
	m.buckets = m.buckets[:m.capacity]
	clear(m.buckets)
	for i := range m.used {
		if !m.entries[i].gone {
			m.push(int32(i + 1))
		}
	}
}

func (m *Map[V]) double() {
	if m.capacity = 2 * m.capacity; m.capacity == 0 {
		m.capacity = leastBins
	}
	if m.used > few {
		m.fill()
	}
}

// Remove removes a key that is there.
func (m *Map[V]) Remove(key []byte, hashCode int32) {
	h := spread(hashCode)
	i := m.find(key, h)
	if i == 0 {
		return
	}
	m.entries[i-1].gone = true
	m.size--
	if m.used > few {
		at := &m.buckets[m.bucket(h)]
		for *at != i {
			at = &m.entries[*at-1].next
		}
		*at = m.entries[i-1].next
	}
}

// All visits the entries. The map must not change meanwhile, but for what visit does to its value.
func (m *Map[V]) All(visit func(key []byte, value *V)) {
	if m.used > few {
		for _, i := range m.buckets {
			for ; i > 0; i = m.entries[i-1].next {
				e := &m.entries[i-1]
				visit(m.key(e), &e.value)
			}
		}
		return
	}
	var order [few]int
	n := 0
	for i := m.used - 1; i >= 0; i-- {
		if m.entries[i].gone {
			continue
		}
		at := n
		for ; at > 0 && m.bucket(m.entries[order[at-1]].hash) > m.bucket(m.entries[i].hash); at-- {
			order[at] = order[at-1]
		}
		order[at] = i
		n++
	}
	for _, i := range order[:n] {
		e := &m.entries[i]
		visit(m.key(e), &e.value)
	}
}

// Len is the number of entries.
func (m *Map[V]) Len() int { return m.size }

// Clear removes all entries, and leaves the capacity.
func (m *Map[V]) Clear() {
	m.used, m.size, m.keys = 0, 0, m.keys[:0]
}

// Renew makes the map a new one.
func (m *Map[V]) Renew() {
	m.Clear()
	m.capacity = 0
}
