package rowstate

import (
	"math/bits"
	"unsafe"

	"drey/rowstate/invariants"
)

// Ref addresses a block of an arena, or an entry of a table, in units of 8 bytes: 32 GiB are in reach. 0 is no block.
type Ref uint32

// firstRef is the first address handed out: 0 stays free for "none", and small numbers for what probes answer.
const firstRef = 8

// slack is what stays unused at the end of an arena: kernels read whole vectors from the start of a key.
const slack = 128

// Arena hands out blocks of bytes outside the Go heap. Blocks have size classes: multiples of 8 bytes up to 128, then eight
// classes per doubling. A freed block goes to the free list of its class, last in first out, which is what the next
// allocation of the class takes. The first 8 bytes of a free block are the ref of the next one and, above it, the class.
type Arena struct {
	base   unsafe.Pointer // the region's, repeated here for one load less
	next   int64          // offset of the first byte never handed out
	free   [classCount]Ref
	end    int64 // offset up to which blocks may be handed out
	idle   int64 // bytes of blocks in free lists
	reg    *region
	view   *View       // an open view, which must be told before anything it may read changes
	blocks map[Ref]int // invariants builds: the live blocks
}

// NewArena returns an empty arena whose memory the budget counts for that purpose.
func NewArena(b *Budget, purpose string) *Arena {
	a := &Arena{reg: newRegion(b, purpose, maxRegion), next: firstRef * refUnit}
	a.reg.raw, a.reg.rows = true, true
	a.base = a.reg.base
	if invariants.Enabled {
		a.blocks = map[Ref]int{}
	}
	return a
}

const (
	linearMax  = 128
	classCount = linearMax/refUnit + 1 + 8*28
)

// classOf gives the class of blocks for n bytes and the size of its blocks.
func classOf(n int) (class int, size int64) {
	if n <= linearMax {
		class = max(1, (n+refUnit-1)/refUnit)
		return class, int64(class) * refUnit
	}
	// With n-1 = 1xyz… in binary, the class counts the 1/8 steps xyz of its power of two.
	power := bits.Len(uint(n-1)) - 1
	step := (n - 1) >> (power - 3) & 7
	class = linearMax/refUnit + 1 + (power-7)*8 + step
	return class, int64(8+step+1) << (power - 3)
}

// classSize is the size of the blocks of a class.
func classSize(class int) int64 {
	if class <= linearMax/refUnit {
		return int64(class) * refUnit
	}
	class -= linearMax/refUnit + 1
	return int64(8+class%8+1) << (class/8 + 7 - 3)
}

// BlockSize is the number of bytes that an allocation of n bytes takes.
func BlockSize(n int) int64 {
	_, size := classOf(n)
	return size
}

// Alloc returns a block of n bytes of any content. It panics with a *BudgetError if the budget does not allow to grow;
// after a successful Reserve it cannot.
func (a *Arena) Alloc(n int) Ref {
	class, size := classOf(n)
	r := a.alloc(class, size)
	if invariants.Enabled {
		a.blocks[r] = n
	}
	return r
}

// alloc returns a block of a class, whose blocks have that size.
func (a *Arena) alloc(class int, size int64) Ref {
	r := a.free[class]
	if r == 0 {
		at := a.next
		if at+size > a.end {
			a.grow(at + size)
		}
		a.next = at + size
		return Ref(at / refUnit)
	}
	p := (*uint64)(unsafe.Add(a.base, int64(r)*refUnit))
	a.free[class] = Ref(*p)
	a.idle -= size
	if invariants.Enabled {
		invariants.CheckMangled(unsafe.Slice((*byte)(unsafe.Pointer(p)), size)[8:])
	}
	return r
}

// reserve makes the first need bytes of the arena usable.
func (a *Arena) reserve(need int64) error {
	err := a.reg.grow(need + slack)
	a.end = a.reg.usable - slack
	return err
}

func (a *Arena) grow(need int64) {
	if err := a.reserve(need); err != nil {
		panic(err)
	}
}

// Free gives a block back; n is what it was allocated with. The block must not be used any more.
func (a *Arena) Free(r Ref, n int) {
	class, size := classOf(n)
	if invariants.Enabled {
		a.check(r, n)
		delete(a.blocks, r)
		if a.view != nil {
			a.view.touch(int64(r)*refUnit, size)
		}
		invariants.Mangle(a.reg.bytes(int64(r)*refUnit, int64(r)*refUnit+size))
	}
	a.idle += size
	if a.view != nil {
		a.view.touch(int64(r)*refUnit, refUnit)
	}
	*(*uint64)(unsafe.Add(a.base, int64(r)*refUnit)) = uint64(class)<<32 | uint64(a.free[class])
	a.free[class] = r
}

// Refit returns a block of n bytes instead of one that was allocated with old bytes: the same one if it is as large, with its
// content; otherwise another, of any content.
func (a *Arena) Refit(r Ref, old, n int) Ref {
	if BlockSize(old) != BlockSize(n) {
		a.Free(r, old)
		return a.Alloc(n)
	}
	if invariants.Enabled {
		a.check(r, old)
		a.blocks[r] = n
	}
	return r
}

// Bytes is the block's n bytes; they stay in place until it is freed.
func (a *Arena) Bytes(r Ref, n int) []byte {
	if invariants.Enabled {
		a.check(r, n)
	}
	if a.view != nil {
		a.view.touch(int64(r)*refUnit, int64(n))
	}
	return unsafe.Slice((*byte)(unsafe.Add(a.base, int64(r)*refUnit)), n)
}

func (a *Arena) check(r Ref, n int) {
	if got, ok := a.blocks[r]; !ok || n > got {
		invariants.Failf("%s: block %d of %d bytes is used, but %d bytes are live there (%t)", a.reg.purpose, r, n, got, ok)
	}
}

// Reserve makes room, so that allocations of n bytes in all cannot fail. It holds for blocks whose sizes are multiples of 8,
// like rows of Flink's binary format; other sizes count as rounded up (BlockSize tells). On an error nothing has changed.
func (a *Arena) Reserve(n int64) error {
	return a.reserve(a.next + n + n/8)
}

// ArenaStats tells what an arena's memory is used for.
type ArenaStats struct {
	Held   int64 // bytes of live blocks, with what rounding to size classes added
	Idle   int64 // bytes of freed blocks, waiting to be used again
	Unused int64 // bytes mapped, but never handed out
}

// Stats tells what the arena's memory is used for; the sum of Held, Idle and Unused is what the budget counts, but for the
// first 64 bytes.
func (a *Arena) Stats() ArenaStats {
	return ArenaStats{Held: a.next - firstRef*refUnit - a.idle, Idle: a.idle, Unused: max(0, a.reg.taken-a.next)}
}

// block is the memory of a block that may be changed.
func (a *Arena) block(r Ref, n int64) unsafe.Pointer {
	if a.view != nil {
		a.view.touch(int64(r)*refUnit, n)
	}
	return unsafe.Add(a.base, uintptr(r)*refUnit)
}

// Close gives all memory back, or lets an open view do so; no block may be used any more. It is idempotent.
func (a *Arena) Close() {
	if a.view == nil || !a.view.keep(a.reg) {
		a.reg.close()
	}
	a.base, a.next, a.end, a.free, a.idle, a.blocks, a.view = nil, firstRef*refUnit, 0, [classCount]Ref{}, 0, nil, nil
}
