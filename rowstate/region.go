package rowstate

import (
	"fmt"
	"math/bits"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	pageSize  = 4 << 10
	smallStep = 64 << 10 // growth of a region from here to one huge page
	hugeSize  = 2 << 20  // a huge page, and the growth of a region from there on
	refUnit   = 8        // bytes that a Ref counts
	maxRegion = 1 << 32 * refUnit
)

// region is memory that grows without moving: a stretch of addresses is reserved at once, for the most it may ever hold,
// and made usable slab by slab. Reserved addresses cost no memory and count for no limit but that of addresses (ulimit -v);
// a slab costs memory when it is first touched, and counts for the budget from the moment it is made usable.
type region struct {
	base     unsafe.Pointer // aligned to a huge page
	usable   int64          // bytes made usable so far
	reserved int64
	budget   *Budget
	purpose  string
	mapping  unsafe.Pointer // what munmap is told
	mapped   uintptr
}

// newRegion reserves most bytes, or as much of it as the budget could ever give or the system allows.
func newRegion(b *Budget, purpose string, most int64) *region {
	most = min(most, maxRegion)
	if b.limit < most {
		most = max(b.limit, smallStep)
	}
	most = (most + hugeSize - 1) &^ (hugeSize - 1)
	for ; ; most = max(most/2, hugeSize) {
		size := uintptr(most + hugeSize)
		p, err := unix.MmapPtr(-1, 0, nil, size, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
		if err == nil {
			skip := -uintptr(p) & (hugeSize - 1)
			r := &region{base: unsafe.Add(p, skip), reserved: most, budget: b, purpose: purpose, mapping: p, mapped: size}
			// Small regions stay in small pages: the hint works on whole usable huge pages only.
			_ = unix.Madvise(r.bytes(0, most), unix.MADV_HUGEPAGE)
			return r
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

// grow makes at least the first need bytes usable; they read as zero until written.
func (r *region) grow(need int64) error {
	if need <= r.usable {
		return nil
	}
	to := stepFor(need)
	if need > r.reserved {
		return &BudgetError{Purpose: r.purpose, Requested: need - r.usable, Used: r.budget.Used(), Limit: min(r.budget.limit, r.reserved)}
	}
	err := r.budget.take(r.purpose, to-r.usable)
	if err != nil {
		// A step may be too much where its part that is needed is not.
		to = (need + pageSize - 1) &^ (pageSize - 1)
		if err = r.budget.take(r.purpose, to-r.usable); err != nil {
			return err
		}
	}
	if err := unix.Mprotect(r.bytes(r.usable, to), unix.PROT_READ|unix.PROT_WRITE); err != nil {
		r.budget.give(r.purpose, to-r.usable)
		return fmt.Errorf("rowstate: cannot map %d bytes for %s: %w", to-r.usable, r.purpose, err)
	}
	r.usable = to
	return nil
}

// stepFor rounds a size up to the next step: powers of two first, so that small tables stay small, whole huge pages then.
func stepFor(need int64) int64 {
	step := int64(hugeSize)
	switch {
	case need <= smallStep:
		return max(pageSize, int64(1)<<bits.Len64(uint64(need-1)))
	case need <= hugeSize:
		step = smallStep
	}
	return (need + step - 1) &^ (step - 1)
}

// close gives everything back. It is idempotent.
func (r *region) close() {
	if r.mapping == nil {
		return
	}
	if err := unix.MunmapPtr(r.mapping, r.mapped); err != nil {
		panic(fmt.Errorf("rowstate: cannot unmap %s: %w", r.purpose, err))
	}
	r.budget.give(r.purpose, r.usable)
	r.mapping, r.base, r.usable, r.reserved = nil, nil, 0, 0
}
