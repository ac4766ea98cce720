package dedup

import "bytes"

// hashMap is the order of a java.util.HashMap, whose keys are BinaryRowData: stock's bundle is one, and walks it to emit.
//
// A HashMap has a power of two of bins, 16 at first. A key is in bin hash ^ hash>>>16, modulo the number of bins, behind
// the keys that came before it. When there are more than 3/4 as many keys as bins the bins are doubled, and again when a
// bin of at least 8 keys gets another while there are fewer than 64 bins; keys keep their order in doing so. Clearing the
// map leaves the number of bins. The walk goes from bin to bin.
//
// Not followed is what happens at 64 bins or more when a bin of at least 8 keys gets another: it becomes a tree, and its
// keys may change places among each other. With a hash like Flink's that takes keys made for the purpose.
type hashMap struct {
	bins    []bin
	entries []mapEntry
	keys    []byte
}

type bin struct {
	first, last int32 // entries, -1 for none
}

type mapEntry struct {
	hash     uint32 // spread
	next     int32  // in the same bin, -1 at the end
	key      int32  // offset in keys
	keyBytes int32
	slot     int32 // what the map maps the key to: the bundle's business
	tail     int32
}

func newHashMap() *hashMap {
	m := &hashMap{}
	m.resize(16)
	return m
}

// find is the entry of a key with that hashCode, made if there is none, and whether it was made.
func (m *hashMap) find(hashCode int32, key []byte) (*mapEntry, bool) {
	hash := uint32(hashCode)
	hash ^= hash >> 16
	b := &m.bins[hash&uint32(len(m.bins)-1)]
	length := 0
	for i := b.first; i >= 0; i = m.entries[i].next {
		e := &m.entries[i]
		if e.hash == hash && bytes.Equal(m.keys[e.key:e.key+e.keyBytes], key) {
			return e, false
		}
		length++
	}
	at := int32(len(m.entries))
	m.entries = append(m.entries, mapEntry{hash: hash, next: -1, key: int32(len(m.keys)), keyBytes: int32(len(key))})
	m.keys = append(m.keys, key...)
	m.link(at)
	if length >= 8 && len(m.bins) < 64 {
		m.resize(2 * len(m.bins))
	}
	if len(m.entries) > len(m.bins)/4*3 {
		m.resize(2 * len(m.bins))
	}
	return &m.entries[at], true
}

// link puts entry at at the end of its bin.
func (m *hashMap) link(at int32) {
	e := &m.entries[at]
	e.next = -1
	b := &m.bins[e.hash&uint32(len(m.bins)-1)]
	if b.first < 0 {
		b.first = at
	} else {
		m.entries[b.last].next = at
	}
	b.last = at
}

// resize sets the number of bins. Linking all entries anew in the order they came gives each bin the order that splitting
// bins would.
func (m *hashMap) resize(bins int) {
	if cap(m.bins) < bins {
		m.bins = make([]bin, bins)
	}
	m.bins = m.bins[:bins]
	m.unlink()
	for i := range m.entries {
		m.link(int32(i))
	}
}

func (m *hashMap) unlink() {
	for i := range m.bins {
		m.bins[i] = bin{-1, -1}
	}
}

// clear removes all keys.
func (m *hashMap) clear() {
	m.unlink()
	m.entries, m.keys = m.entries[:0], m.keys[:0]
}

// key is an entry's key.
func (m *hashMap) key(e *mapEntry) []byte { return m.keys[e.key : e.key+e.keyBytes] }

// order writes the entries' indices in the order of the walk to dst.
func (m *hashMap) order(dst []int32) []int32 {
	for _, b := range m.bins {
		for i := b.first; i >= 0; i = m.entries[i].next {
			dst = append(dst, i)
		}
	}
	return dst
}
