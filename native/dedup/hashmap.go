package dedup

import (
	"bytes"

	"drey/native/javamap"
)

// hashMap finds the keys of a bundle, which are BinaryRowData, and knows the order in which stock's bundle, a
// java.util.HashMap, is walked.
type hashMap struct {
	entries []mapEntry
	buckets []int32 // entry + 1 that came last, 0 for none; a power of two
	keys    []byte
	codes   []int32 // hashCodes of the entries' keys
	walk    javamap.Order
}

type mapEntry struct {
	next     int32 // entry + 1 before in the bucket, 0 for none
	key      int32 // offset in keys
	keyBytes int32
	slot     int32 // what the map maps the key to: the bundle's business
	tail     int32
}

func newHashMap() *hashMap { return &hashMap{buckets: make([]int32, 16)} }

// find is the entry of a key with that hashCode, made if there is none, and whether it was made.
func (m *hashMap) find(hashCode int32, key []byte) (*mapEntry, bool) {
	for i := *m.bucket(hashCode); i > 0; i = m.entries[i-1].next {
		if e := &m.entries[i-1]; m.codes[i-1] == hashCode && bytes.Equal(m.key(e), key) {
			return e, false
		}
	}
	if len(m.entries) == len(m.buckets) {
		m.buckets = make([]int32, 2*len(m.buckets))
		for i := range m.entries {
			m.link(i)
		}
	}
	at := len(m.entries)
	m.entries = append(m.entries, mapEntry{key: int32(len(m.keys)), keyBytes: int32(len(key))})
	m.codes = append(m.codes, hashCode)
	m.keys = append(m.keys, key...)
	m.link(at)
	return &m.entries[at], true
}

func (m *hashMap) bucket(hashCode int32) *int32 {
	hash := uint32(hashCode) ^ uint32(hashCode)>>16
	return &m.buckets[hash&uint32(len(m.buckets)-1)]
}

// link puts an entry in its bucket.
func (m *hashMap) link(at int) {
	b := m.bucket(m.codes[at])
	m.entries[at].next, *b = *b, int32(at+1)
}

// clear removes all keys.
func (m *hashMap) clear() {
	clear(m.buckets)
	m.entries, m.codes, m.keys = m.entries[:0], m.codes[:0], m.keys[:0]
}

// key is an entry's key.
func (m *hashMap) key(e *mapEntry) []byte { return m.keys[e.key : e.key+e.keyBytes] }

// order writes the entries' indices in the order of the walk to dst. It is for once between two calls of clear: a HashMap
// that was cleared keeps the size that its keys gave it.
func (m *hashMap) order(dst []int32) []int32 { return m.walk.Walk(m.codes, dst) }
