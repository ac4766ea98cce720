package rowstate

import (
	"bytes"
	"encoding/binary"
	"iter"
	"slices"
	"unsafe"
)

// RowChain is the handle of the rows of one key, in the order they came: 16 bytes that its owner keeps, usually inside a
// table's value, where ChainIn finds it. The zero handle is the empty chain.
type RowChain struct {
	count uint32
	first Ref // of two rows or less: the rows themselves; else the first and the last node
	last  Ref
	group Ref // of a chain in the index: an empty block, which makes its number there its own
}

// ChainSize is the number of bytes of a handle.
const ChainSize = int(unsafe.Sizeof(RowChain{}))

// ChainIn is the handle in the first ChainSize bytes of a table's value, which must be at a multiple of 8 of it.
func ChainIn(value []byte) *RowChain {
	// A table's value is outside the Go heap and 8-aligned; it stays in place as long as its entry.
	_ = value[ChainSize-1]
	return (*RowChain)(unsafe.Pointer(unsafe.SliceData(value)))
}

// Len is the number of rows.
func (c *RowChain) Len() int { return int(c.count) }

// Chains keeps any number of row chains in one arena:
//
//	row:   length (4) | unused (4) | bytes
//	node:  next node (4) | node before (4) | rows (2) | capacity (2) | unused (4) | refs of rows, 4 bytes each
//
// Nodes hold 4, 10, 22, 46, then 60 rows. Most keys of a join have one row or two: those need no node. A row keeps its ref
// and its node as long as the chain has more than two.
//
// Finding a row goes through the chain, unless there is an index: see Index.
type Chains struct {
	arena *Arena
	index *RowIndex // of the rows of large chains, with their nodes, or nil
	key   func(row []byte) []byte
}

const (
	rowHead  = 8
	inHandle = 2
	nodeHead = 16
	nodeMost = 60
	// indexFrom is the number of rows from which a chain is in the index. Comparing so many takes as long as looking one up
	// where they miss the cache.
	indexFrom = 32
	groupSize = 8
)

// ChainBytes is what appending rows to chains may take of the arena at most: enough for Arena.Reserve.
func ChainBytes(rows int, rowBytes int64) int64 {
	return int64(rows)*(rowHead+refUnit+nodeHead+4*nodeMost+groupSize) + rowBytes
}

// NewChains returns a keeper of chains whose rows and nodes live in the arena.
func NewChains(arena *Arena) *Chains { return &Chains{arena: arena} }

// Index has the rows of large chains indexed from now on, so that Find, FindKey and Remove take the same time however
// long a chain is. key is what FindKey finds rows by, like the unique key within a row, and valid until it is called again;
// nil means all of the row. All chains must be empty. Where the budget has no room for the index of a chain, that chain is
// searched row by row. Close gives the index's memory back.
func (k *Chains) Index(b *Budget, purpose string, key func(row []byte) []byte) {
	k.key = key
	k.index = NewRowIndex(b, purpose, func(r Ref) []byte { return k.keyOf(k.Row(r)) })
}

// Close gives the memory of the index back; that of the rows is the arena's.
func (k *Chains) Close() {
	if k.index != nil {
		k.index.Close()
	}
}

func (k *Chains) keyOf(row []byte) []byte {
	if k.key == nil {
		return row
	}
	return k.key(row)
}

// Row is the row's bytes; they may be overwritten in place.
func (k *Chains) Row(r Ref) []byte {
	head := k.arena.Bytes(r, rowHead)
	n := int(binary.LittleEndian.Uint32(head))
	return k.arena.Bytes(r, rowHead+n)[rowHead:]
}

type chainNode struct {
	next, before Ref
	count, most  uint16
	_            uint32
	rows         [nodeMost]Ref // as many as most says
}

func (k *Chains) node(r Ref) *chainNode {
	return (*chainNode)(k.arena.block(r, nodeHead+4*nodeMost))
}

func (n *chainNode) refs() []Ref { return n.rows[:n.count] }

func (k *Chains) newNode(before Ref, most int) Ref {
	r := k.arena.Alloc(nodeHead + 4*most)
	n := k.node(r)
	n.next, n.before, n.count, n.most = 0, before, 0, uint16(most)
	return r
}

func (k *Chains) freeNode(r Ref) { k.arena.Free(r, nodeHead+4*int(k.node(r).most)) }

// Append adds a copy of the row at the end and returns where it is.
func (k *Chains) Append(c *RowChain, row []byte) Ref {
	r := k.newRow(row)
	k.link(c, r)
	return r
}

func (k *Chains) newRow(row []byte) Ref {
	r := k.arena.Alloc(rowHead + len(row))
	b := k.arena.Bytes(r, rowHead+len(row))
	binary.LittleEndian.PutUint32(b, uint32(len(row)))
	copy(b[rowHead:], row)
	return r
}

func (k *Chains) freeRow(r Ref) { k.arena.Free(r, rowHead+len(k.Row(r))) }

func (k *Chains) link(c *RowChain, r Ref) {
	c.count++
	switch c.count {
	case 1:
		c.first = r
		return
	case 2:
		c.last = r
		return
	case inHandle + 1:
		node := k.newNode(0, 4)
		n := k.node(node)
		n.rows[0], n.rows[1], n.count = c.first, c.last, inHandle
		c.first, c.last = node, node
	}
	n := k.node(c.last)
	if n.count == n.most {
		node := k.newNode(c.last, min(2*int(n.most)+2, nodeMost))
		k.node(c.last).next = node
		c.last = node
		n = k.node(node)
	}
	n.rows[n.count] = r
	n.count++
	switch {
	case k.index == nil:
	case c.group != 0:
		if !k.index.Add(uint64(c.group), r, uint32(c.last)) {
			k.leaveIndex(c)
		}
	case c.count >= indexFrom && c.count&(c.count-1) == 0:
		k.enterIndex(c)
	}
}

// enterIndex enters all rows of a chain into the index, or none.
func (k *Chains) enterIndex(c *RowChain) {
	if k.arena.Reserve(groupSize) != nil {
		return
	}
	c.group = k.arena.Alloc(groupSize)
	for node, r := range k.nodes(c) {
		if !k.index.Add(uint64(c.group), r, uint32(node)) {
			k.leaveIndex(c)
			return
		}
	}
}

// leaveIndex takes the rows of a chain out of the index, those that are in it.
func (k *Chains) leaveIndex(c *RowChain) {
	for _, r := range k.nodes(c) {
		k.index.Remove(uint64(c.group), r)
	}
	k.arena.Free(c.group, groupSize)
	c.group = 0
}

// nodes visits the rows of a chain of more than two, with their nodes.
func (k *Chains) nodes(c *RowChain) iter.Seq2[Ref, Ref] {
	return func(yield func(node, row Ref) bool) {
		for node := c.first; node != 0; node = k.node(node).next {
			for _, r := range k.node(node).refs() {
				if !yield(node, r) {
					return
				}
			}
		}
	}
}

// All visits the rows in the order they came. The chain must not change meanwhile.
func (k *Chains) All(c *RowChain) iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		if c.count <= inHandle {
			_ = (c.count < 1 || yield(c.first)) && (c.count < 2 || yield(c.last))
			return
		}
		for _, r := range k.nodes(c) {
			if !yield(r) {
				return
			}
		}
	}
}

// First is the row that came first, or 0 if there is none.
func (k *Chains) First(c *RowChain) Ref {
	if c.count <= inHandle {
		return c.first
	}
	return k.node(c.first).rows[0]
}

// Last is the row that came last, or 0 if there is none.
func (k *Chains) Last(c *RowChain) Ref {
	switch {
	case c.count == 1:
		return c.first
	case c.count <= inHandle:
		return c.last
	}
	n := k.node(c.last)
	return n.rows[n.count-1]
}

// Find returns the first row with these bytes, or 0.
func (k *Chains) Find(c *RowChain, row []byte) Ref {
	if c.group != 0 && k.key == nil {
		r, _ := k.index.First(uint64(c.group), row)
		return r
	}
	for r := range k.All(c) {
		if bytes.Equal(k.Row(r), row) {
			return r
		}
	}
	return 0
}

// FindKey returns the first row with that key, as Index was told it, or 0. The key must not be memory that the function
// given to Index writes to.
func (k *Chains) FindKey(c *RowChain, key []byte) Ref {
	if c.group != 0 {
		r, _ := k.index.First(uint64(c.group), key)
		return r
	}
	for r := range k.All(c) {
		if bytes.Equal(k.keyOf(k.Row(r)), key) {
			return r
		}
	}
	return 0
}

// Replace puts a copy of other bytes in the place of a row, which must be one of the chain, and frees the row.
func (k *Chains) Replace(c *RowChain, r Ref, row []byte) Ref {
	fresh := k.newRow(row)
	switch {
	case c.count <= inHandle && c.first == r:
		c.first = fresh
	case c.count <= inHandle:
		c.last = fresh
	default:
		node := k.nodeOf(c, r)
		refs := k.node(node).refs()
		refs[slices.Index(refs, r)] = fresh
		if c.group != 0 && !k.index.Replace(uint64(c.group), r, fresh) {
			k.index.Remove(uint64(c.group), r)
			// Equal rows are in the index in the order they were added: it would not be the chain's any more.
			if k.FindKey(c, k.keyOf(row)) != 0 || !k.index.Add(uint64(c.group), fresh, uint32(node)) {
				k.leaveIndex(c)
				k.enterIndex(c)
			}
		}
	}
	k.freeRow(r)
	return fresh
}

// Remove takes a row out and frees it; it returns false if it is a row of another chain.
func (k *Chains) Remove(c *RowChain, r Ref) bool {
	switch {
	case c.count <= inHandle:
		switch {
		case c.count > 0 && c.first == r:
			c.first, c.last = c.last, 0
		case c.count == 2 && c.last == r:
			c.last = 0
		default:
			return false
		}
	case !k.unlink(c, r):
		return false
	}
	c.count--
	k.freeRow(r)
	if c.count == inHandle {
		k.intoHandle(c)
	}
	return true
}

// nodeOf is the node of a row in a chain of more than two, or 0 if the chain does not have the row.
func (k *Chains) nodeOf(c *RowChain, r Ref) Ref {
	if c.group != 0 {
		node, _ := k.index.Note(uint64(c.group), r)
		return Ref(node)
	}
	for node := c.first; node != 0; node = k.node(node).next {
		if slices.Contains(k.node(node).refs(), r) {
			return node
		}
	}
	return 0
}

// unlink takes a row out of its node, and an empty node out of the chain.
func (k *Chains) unlink(c *RowChain, r Ref) bool {
	var node Ref
	if c.group != 0 {
		note, _ := k.index.Remove(uint64(c.group), r)
		node = Ref(note)
	} else {
		node = k.nodeOf(c, r)
	}
	if node == 0 {
		return false
	}
	n := k.node(node)
	at := slices.Index(n.refs(), r)
	copy(n.rows[at:n.count-1], n.rows[at+1:n.count])
	if n.count--; n.count > 0 {
		return true
	}
	if n.before != 0 {
		k.node(n.before).next = n.next
	} else {
		c.first = n.next
	}
	if n.next != 0 {
		k.node(n.next).before = n.before
	} else {
		c.last = n.before
	}
	k.freeNode(node)
	return true
}

// intoHandle brings a chain of two rows back to its small form.
func (k *Chains) intoHandle(c *RowChain) {
	if c.group != 0 {
		k.leaveIndex(c)
	}
	var rows [inHandle]Ref
	i := 0
	for node := c.first; node != 0; {
		n := k.node(node)
		i += copy(rows[i:], n.rows[:n.count])
		next := n.next
		k.freeNode(node)
		node = next
	}
	c.first, c.last = rows[0], rows[1]
}

// Clear frees all rows.
func (k *Chains) Clear(c *RowChain) {
	if c.group != 0 {
		k.leaveIndex(c)
	}
	for r := range k.All(c) {
		k.freeRow(r)
	}
	if c.count > inHandle {
		for node := c.first; node != 0; {
			next := k.node(node).next
			k.freeNode(node)
			node = next
		}
	}
	*c = RowChain{}
}
