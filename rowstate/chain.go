package rowstate

import (
	"bytes"
	"encoding/binary"
	"iter"
	"unsafe"
)

// RowChain is the handle of the rows of one key, in the order they came: 16 bytes that its owner keeps, usually inside a
// table's value, where ChainIn finds it. The zero handle is the empty chain.
type RowChain struct {
	count uint32
	first Ref // of two rows or less: the rows themselves; else the first and the last node
	last  Ref
	_     uint32
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
//	row:   length (4) | mark (4), the owner's, 0 at first | bytes
//	node:  next node (4) | rows (2) | capacity (2) | refs of rows, 4 bytes each
//
// Nodes hold 6, 14, 30, then 62 rows. Most keys of a join have one row or two: those need no node.
type Chains struct {
	arena *Arena
}

const (
	rowHead  = 8
	inHandle = 2
	nodeHead = 8
	nodeMost = 62
)

// ChainBytes is what appending rows to chains may take of the arena at most: enough for Arena.Reserve.
func ChainBytes(rows int, rowBytes int64) int64 {
	return int64(rows)*(rowHead+refUnit+nodeHead+4*nodeMost) + rowBytes
}

// NewChains returns a keeper of chains whose rows and nodes live in the arena.
func NewChains(arena *Arena) *Chains { return &Chains{arena: arena} }

// Row is the row's bytes; they may be overwritten in place.
func (k *Chains) Row(r Ref) []byte {
	head := k.arena.Bytes(r, rowHead)
	n := int(binary.LittleEndian.Uint32(head))
	return k.arena.Bytes(r, rowHead+n)[rowHead:]
}

// Mark is a number of the owner's beside each row, like the association count of an outer join's row.
func (k *Chains) Mark(r Ref) *uint32 {
	return (*uint32)(unsafe.Pointer(&k.arena.Bytes(r, rowHead)[4]))
}

type chainNode struct {
	next        Ref
	count, most uint16
	rows        [nodeMost]Ref // as many as most says
}

func (k *Chains) node(r Ref) *chainNode {
	return (*chainNode)(k.arena.block(r, nodeHead+4*nodeMost))
}

func (k *Chains) newNode(most int) Ref {
	r := k.arena.Alloc(nodeHead + 4*most)
	n := k.node(r)
	n.next, n.count, n.most = 0, 0, uint16(most)
	return r
}

func (k *Chains) freeNode(r Ref) { k.arena.Free(r, nodeHead+4*int(k.node(r).most)) }

// Append adds a copy of the row at the end and returns where it is.
func (k *Chains) Append(c *RowChain, row []byte) Ref {
	r := k.arena.Alloc(rowHead + len(row))
	b := k.arena.Bytes(r, rowHead+len(row))
	binary.LittleEndian.PutUint32(b, uint32(len(row)))
	binary.LittleEndian.PutUint32(b[4:], 0)
	copy(b[rowHead:], row)
	k.link(c, r)
	return r
}

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
		node := k.newNode(6)
		n := k.node(node)
		n.rows[0], n.rows[1], n.count = c.first, c.last, inHandle
		c.first, c.last = node, node
	}
	n := k.node(c.last)
	if n.count == n.most {
		node := k.newNode(min(2*int(n.most)+2, nodeMost))
		k.node(c.last).next = node
		c.last = node
		n = k.node(node)
	}
	n.rows[n.count] = r
	n.count++
}

// All visits the rows in the order they came. The chain must not change meanwhile.
func (k *Chains) All(c *RowChain) iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		if c.count <= inHandle {
			_ = (c.count < 1 || yield(c.first)) && (c.count < 2 || yield(c.last))
			return
		}
		for node := c.first; node != 0; node = k.node(node).next {
			n := k.node(node)
			for _, r := range n.rows[:n.count] {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// Find returns the first row with these bytes, or 0.
func (k *Chains) Find(c *RowChain, row []byte) Ref {
	for r := range k.All(c) {
		if bytes.Equal(k.Row(r), row) {
			return r
		}
	}
	return 0
}

// Remove takes a row of the chain out and frees it; it returns false if the chain does not have it.
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
	k.arena.Free(r, rowHead+len(k.Row(r)))
	if c.count == inHandle {
		k.intoHandle(c)
	}
	return true
}

// unlink takes a row out of its node, and an empty node out of the chain.
func (k *Chains) unlink(c *RowChain, r Ref) bool {
	before := Ref(0)
	for node := c.first; node != 0; before, node = node, k.node(node).next {
		n := k.node(node)
		for i, row := range n.rows[:n.count] {
			if row != r {
				continue
			}
			copy(n.rows[i:n.count-1], n.rows[i+1:n.count])
			if n.count--; n.count > 0 {
				return true
			}
			if before != 0 {
				k.node(before).next = n.next
			} else {
				c.first = n.next
			}
			if c.last == node {
				c.last = before
			}
			k.freeNode(node)
			return true
		}
	}
	return false
}

// intoHandle brings a chain of two rows back to its small form.
func (k *Chains) intoHandle(c *RowChain) {
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
	for r := range k.All(c) {
		k.arena.Free(r, rowHead+len(k.Row(r)))
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
