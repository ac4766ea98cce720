package rowstate

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"drey/rowstate/invariants"
)

const (
	pageSize  = 4 << 10
	smallStep = 64 << 10 // growth of a region from here to one huge page
	hugeSize  = 2 << 20  // a huge page, and the growth of a region from there on
	refUnit   = 8        // bytes that a Ref counts
	maxRegion = 1 << 32 * refUnit
)

// mostReserved is what one region reserves at most; tests lower it.
var mostReserved = int64(maxRegion)

// region is memory that grows without moving: a stretch of addresses is reserved at once, for the most it may ever hold,
// and made usable slab by slab. Reserved addresses cost no memory and count for no limit but that of addresses (ulimit -v);
// a slab costs memory when it is first touched, and counts for the budget from the moment it is made usable.
type region struct {
	base     unsafe.Pointer // aligned to a huge page
	usable   int64          // bytes made usable so far
	taken    int64          // bytes that the budget counts: those, and what is mapped ahead
	ready    int64          // bytes mapped readable and writable: more than taken only in a recycled region
	reserved int64
	budget   *Budget
	purpose  string
	mapping  unsafe.Pointer // what munmap is told
	mapped   uintptr
	dirty    int64           // bytes that may not be zero though nobody uses them: what is left of a recycled region's last life
	pending  *sync.WaitGroup // of populate
	slow     bool            // grows slower than others of its size
	rows     bool            // read a row at a time, not a line of memory: can do with small pages
	raw      bool            // its owner writes before it reads: what a recycled region still has is not cleared
}

// newRegion reserves most bytes, or as much of it as the budget could ever give or the system allows.
func newRegion(b *Budget, purpose string, most int64) *region {
	most = min(most, mostReserved)
	if b.limit < most {
		most = max(b.limit, smallStep)
	}
	most = (most + hugeSize - 1) &^ (hugeSize - 1)
	if r := idle.take(most); r != nil {
		r.budget, r.purpose, r.slow, r.rows, r.raw = b, purpose, false, false, false
		return r
	}
	for ; ; most = max(most/2, hugeSize) {
		size := uintptr(most + hugeSize)
		p, err := unix.MmapPtr(-1, 0, nil, size, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
		if err == nil {
			skip := -uintptr(p) & (hugeSize - 1)
			return &region{base: unsafe.Add(p, skip), reserved: most, budget: b, purpose: purpose, mapping: p, mapped: size}
		}
		if most == hugeSize {
			panic(fmt.Errorf("rowstate: cannot reserve addresses for %s: %w", purpose, err))
		}
	}
}

// bytes is the part of the region between two offsets.
func (r *region) bytes(from, to int64) []byte {
	// The memory is not the Go heap's, and lives until close.
	return unsafe.Slice((*byte)(unsafe.Add(r.base, from)), to-from)
}

// grow makes at least the first need bytes usable; unless the region is raw they read as zero until written. A large region
// is mapped some way ahead of that, if the budget allows.
func (r *region) grow(need int64) (err error) {
	if need <= r.usable {
		return nil
	}
	if need > r.reserved {
		return &BudgetError{Purpose: r.purpose, Requested: need - r.usable, Used: r.budget.Used(), Limit: min(r.budget.limit, r.reserved)}
	}
	for _, to := range []int64{stepFor(need + r.aheadOf(need)), stepFor(need), (need + pageSize - 1) &^ (pageSize - 1)} {
		// A step, or what is ahead, may be too much where what is needed is not.
		to = min(to, r.reserved)
		if err = r.extend(to); err == nil {
			break
		}
	}
	if err == nil {
		r.usable = min((need+smallStep-1)&^(smallStep-1), r.taken)
	}
	return err
}

// extend takes memory up to an offset of the budget and maps it.
func (r *region) extend(to int64) error {
	if to <= r.taken {
		return nil
	}
	if err := r.budget.take(r.purpose, to-r.taken); err != nil {
		return err
	}
	if clean := min(to, r.dirty); clean > r.taken && !r.raw {
		clear(r.bytes(r.taken, clean))
	}
	if to > r.ready {
		if err := unix.Mprotect(r.bytes(r.ready, to), unix.PROT_READ|unix.PROT_WRITE); err != nil {
			r.budget.give(r.purpose, to-r.taken)
			return fmt.Errorf("rowstate: cannot map %d bytes for %s: %w", to-r.taken, r.purpose, err)
		}
		if to > hugeSize {
			r.populate(r.ready, to)
		}
		r.ready = to
	}
	if invariants.Enabled && r.raw {
		invariants.Mangle(r.bytes(r.taken, to))
	}
	r.taken = to
	return nil
}

// stepFor rounds a size up: to pages, so that small tables stay small, then to larger steps, at last to whole huge pages.
func stepFor(need int64) int64 {
	step := int64(hugeSize)
	switch {
	case need <= smallStep:
		step = pageSize
	case need <= hugeSize:
		step = smallStep
	}
	return (need + step - 1) &^ (step - 1)
}

// aheadOf is how far ahead a region of that size is mapped at least, from 16 MiB on: up to two huge pages. The entries of a
// table that grows as fast as it can fill one in some milliseconds, and zeroing one takes as long; its index grows slower.
func (r *region) aheadOf(size int64) int64 {
	switch {
	case size < 8*hugeSize:
		return 0
	case r.slow:
		return min(size/128, hugeSize)
	}
	return min(size/32, 2*hugeSize)
}

// populate has the kernel hand out the pages ahead of their use, beside the caller: zeroing a huge page takes a good part of
// a millisecond, more on a virtual machine whose host has yet to find the memory. Until then pages are small, so that who
// gets there first doesn't wait for 2 MiB. It is advice; nothing depends on it.
func (r *region) populate(from, to int64) {
	if r.pending == nil {
		r.pending = new(sync.WaitGroup)
	}
	pages := r.bytes(from, to)
	r.pending.Go(func() {
		huge := !r.rows || hugePages.wanted(to-from)
		if huge {
			_ = unix.Madvise(pages, unix.MADV_HUGEPAGE)
		}
		runtime.LockOSThread()
		start := threadTime()
		err := unix.Madvise(pages, unix.MADV_POPULATE_WRITE)
		spent := threadTime() - start
		runtime.UnlockOSThread()
		if huge && err == nil {
			hugePages.cost(to-from, spent)
		}
	})
}

// threadTime is the CPU time of the calling thread in nanoseconds.
func threadTime() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return t.Nano()
}

// hugePages tells all regions of rows whether huge pages are worth what they cost. A virtual machine may give memory that is
// free back to its host, and does so huge page by huge page: getting one then costs the host 512 faults, 4 ms where
// zeroing takes 0.2. Small pages come from what broken ones have left, which the machine still has.
var hugePages hugePageSupply

const (
	dearHugePage  = 1e6       // nanoseconds; small pages instead of one take some 0.7 ms
	dearHugePages = 256 << 20 // bytes mapped in small pages before huge ones are tried again
)

type hugePageSupply struct {
	without atomic.Int64 // bytes that are still to be mapped without
}

// wanted tells whether the next bytes are to be in huge pages.
func (h *hugePageSupply) wanted(bytes int64) bool {
	if h.without.Load() <= 0 {
		return true
	}
	h.without.Add(-bytes)
	return false
}

// cost takes note of the CPU time that huge pages took.
func (h *hugePageSupply) cost(bytes, nanos int64) {
	if nanos*hugeSize > dearHugePage*bytes {
		h.without.Store(dearHugePages)
	}
}

// settle waits until no populate is under way: its pages may be about to become somebody else's.
func (r *region) settle() {
	if r.pending != nil {
		r.pending.Wait()
	}
}

// close gives everything back. It is idempotent.
func (r *region) close() {
	if r.mapping == nil {
		return
	}
	r.settle()
	r.budget.give(r.purpose, r.taken)
	old := *r
	r.mapping, r.base, r.usable, r.taken, r.ready, r.dirty, r.reserved = nil, nil, 0, 0, 0, 0, 0
	if idle.put(&old) {
		return
	}
	if err := unix.MunmapPtr(old.mapping, old.mapped); err != nil {
		panic(fmt.Errorf("rowstate: cannot unmap %s: %w", old.purpose, err))
	}
}

// idle keeps closed regions for the next table: mapping, faulting in and unmapping its pages costs a small table more than
// all else about it. No budget counts them.
var idle = idleRegions{most: 16 << 20}

type idleRegions struct {
	mu      sync.Mutex
	regions []*region
	bytes   int64
	most    int64 // bytes kept at most; one region may have half of them
}

// KeepIdle sets how much memory of closed arenas and tables is kept for the next ones at most, for the whole process; at first
// it is 16 MiB. What is kept beyond that stays until it is used again.
func KeepIdle(bytes int64) {
	idle.mu.Lock()
	defer idle.mu.Unlock()
	idle.most = bytes
}

func (i *idleRegions) take(reserved int64) *region {
	i.mu.Lock()
	defer i.mu.Unlock()
	for at := len(i.regions) - 1; at >= 0; at-- {
		if r := i.regions[at]; r.reserved == reserved {
			i.regions = append(i.regions[:at], i.regions[at+1:]...)
			i.bytes -= r.ready
			return r
		}
	}
	return nil
}

// put takes over a closed region, if there is room.
func (i *idleRegions) put(r *region) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if r.ready > i.most/2 || i.bytes+r.ready > i.most {
		return false
	}
	r.dirty = max(r.dirty, r.taken)
	r.usable, r.taken, r.budget = 0, 0, nil
	i.regions = append(i.regions, r)
	i.bytes += r.ready
	return true
}
