package changelog

import (
	"encoding/binary"
	"math"
)

// Payload is the left or right row of joined rows: the bytes of a whole BinaryRowData that may occur in any number of them.
// A Builder writes the bytes once per chunk and remembers where in the Payload, so a Payload serves one Builder, and its
// Bytes must not change while it is in use. It is used again for other bytes by *p = Payload{Bytes: …}.
type Payload struct {
	Bytes []byte

	chunk uint64 // of the builder's chunks the one that view is about; 0: none
	view  View
}

// View says where the bytes of a joined row's side are: an element of an Arrow binary view, 16 bytes. The first 4 are the
// length. Up to 12 bytes stand in the view itself; of a longer value there are the first 4 bytes, the number of the data
// buffer, which always is 0, and the offset in it.
type View [viewSize]byte

const (
	viewSize   = 16
	viewInline = 12
)

// Bytes is the value, borrowed from the view or from the chunk's data.
func (v *View) Bytes(data []byte) []byte {
	n := int(binary.LittleEndian.Uint32(v[:]))
	if n <= viewInline {
		return v[4 : 4+n : 4+n]
	}
	at := int(binary.LittleEndian.Uint32(v[12:]))
	return data[at : at+n : at+n]
}

// AppendJoined adds a row that consists of two, as Flink's JoinedRowData does, both whole BinaryRowData, which are copied as
// they are: the kind is the joined row's alone. An operator emits rows by this or by Append, never by both.
func (b *Builder) AppendJoined(kind RowKind, left, right *Payload, source int) {
	if b.rows >= len(b.left) || b.bytes+b.missing(left)+b.missing(right) > len(b.data) {
		b.growJoined(left, right)
	}
	i := b.rows
	if left.chunk != b.chunk {
		b.place(left)
	}
	if right.chunk != b.chunk {
		b.place(right)
	}
	b.left[i], b.right[i] = left.view, right.view
	b.kinds[i] = kind
	if source >= 0 {
		source += b.base
	}
	b.source[i] = int32(source)
	b.rows = i + 1
	b.pending++
}

// AppendUpdate adds two joined rows with one left side: the right one before, as -U, and after, as +U.
func (b *Builder) AppendUpdate(left, before, after []byte, source int) {
	i, at := b.rows, b.bytes
	if i+2 > len(b.left) || at+len(left)+len(before)+len(after) > len(b.data) || len(left) <= viewInline || len(before) <= viewInline || len(after) <= viewInline {
		key, previous, next := Payload{Bytes: left}, Payload{Bytes: before}, Payload{Bytes: after}
		b.AppendJoined(UpdateBefore, &key, &previous, source)
		b.AppendJoined(UpdateAfter, &key, &next, source)
		return
	}
	if source >= 0 {
		source += b.base
	}
	v := &b.left[i]
	v.point(left, at)
	b.left[i+1] = *v
	at += copy(b.data[at:], left)
	b.right[i].point(before, at)
	at += copy(b.data[at:], before)
	b.right[i+1].point(after, at)
	at += copy(b.data[at:], after)
	b.kinds[i], b.kinds[i+1] = UpdateBefore, UpdateAfter
	b.source[i], b.source[i+1] = int32(source), int32(source)
	b.rows, b.bytes = i+2, at
	b.pending += 2
}

// point makes it the view of bytes that are too many to stand in it, at an offset of the data.
func (v *View) point(bytes []byte, at int) {
	binary.LittleEndian.PutUint64(v[:], uint64(len(bytes))|uint64(binary.LittleEndian.Uint32(bytes))<<32)
	binary.LittleEndian.PutUint64(v[8:], uint64(at)<<32)
}

// missing is how much of the chunk's data a payload still takes, at most.
func (b *Builder) missing(p *Payload) int {
	if p.chunk == b.chunk {
		return 0
	}
	return len(p.Bytes)
}

func (b *Builder) place(p *Payload) {
	n := len(p.Bytes)
	if n == 0 {
		panic("changelog: an empty payload is not a BinaryRowData")
	}
	p.view = View{}
	binary.LittleEndian.PutUint32(p.view[:], uint32(n))
	if n <= viewInline {
		copy(p.view[4:], p.Bytes)
	} else {
		copy(p.view[4:8], p.Bytes)
		binary.LittleEndian.PutUint32(p.view[12:], uint32(b.bytes))
		b.bytes += copy(b.data[b.bytes:], p.Bytes)
	}
	p.chunk = b.chunk
}

// growJoined is grow for a joined row. A chunk that begins with a huge row takes as many bytes again: its payload may well
// be the left side of thousands of rows, and is not to be copied for each of them.
func (b *Builder) growJoined(left, right *Payload) {
	b.decide(joinedForm)
	if n := b.missing(left) + b.missing(right); b.rows > 0 && (b.rows >= b.maxRows || b.bytes+n > b.limit) {
		b.seal()
	}
	n := b.missing(left) + b.missing(right) // more, if the chunk is a new one
	if b.rows == 0 {
		b.limit = max(b.maxBytes, 2*n)
	}
	if b.bytes+n > math.MaxInt32 {
		panic("changelog: a joined row of more than 2 GiB")
	}
	b.fit(len(b.left), n, b.limit)
}

// LeftRow and RightRow are the two sides of row i of a chunk in joined form, borrowed.
func (c *Chunk) LeftRow(i int) []byte { return c.Left[i].Bytes(c.Data) }

// RightRow is the right side of row i.
func (c *Chunk) RightRow(i int) []byte { return c.Right[i].Bytes(c.Data) }

// Joined tells whether the rows are in joined form; otherwise they have offsets.
func (c *Chunk) Joined() bool { return c.Left != nil }
