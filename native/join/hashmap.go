package join

import (
	"bytes"

	"drey/native/keygroup"
)

// hashMap has the order of iteration of a java.util.HashMap that is filled by computeIfAbsent: Flink's bundles are processed
// in it. A new entry goes to the front of its bucket; the map doubles with the call after the one that made it too full, or
// where a bucket of a small map gets long; removing entries, and clear, leave its size. Buckets that the JDK makes trees
// of, from eight keys in one of 64 or more, are lists here: no honest keys get there.
type hashMap[V any] struct {
	buckets   [][]*mapEntry[V]
	size      int
	threshold int
}

type mapEntry[V any] struct {
	key   []byte
	hash  uint32
	value V
}

const (
	leastBuckets  = 16
	longBucket    = 8 // HashMap.TREEIFY_THRESHOLD
	treesFromSize = 64
)

// spread is HashMap.hash of an object with this hashCode.
func spread(hashCode int32) uint32 { return uint32(hashCode) ^ uint32(hashCode)>>16 }

// ofKey finds the value of a key that is a row, or makes one.
func (m *hashMap[V]) ofKey(key []byte) *V { return m.of(key, keygroup.Hash(key)) }

// of finds the value of a key with this hashCode, or makes one. Keys may be nil and are told apart by their hashCode then.
func (m *hashMap[V]) of(key []byte, hashCode int32) *V {
	if m.size > m.threshold || m.buckets == nil {
		m.double()
	}
	h := spread(hashCode)
	b := &m.buckets[h&uint32(len(m.buckets)-1)]
	for _, e := range *b {
		if e.hash == h && bytes.Equal(e.key, key) {
			return &e.value
		}
	}
	e := &mapEntry[V]{key: bytes.Clone(key), hash: h}
	before := len(*b)
	*b = append(*b, nil)
	copy((*b)[1:], (*b)[:before])
	(*b)[0] = e
	if before >= longBucket-1 && len(m.buckets) < treesFromSize {
		m.double()
	}
	m.size++
	return &e.value
}

func (m *hashMap[V]) double() {
	if m.buckets == nil {
		m.buckets = make([][]*mapEntry[V], leastBuckets)
		m.threshold = leastBuckets * 3 / 4
		return
	}
	old := m.buckets
	m.buckets = make([][]*mapEntry[V], 2*len(old))
	m.threshold *= 2
	for _, b := range old {
		for _, e := range b {
			to := &m.buckets[e.hash&uint32(len(m.buckets)-1)]
			*to = append(*to, e)
		}
	}
}

func (m *hashMap[V]) remove(key []byte, hashCode int32) {
	h := spread(hashCode)
	b := &m.buckets[h&uint32(len(m.buckets)-1)]
	for i, e := range *b {
		if e.hash == h && bytes.Equal(e.key, key) {
			*b = append((*b)[:i], (*b)[i+1:]...)
			m.size--
			return
		}
	}
}

func (m *hashMap[V]) all(visit func(key []byte, value *V)) {
	for _, b := range m.buckets {
		for _, e := range b {
			visit(e.key, &e.value)
		}
	}
}

func (m *hashMap[V]) clear() {
	clear(m.buckets)
	m.size = 0
}
