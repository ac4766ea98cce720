package rowstate

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math"
	"math/bits"
	"unsafe"
)

// OrderedSet is the handle of one order-statistic set: 16 bytes that its owner keeps, usually inside a table's value, where
// SetIn finds it. The zero handle is the empty set. All work on it is done by the Ordered that it belongs to.
type OrderedSet struct {
	root  Ref
	count uint32 // total weight
	level uint8  // 0: the root is a leaf
	small uint8  // capacity of a root leaf that is not full-sized yet, or 0
	_     [6]byte
}

// SetSize is the number of bytes of a handle.
const SetSize = int(unsafe.Sizeof(OrderedSet{}))

// SetIn is the handle in the first SetSize bytes of a table's value, which must be at a multiple of 8 of it.
func SetIn(value []byte) *OrderedSet {
	// A table's value is outside the Go heap and 8-aligned; it stays in place as long as its entry.
	_ = value[SetSize-1]
	return (*OrderedSet)(unsafe.Pointer(unsafe.SliceData(value)))
}

// Len is the number of elements, each as often as it weighs.
func (s *OrderedSet) Len() int { return int(s.count) }

// Ordered keeps any number of order-statistic sets in one arena. An element is a non-zero number of the owner's, usually
// the Ref of a row, and has a key, in bytes.Compare order, which must not change while the element is in a set. No two
// elements of one set have equal keys: who needs ties in arrival order ends the key with a sequence number.
//
// A set of up to 4, 8, 16 or 32 elements is one array of that capacity. A larger one is a B+ tree of such arrays, whose inner
// nodes know the number of elements below, hence ranks. With every element or subtree a node keeps the first 8 bytes of
// its (first) key, so that most comparisons stay in the node:
//
//	node: count (2) | unused (2) | weight of a leaf (4) | prefixes, 8 bytes each | refs, 4 bytes each
//	      [ | children | counts, 4 bytes each ]
//
// An element may stand for several: with Weigh, positions and counts go by weight. Only leaves that have an element of
// another weight than 1 look at their elements for that.
type Ordered struct {
	arena  *Arena
	key    func(element uint32) []byte
	weight func(element uint32) int // nil: 1
	marked bool
	spot   spot
}

const (
	nodeCap   = 32
	smallCap  = 4
	leafBytes = 8 + nodeCap*12
	nodeBytes = 8 + nodeCap*20
	mergeAt   = nodeCap * 3 / 4 // neighbours of together so many become one
	maxLevel  = 8
)

// InsertBytes is what one insertion may take of the arena at most: enough for Arena.Reserve.
const InsertBytes = maxLevel * (nodeBytes + leafBytes)

// NewOrdered returns a keeper of sets whose nodes live in the arena. key gives the key of an element.
func NewOrdered(arena *Arena, key func(element uint32) []byte) *Ordered {
	return &Ordered{arena: arena, key: key}
}

// Weigh gives elements weights, 1 or more. The weight of an element must not change while it is in a set.
func (o *Ordered) Weigh(weight func(element uint32) int) { o.weight = weight }

// Marked says that all keys begin with a field of fixed width, whose marker tells nothing but nulls (see the sort keys): it
// makes room for one more byte behind it among the 8 that nodes keep. Values of 8 bytes are then compared in the nodes alone.
func (o *Ordered) Marked() { o.marked = true }

func (o *Ordered) weigh(element uint32) int {
	if o.weight == nil {
		return 1
	}
	return o.weight(element)
}

// node is the decoded address of a node; its arrays have room for nodeCap elements, or less in a small root.
type node struct {
	p   unsafe.Pointer
	cap uintptr
}

func (o *Ordered) node(r Ref, capacity int) node {
	return node{o.arena.block(r, nodeBytes), uintptr(capacity)}
}

func (n node) count() int     { return int(*(*uint16)(n.p)) }
func (n node) setCount(c int) { *(*uint16)(n.p) = uint16(c) }

// total is the weight of a leaf's elements.
func (n node) total() int     { return int(*(*uint32)(unsafe.Add(n.p, 4))) }
func (n node) setTotal(t int) { *(*uint32)(unsafe.Add(n.p, 4)) = uint32(t) }
func (n node) prefixes() []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Add(n.p, 8)), n.cap)
}
func (n node) words(i uintptr) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Add(n.p, 8+n.cap*(8+4*i))), n.cap)
}
func (n node) refs() []uint32     { return n.words(0) }
func (n node) children() []uint32 { return n.words(1) }
func (n node) counts() []uint32   { return n.words(2) }

func (o *Ordered) rootOf(s *OrderedSet) node {
	if s.small > 0 {
		return o.node(s.root, int(s.small))
	}
	return o.node(s.root, nodeCap)
}

// prefixOf is what nodes keep of a key: a number that orders as the key does, but may be equal where keys differ.
func (o *Ordered) prefixOf(key []byte) uint64 {
	if !o.marked {
		return prefixOf(key)
	}
	switch marker := key[0]; {
	case marker == 0:
		return 0
	case marker != valid:
		return math.MaxUint64
	}
	// The outermost values tie with nulls, or what is next to them.
	return min(max(prefixOf(key[1:]), 1), math.MaxUint64-1)
}

func prefixOf(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var padded [8]byte
	copy(padded[:], key)
	return binary.BigEndian.Uint64(padded[:])
}

// before is the number of elements (or subtrees, by their first elements) of the node whose keys are less than key, and
// whether the next one's is equal.
func (o *Ordered) before(n node, prefix uint64, key []byte) (at int, equal bool) {
	prefixes, count := n.prefixes(), n.count()
	low := n.lowest(count, prefix)
	high := low
	for high < count && prefixes[high] == prefix {
		high++
	}
	refs := n.refs()
	for low < high {
		middle := int(uint(low+high) / 2)
		switch bytes.Compare(o.key(refs[middle]), key) {
		case 0:
			return middle, true
		case -1:
			low = middle + 1
		default:
			high = middle
		}
	}
	return low, false
}

// lowest is how many of the node's first prefixes are less. Which half of them to go on with is as good as random, so it is
// computed and not branched on.
func (n node) lowest(count int, prefix uint64) int {
	if count == 0 {
		return 0
	}
	less := func(i int) int {
		_, borrow := bits.Sub64(*(*uint64)(unsafe.Add(n.p, 8+8*i)), prefix, 0)
		return int(borrow)
	}
	low := 0
	for count > 1 {
		half := count / 2
		low += half & -less(low+half-1)
		count -= half
	}
	return low + less(low)
}

// child is the subtree of an inner node that the key belongs to.
func (o *Ordered) child(n node, prefix uint64, key []byte) int {
	at, equal := o.before(n, prefix, key)
	if equal || at == 0 {
		return at
	}
	return at - 1
}

// childNode is child i of an inner node; nodes below the root are never small.
func (o *Ordered) childNode(n node, i int) node { return o.node(Ref(n.children()[i]), nodeCap) }

// plain tells that all elements of a leaf weigh 1.
func (o *Ordered) plain(n node) bool { return o.weight == nil || n.total() == n.count() }

// leading is the weight of a leaf's first elements.
func (o *Ordered) leading(n node, elements int) int {
	if o.plain(n) {
		return elements
	}
	sum := 0
	for _, e := range n.refs()[:elements] {
		sum += o.weight(e)
	}
	return sum
}

// Rank is the number of elements with a key less than the given one, and whether one has an equal key.
func (o *Ordered) Rank(s *OrderedSet, key []byte) (rank int, found bool) {
	if s.count == 0 {
		return 0, false
	}
	prefix := o.prefixOf(key)
	n := o.rootOf(s)
	for level := s.level; level > 0; level-- {
		i := o.child(n, prefix, key)
		for _, c := range n.counts()[:i] {
			rank += int(c)
		}
		n = o.childNode(n, i)
	}
	at, found := o.before(n, prefix, key)
	return rank + o.leading(n, at), found
}

// Find returns the element with that key, or 0.
func (o *Ordered) Find(s *OrderedSet, key []byte) uint32 {
	if s.count == 0 {
		return 0
	}
	prefix := o.prefixOf(key)
	n := o.rootOf(s)
	for level := s.level; level > 0; level-- {
		n = o.childNode(n, o.child(n, prefix, key))
	}
	if at, found := o.before(n, prefix, key); found {
		return n.refs()[at]
	}
	return 0
}

// At is the element at a position, counted from 0.
func (o *Ordered) At(s *OrderedSet, position int) uint32 {
	if uint(position) >= uint(s.count) {
		panic("rowstate: position outside an ordered set")
	}
	n, at, _ := o.leafAt(s, position, nil)
	return n.refs()[at]
}

// leafAt is the leaf that holds a position, where in it, and how much of the element's weight lies before the position. The
// way there goes into steps, unless that is nil.
func (o *Ordered) leafAt(s *OrderedSet, position int, steps *[maxLevel]turn) (n node, at, within int) {
	n = o.rootOf(s)
	for level := s.level; level > 0; level-- {
		i := 0
		for counts := n.counts(); position >= int(counts[i]); i++ {
			position -= int(counts[i])
		}
		if steps != nil {
			steps[level-1] = turn{n, i}
		}
		n = o.childNode(n, i)
	}
	if o.plain(n) {
		return n, position, 0
	}
	for at, e := range n.refs()[:n.count()] {
		w := o.weight(e)
		if position < w {
			return n, at, position
		}
		position -= w
	}
	panic("rowstate: a leaf weighs less than is known above")
}

// Slice appends the elements from a position on, n or as many as there are. All must weigh 1.
func (o *Ordered) Slice(s *OrderedSet, position, n int, dst []uint32) []uint32 {
	for end := min(position+n, int(s.count)); position < end; {
		leaf, at, _ := o.leafAt(s, position, nil)
		to := min(leaf.count(), at+end-position)
		dst = append(dst, leaf.refs()[at:to]...)
		position += to - at
	}
	return dst
}

// From visits the elements in order, beginning with the one at a position, each with its first position. The set must not
// change meanwhile.
func (o *Ordered) From(s *OrderedSet, position int) iter.Seq2[int, uint32] {
	return func(yield func(int, uint32) bool) {
		for position < int(s.count) {
			n, at, within := o.leafAt(s, position, nil)
			position -= within
			for _, element := range n.refs()[at:n.count()] {
				if !yield(position, element) {
					return
				}
				position += o.weigh(element)
			}
		}
	}
}

// Clear empties the set and frees its nodes. The elements are the owner's to free.
func (o *Ordered) Clear(s *OrderedSet) {
	if s.count > 0 {
		o.clear(s.root, int(s.level), int(s.small))
	}
	*s = OrderedSet{}
}

func (o *Ordered) clear(r Ref, level, small int) {
	n := o.node(r, nodeCap)
	if level > 0 {
		for _, child := range n.children()[:n.count()] {
			o.clear(Ref(child), level-1, 0)
		}
	}
	o.arena.Free(r, sizeOfNode(level, small))
}

func sizeOfNode(level, small int) int {
	switch {
	case small > 0:
		return 8 + small*12
	case level == 0:
		return leafBytes
	}
	return nodeBytes
}
