package changelog

import "encoding/binary"

// Form is what a row of the output consists of: one BinaryRowData, or two (see AppendJoined).
type Form uint8

// The forms. A Builder's is that of its first row.
const (
	anyForm Form = iota
	rowForm
	joinedForm
)

// Joined tells whether it is the form of two rows.
func (f Form) Joined() bool { return f == joinedForm }

// Buffers is the memory of one output chunk. Its slices' lengths are the chunk's capacity: n rows need n kinds, n sources
// and n+1 offsets or, in joined form, n views of either side and no offsets.
type Buffers struct {
	Kinds       []RowKind
	Offsets     []int32
	Left, Right []View
	Source      []int32
	Data        []byte
}

// Memory gives a Builder its buffers. The boundary hands out memory that is not the Go heap's, because the host reads it
// after the call has returned.
type Memory interface {
	// Alloc returns buffers for at least the given number of rows and bytes. The contents are arbitrary. Running out of
	// memory is a panic, not an error: an output chunk is small and bounded.
	Alloc(form Form, rows, bytes int) *Buffers
	// Free takes back what Alloc returned.
	Free(*Buffers)
}

// Chunk is a finished part of the output, borrowed from the Builder until Recycle: Offsets has one entry more than Kinds
// and starts at 0, Source has one per row, Data ends at the last offset. In joined form there are no offsets, but Left and
// Right with one view per row each.
type Chunk struct {
	Kinds       []RowKind
	Offsets     []int32
	Left, Right []View
	Source      []int32
	Data        []byte
}

// Len is the number of rows.
func (c *Chunk) Len() int { return len(c.Kinds) }

// Row is row i's bytes, borrowed.
func (c *Chunk) Row(i int) []byte { return c.Data[c.Offsets[i]:c.Offsets[i+1]:c.Offsets[i+1]] }

// BuilderOptions bounds a chunk. Zero values take the defaults.
type BuilderOptions struct {
	Rows   int    // most rows of a chunk; 4096
	Bytes  int    // most row bytes of a chunk, one larger row excepted; 1 MiB
	Memory Memory // the Go heap
}

// NoSource is the source of a row that no row of the current batch has caused: a timer did, or a bundle.
const NoSource = -1

// Builder collects what an operator emits, in order, cut into chunks that the host takes away one by one.
//
// The cycle is: Append any number of rows, Next until it says no, Recycle. A chunk stays valid from Next to Recycle. Chunk
// memory is kept and used again, so that after the largest output was once seen nothing is allocated any more.
type Builder struct {
	// The chunk being written, spelled out here because Append is the hottest code there is; the slices have the full
	// capacity of the buffers, rows and bytes say how much is used.
	kinds   []RowKind
	offsets []int32
	left    []View
	right   []View
	source  []int32
	data    []byte
	rows    int
	bytes   int
	base    int    // what is added to sources
	chunk   uint64 // which one it is, counted from 1, for payloads
	limit   int    // the most bytes of this chunk; only in joined form

	form     Form
	current  *Buffers
	full     []sealed // chunks before the current one, in order
	next     int      // the first of full that Next has not returned
	free     []*Buffers
	pending  int64
	maxRows  int
	maxBytes int
	memory   Memory
	inMemory int64 // bytes of all buffers, for statistics
}

type sealed struct {
	buffers *Buffers
	rows    int
	bytes   int
}

// fullChunks is how many chunks waiting make a Builder full: enough that the way to the host and back is nothing beside
// them, few enough to be still in the cache when the host reads them.
const fullChunks = 2

// minRows and minBytes are the size of the first buffers: small, for the many operators that emit little.
const (
	minRows  = 64
	minBytes = 4096
)

// NewBuilder makes an empty builder; it allocates with the first row.
func NewBuilder(options BuilderOptions) *Builder {
	b := &Builder{maxRows: options.Rows, maxBytes: options.Bytes, memory: options.Memory, chunk: 1}
	if b.maxRows <= 0 {
		b.maxRows = 4096
	}
	if b.maxBytes <= 0 {
		b.maxBytes = 1 << 20
	}
	if b.memory == nil {
		b.memory = heap{}
	}
	return b
}

// Append adds a row and copies its bytes; the copy's header byte says the kind, so that it is a whole BinaryRowData. An
// empty row is not a BinaryRowData and panics. source is the index of the causing row in the current batch, or NoSource.
func (b *Builder) Append(kind RowKind, row []byte, source int) {
	if b.rows >= len(b.kinds) || b.bytes+len(row) > len(b.data) {
		b.grow(len(row))
	}
	i, end := b.rows, b.bytes+len(row)
	dst := b.data[b.bytes:end]
	copy(dst, row)
	dst[0] = byte(kind)
	b.kinds[i] = kind
	if source >= 0 {
		source += b.base
	}
	b.source[i] = int32(source)
	b.offsets[i+1] = int32(end)
	b.rows, b.bytes = i+1, end
	b.pending++
}

// AppendInt64 is Append of a row of which 8 bytes, from offset at on, are replaced by v: a rank, mostly.
func (b *Builder) AppendInt64(kind RowKind, row []byte, source int, at int, v int64) {
	b.Append(kind, row, source)
	binary.LittleEndian.PutUint64(b.data[b.bytes-len(row)+at:], uint64(v))
}

// grow makes room for one more row of n bytes: larger buffers for the current chunk while that stays within the limits,
// the next chunk otherwise.
func (b *Builder) grow(n int) {
	b.decide(rowForm)
	if b.rows > 0 && (b.rows >= b.maxRows || b.bytes+n > b.maxBytes) {
		b.seal()
	}
	b.fit(len(b.kinds), n, b.maxBytes)
}

// decide makes the form that of the first row.
func (b *Builder) decide(form Form) {
	if b.form == anyForm {
		b.form = form
	}
	if b.form != form {
		panic("changelog: rows of both forms in one output")
	}
}

// fit sees to it that the current chunk, which has room for some rows, takes one more of n bytes.
func (b *Builder) fit(room, n, maxBytes int) {
	rows, bytes := room, len(b.data)
	if b.rows < rows && b.bytes+n <= bytes {
		return
	}
	if b.rows >= rows {
		rows = min(max(2*rows, minRows), b.maxRows)
	}
	if b.bytes+n > bytes {
		bytes = max(min(max(2*bytes, minBytes), maxBytes), b.bytes+n)
	}
	old := b.current
	b.use(b.alloc(rows, bytes))
	if old != nil {
		copy(b.kinds, old.Kinds[:b.rows])
		copy(b.source, old.Source[:b.rows])
		if b.form.Joined() {
			copy(b.left, old.Left[:b.rows])
			copy(b.right, old.Right[:b.rows])
		} else {
			copy(b.offsets, old.Offsets[:b.rows+1])
		}
		copy(b.data, old.Data[:b.bytes])
		b.release(old)
	}
}

// seal ends the current chunk and takes a free one as the next, or none.
func (b *Builder) seal() {
	b.full = append(b.full, sealed{b.current, b.rows, b.bytes})
	b.rows, b.bytes, b.limit = 0, 0, b.maxBytes
	b.chunk++
	if n := len(b.free); n > 0 {
		b.use(b.free[n-1])
		b.free = b.free[:n-1]
		return
	}
	b.current, b.kinds, b.offsets, b.left, b.right, b.source, b.data = nil, nil, nil, nil, nil, nil, nil
}

func (b *Builder) use(buffers *Buffers) {
	b.current = buffers
	// Memory may hand out more than was asked for; the limits stay.
	n := min(len(buffers.Kinds), len(buffers.Source), b.maxRows)
	if b.form.Joined() {
		n = min(n, len(buffers.Left), len(buffers.Right))
		b.left, b.right = buffers.Left[:n], buffers.Right[:n]
	} else {
		n = min(n, len(buffers.Offsets)-1)
		b.offsets = buffers.Offsets[:n+1]
		b.offsets[0] = 0
	}
	b.kinds, b.source, b.data = buffers.Kinds[:n], buffers.Source[:n], buffers.Data
}

func (b *Builder) alloc(rows, bytes int) *Buffers {
	buffers := b.memory.Alloc(b.form, rows, bytes)
	b.inMemory += buffers.size()
	return buffers
}

func (b *Builder) release(buffers *Buffers) {
	b.inMemory -= buffers.size()
	b.memory.Free(buffers)
}

// Base sets where in the host's batch the operator's batch begins: the sources of rows appended from now on count from there.
func (b *Builder) Base(row int) { b.base = row }

// Pending is the number of rows that Next has yet to return.
func (b *Builder) Pending() int64 { return b.pending }

// Full says that enough rows are pending to be taken away. An operator that may emit many rows for one (see op.Resumer)
// should stop then and go on when it is asked to; one that can't may go on all the same.
func (b *Builder) Full() bool { return len(b.full)-b.next >= fullChunks }

// Memory is the number of bytes of all buffers.
func (b *Builder) Memory() int64 { return b.inMemory }

// Next returns the next chunk, or false when there is none.
func (b *Builder) Next() (Chunk, bool) {
	if b.next == len(b.full) {
		if b.rows == 0 {
			return Chunk{}, false
		}
		b.seal()
	}
	s := b.full[b.next]
	b.next++
	b.pending -= int64(s.rows)
	c := Chunk{Kinds: s.buffers.Kinds[:s.rows], Source: s.buffers.Source[:s.rows], Data: s.buffers.Data[:s.bytes]}
	if b.form.Joined() {
		c.Left, c.Right = s.buffers.Left[:s.rows], s.buffers.Right[:s.rows]
	} else {
		c.Offsets = s.buffers.Offsets[:s.rows+1]
	}
	return c, true
}

// Recycle takes back the memory of every chunk that Next has returned. Rows still pending stay.
func (b *Builder) Recycle() {
	for _, s := range b.full[:b.next] {
		if len(s.buffers.Data) > b.maxBytes {
			b.release(s.buffers) // made for one huge row; not worth keeping
		} else {
			b.free = append(b.free, s.buffers)
		}
	}
	left := copy(b.full, b.full[b.next:])
	b.full, b.next = b.full[:left], 0
	if b.current == nil && len(b.free) > 0 {
		b.use(b.free[len(b.free)-1])
		b.free = b.free[:len(b.free)-1]
	}
}

// Close frees all memory, pending rows included. The builder is empty afterwards and may be used again.
func (b *Builder) Close() {
	for _, s := range b.full {
		b.release(s.buffers)
	}
	for _, buffers := range b.free {
		b.release(buffers)
	}
	if b.current != nil {
		b.release(b.current)
	}
	*b = Builder{maxRows: b.maxRows, maxBytes: b.maxBytes, memory: b.memory, chunk: b.chunk + 1}
}

func (b *Buffers) size() int64 {
	return int64(len(b.Kinds)) + 4*int64(len(b.Offsets)) + 4*int64(len(b.Source)) +
		viewSize*int64(len(b.Left)+len(b.Right)) + int64(len(b.Data))
}

// heap is the memory of a builder that crosses no boundary.
type heap struct{}

func (heap) Alloc(form Form, rows, bytes int) *Buffers {
	b := &Buffers{Kinds: make([]RowKind, rows), Source: make([]int32, rows), Data: make([]byte, bytes)}
	if form.Joined() {
		b.Left, b.Right = make([]View, rows), make([]View, rows)
	} else {
		b.Offsets = make([]int32, rows+1)
	}
	return b
}

func (heap) Free(*Buffers) {}
