package topn

import (
	"bytes"
	"encoding/binary"
	"iter"

	"drey/native/changelog"
	"drey/rowstate"
)

// held keeps rows and their order. A row is a block of the arena:
//
//	0  length of the key, uint32
//	4  length of the row, uint32
//	8  the key: sort key, then the number of the row's arrival, 8 bytes, big-endian; padded to whole words
//	-  the row as it came in, with kind +I
//	-  with a TTL, the row's life
//	-  8 bytes of the strategy's, if it asked for them
//
// A block whose row has length 0 is a ghost (see groups.go): behind the key it has 8 bytes, how many rows it stands for.
type held struct {
	rows    *rowstate.Arena
	nodes   *rowstate.Arena
	order   *rowstate.Ordered
	arrival uint64 // of the row that came last
	moved   []element
	touched byte // keeps what touch reads from being optimized away
	trailer int  // bytes at a block's end: life and what belongs to the strategy
	lives   bool // rows have lives
}

// element is a row's ref, as the order has it.
type element = uint32

const (
	blockHeader  = 8
	arrivalBytes = 8
	ghostBytes   = 8
)

func newHeld(o *Operator, trailer int) held {
	rows, nodes := rowstate.NewArena(o.budget, purposeRows), rowstate.NewArena(o.budget, purposeOrder)
	h := held{rows: rows, nodes: nodes, trailer: trailer, lives: o.clock.TTL > 0}
	if h.lives {
		h.trailer += rowLifeSize
	}
	h.order = rowstate.NewOrdered(nodes, func(e element) []byte {
		n := binary.LittleEndian.Uint32(rows.Bytes(rowstate.Ref(e), blockHeader))
		return rows.Bytes(rowstate.Ref(e), blockHeader+int(n))[blockHeader:]
	})
	if o.sortKeys.Fixed() {
		h.order.Marked()
	}
	return h
}

// nodeReserve is what one more row may need of the order, apart from splits all the way up, of which there is one at most
// among many.
const nodeReserve = 1200

// maxSortKey bounds sort keys in terms of the row they come from: a field of n bytes takes about n + n/8, and twelve more.
func (h *held) reserve(rows int, bytes int64) error {
	if err := h.nodes.Reserve(int64(rows)*nodeReserve + rowstate.InsertBytes); err != nil {
		return err
	}
	perRow := int64(blockHeader + arrivalBytes + 64 + h.trailer)
	return h.rows.Reserve(int64(rows)*perRow + 3*bytes)
}

// add makes the block of a row that comes in now.
func (h *held) add(sortKey, row []byte) element {
	h.arrival++
	return h.put(sortKey, h.arrival, row)
}

func (h *held) put(sortKey []byte, arrival uint64, row []byte) element {
	keyBytes := len(sortKey) + arrivalBytes
	size := h.blockBytes(keyBytes, len(row))
	ref := h.rows.Alloc(size)
	block := h.rows.Bytes(ref, size)
	binary.LittleEndian.PutUint32(block, uint32(keyBytes))
	binary.LittleEndian.PutUint32(block[4:], uint32(len(row)))
	n := copy(block[blockHeader:], sortKey)
	binary.BigEndian.PutUint64(block[blockHeader+n:], arrival)
	stored := block[size-h.trailer-len(row) : size-h.trailer]
	copy(stored, row)
	stored[0] = 0 // the kind is no part of the state
	if h.lives {
		rowstate.PutInt64(block[size-h.trailer:], unknown)
	}
	return element(ref)
}

func (h *held) blockBytes(keyBytes, rowBytes int) int {
	n := blockHeader + (keyBytes+7)&^7
	if rowBytes == 0 {
		return n + ghostBytes
	}
	return n + rowBytes + h.trailer
}

// block is a row's block.
func (h *held) block(e element) (block []byte, keyBytes, rowBytes int) {
	header := h.rows.Bytes(rowstate.Ref(e), blockHeader)
	keyBytes, rowBytes = int(binary.LittleEndian.Uint32(header)), int(binary.LittleEndian.Uint32(header[4:]))
	return h.rows.Bytes(rowstate.Ref(e), h.blockBytes(keyBytes, rowBytes)), keyBytes, rowBytes
}

// row is the row.
func (h *held) row(e element) []byte {
	block, _, rowBytes := h.block(e)
	end := len(block) - h.trailer
	return block[end-rowBytes : end : end]
}

// payload is the row, for going out.
func (h *held) payload(e element) changelog.Payload { return changelog.Payload{Bytes: h.row(e)} }

// trailerOf is the end of a row's block.
func (h *held) trailerOf(e element) []byte {
	block, _, _ := h.block(e)
	return block[len(block)-h.trailer:]
}

// ownerOf is the bytes of a row's block that belong to the strategy.
func (h *held) ownerOf(e element) []byte {
	block, _, _ := h.block(e)
	return block[len(block)-ownerBytes:]
}

// key is the row's key in the order.
func (h *held) key(e element) []byte {
	header := h.rows.Bytes(rowstate.Ref(e), blockHeader)
	keyBytes := int(binary.LittleEndian.Uint32(header))
	return h.rows.Bytes(rowstate.Ref(e), blockHeader+keyBytes)[blockHeader:]
}

// sortKey is the row's sort key.
func (h *held) sortKey(e element) []byte {
	key := h.key(e)
	return key[: len(key)-arrivalBytes : len(key)-arrivalBytes]
}

func (h *held) arrivalOf(e element) uint64 {
	key := h.key(e)
	return binary.BigEndian.Uint64(key[len(key)-arrivalBytes:])
}

func (h *held) free(e element) {
	block, _, _ := h.block(e)
	h.rows.Free(rowstate.Ref(e), len(block))
}

// compare compares a sort key with that of a held row.
func (h *held) compare(sortKey []byte, e element) int { return bytes.Compare(sortKey, h.sortKey(e)) }

// sameGroup tells whether two rows have equal sort keys.
func (h *held) sameGroup(a, b element) bool { return bytes.Equal(h.sortKey(a), h.sortKey(b)) }

// from visits a partition's rows from a rank on, counted from 1.
func (h *held) from(set *rowstate.OrderedSet, rank int64) iter.Seq2[int64, element] {
	return func(yield func(int64, element) bool) {
		if rank > int64(set.Len()) {
			return
		}
		for position, e := range h.order.From(set, int(rank-1)) {
			if !yield(int64(position)+1, e) {
				return
			}
		}
	}
}

// insert puts a row where its key belongs and returns its rank.
func (h *held) insert(set *rowstate.OrderedSet, e element) int64 {
	position, added := h.order.Insert(set, e)
	if !added {
		panic("topn: two rows with one arrival number")
	}
	return int64(position) + 1
}

// remove takes a row out; the caller frees it.
func (h *held) remove(set *rowstate.OrderedSet, e element) { h.order.Delete(set, h.key(e)) }

// removeAt takes the row of a rank out; the caller frees it.
func (h *held) removeAt(set *rowstate.OrderedSet, rank int64) element {
	return h.order.DeleteAt(set, int(rank-1))
}

// at is the row of a rank, or 0.
func (h *held) at(set *rowstate.OrderedSet, rank int64) element {
	if rank < 1 || rank > int64(set.Len()) {
		return 0
	}
	return h.order.At(set, int(rank-1))
}

// rankOf is the rank of a row.
func (h *held) rankOf(set *rowstate.OrderedSet, e element) int64 {
	position, found := h.order.Rank(set, h.key(e))
	if !found {
		panic("topn: a row is not in its set")
	}
	return int64(position) + 1
}

// cascade tells that e has a rank from now on that other rows had, and those behind it another: -U/+U of every rank from e's
// on, and +I if a rank is left for the last row.
func (h *held) cascade(u *output, set *rowstate.OrderedSet, e element, rank, end int64, source int, out *changelog.Builder) {
	if rank > end {
		return
	}
	c := cascade{u: u, out: out, source: source, end: end, rank: rank, carry: h.payload(e)}
	for from := rank; !c.over(); from += movedAtOnce {
		h.moved = h.order.Slice(set, int(from), int(min(end-from, movedAtOnce-1)+1), h.moved[:0])
		h.touch(h.moved)
		for _, o := range h.moved {
			c.pushed(h.row(o))
		}
		if len(h.moved) < movedAtOnce {
			break
		}
	}
	c.last(changelog.Insert)
}

// movedAtOnce is how many rows of a cascade are fetched together.
const movedAtOnce = 64

// touch reads from every cache line of some rows, so that their misses overlap. A cascade copies the rows one behind the other,
// and each copy would wait for its row (op=append/number=true at 100 K partitions: 710 to 530 ns a row).
func (h *held) touch(rows []element) {
	sum := byte(0)
	for _, e := range rows {
		row := h.row(e)
		for i := 0; i < len(row); i += 64 {
			sum += row[i]
		}
	}
	h.touched = sum
}

// Most rows of a Top-N are no better than what is held. So that these cost no look at the rows held, a partition's value has
// the first bytes of the worst one's sort key, from when new rows have to beat it: an edge. Its bits are inverted, because
// the zeros of a fresh partition must let every row through.
const edgeBytes = 16

// beyond tells that a sort key is worse than an edge, which is to say that its row can be forgotten. If it isn't, more has
// to be compared.
func beyond(edge, sortKey []byte) bool {
	a, b := prefix(sortKey)
	first, second := ^binary.BigEndian.Uint64(edge), ^binary.BigEndian.Uint64(edge[8:])
	return a > first || a == first && b > second
}

func setEdge(edge, sortKey []byte) {
	a, b := prefix(sortKey)
	binary.BigEndian.PutUint64(edge, ^a)
	binary.BigEndian.PutUint64(edge[8:], ^b)
}

// prefix is the first 16 bytes of a sort key, as numbers; behind a shorter key come zeros.
func prefix(sortKey []byte) (uint64, uint64) {
	if len(sortKey) < edgeBytes {
		var padded [edgeBytes]byte
		copy(padded[:], sortKey)
		return binary.BigEndian.Uint64(padded[:]), binary.BigEndian.Uint64(padded[8:])
	}
	return binary.BigEndian.Uint64(sortKey), binary.BigEndian.Uint64(sortKey[8:])
}

// accepts tells whether a row with that sort key would be held: there are less than n rows, or the last is worse.
func (h *held) accepts(set *rowstate.OrderedSet, edge, sortKey []byte, n int64) bool {
	if beyond(edge, sortKey) {
		return false
	}
	length := set.Len()
	return int64(length) < n || length == 0 || h.compare(sortKey, h.order.At(set, length-1)) < 0
}

// sharpen sets the edge of a partition whose rows have changed.
func (h *held) sharpen(set *rowstate.OrderedSet, edge []byte, n int64) {
	if length := set.Len(); length > 0 && int64(length) >= n {
		setEdge(edge, h.sortKey(h.order.At(set, length-1)))
	} else {
		clear(edge)
	}
}

func (h *held) close() {
	if h.rows != nil {
		h.rows.Close()
		h.nodes.Close()
	}
}
