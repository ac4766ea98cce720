package rowstate

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// View is an arena as it was when it was frozen, to be read by one other goroutine while the owner goes on. The owner pays
// when it is about to change a block of 64 KiB for the first time since: that block is copied before. Slices that the arena
// or its table gave out before the freeze must not be written any more.
//
// The copies count for the budget, but are never refused: a batch could not be stopped half-way. They take at most as much
// as the arena had in use, and only as long as the view is open.
type View struct {
	arena  *Arena
	base   unsafe.Pointer
	end    int64           // what lies behind was not there
	states []atomic.Uint32 // per block
	copies [][]byte        // of blocks in state copied
	spent  int64
	mu     sync.Mutex // against Close of the arena
	late   *region    // to be closed with the view, as its arena is closed already
	closed bool
}

const viewBlock = 64 << 10

// What may happen to a block of a frozen arena.
const (
	untouched uint32 = iota
	locked           // being copied, by the owner for the view or by the view's reader for itself
	copied
)

// Freeze returns a view of the present state. There can be one at a time.
func (a *Arena) Freeze() *View {
	if a.view != nil {
		panic("rowstate: the arena is frozen already")
	}
	blocks := (a.next + viewBlock - 1) / viewBlock
	a.view = &View{arena: a, base: a.base, end: a.next, states: make([]atomic.Uint32, blocks), copies: make([][]byte, blocks)}
	return a.view
}

// touch must come before any change of n bytes at an offset of an arena that has a view.
func (v *View) touch(at, n int64) {
	end := min(at+n, v.end)
	for b := at / viewBlock; b*viewBlock < end; b++ {
		state := &v.states[b]
		for state.Load() != copied {
			if !state.CompareAndSwap(untouched, locked) {
				runtime.Gosched() // the reader copies a few bytes out of it
				continue
			}
			from := b * viewBlock
			live := v.live(from, min(from+viewBlock, v.end))
			v.arena.reg.budget.force(v.arena.reg.purpose, int64(len(live)))
			v.spent += int64(len(live))
			v.copies[b] = append([]byte(nil), live...)
			state.Store(copied)
		}
	}
}

func (v *View) live(from, to int64) []byte {
	// The region stays mapped as long as the view is open.
	return unsafe.Slice((*byte)(unsafe.Add(v.base, from)), to-from)
}

// Read appends the n bytes that were at r to dst.
func (v *View) Read(dst []byte, r Ref, n int) []byte { return v.read(dst, int64(r)*refUnit, int64(n)) }

func (v *View) read(dst []byte, at, n int64) []byte {
	for end := min(at+n, v.end); at < end; {
		b := at / viewBlock
		to := min((b+1)*viewBlock, end)
		state := &v.states[b]
		switch {
		case state.Load() == copied:
			dst = append(dst, v.copies[b][at-b*viewBlock:to-b*viewBlock]...)
			at = to
		case state.CompareAndSwap(untouched, locked):
			dst = append(dst, v.live(at, to)...)
			state.Store(untouched)
			at = to
		default:
			runtime.Gosched()
		}
	}
	return dst
}

// Close ends the view; the owner's goroutine calls it, or, once the owner is closed, anyone. It is idempotent.
func (v *View) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	v.closed = true
	if v.late != nil {
		v.late.budget.give(v.late.purpose, v.spent)
		v.late.close()
		return
	}
	v.arena.reg.budget.give(v.arena.reg.purpose, v.spent)
	v.arena.view = nil
}

// keep puts off the end of a region until the view is closed. It returns false if that has happened.
func (v *View) keep(r *region) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return false
	}
	v.late = r
	return true
}

// TableView is a table as it was when it was frozen; see View.
type TableView struct {
	view   *View
	table  *Table
	width  int
	value  int // length of values
	padded int64
	stride int64
	marks  []uint64 // which entries were live, if the width is fixed
	count  int
}

// Freeze returns a view of the table. Values must be asked for again afterwards, with Value, before they are written.
func (t *Table) Freeze() *TableView {
	v := &TableView{view: t.arena.Freeze(), table: t, width: int(t.width), value: t.valLen, padded: int64(t.valSize), stride: t.stride, count: t.len}
	if t.width > 0 {
		words := ((v.view.end-firstRef*refUnit)/t.stride + 63) / 64
		v.marks = append([]uint64(nil), unsafe.Slice((*uint64)(t.liveBits.base), words)...)
		t.values = nil
	}
	return v
}

// Len is the number of entries.
func (v *TableView) Len() int { return v.count }

// All visits the entries in the order of Table.All. Key and value are valid until the visit ends.
func (v *TableView) All(yield func(r Ref, key, value []byte) bool) {
	w := window{view: v.view}
	for at := int64(firstRef * refUnit); at < v.view.end; {
		size, live := v.stride, true
		key, n := int64(0), int64(v.width)
		if v.width > 0 {
			slot := (at - firstRef*refUnit) / v.stride
			live = v.marks[slot/64]>>(slot%64)&1 != 0
		} else {
			head := w.at(at, 8)
			word := load(unsafe.Pointer(&head[0]), 0)
			key, n = header, int64(word&^hashMask)
			if live = word>>56 != 0; !live {
				at += classSize(int(word >> 32))
				continue
			}
			if n == longKey {
				long := w.at(at+header, 8)
				key, n = header+8, int64(load(unsafe.Pointer(&long[0]), 0))
			}
			size = BlockSize(int(key + int64(pad8(uintptr(n))) + v.padded))
		}
		if live {
			value := key + int64(pad8(uintptr(n)))
			entry := w.at(at, value+v.padded)
			if !yield(Ref(at/refUnit), entry[key:key+n], entry[value:value+int64(v.value)]) {
				return
			}
		}
		at += size
	}
}

// Close ends the view; see View.Close.
func (v *TableView) Close() {
	v.view.Close()
	if !v.table.closed && v.table.arena.view == nil {
		v.table.setValues()
	}
}

// window reads a view forwards, a large piece at a time.
type window struct {
	view *View
	from int64
	data []byte
}

func (w *window) at(from, n int64) []byte {
	if from < w.from || from+n > w.from+int64(len(w.data)) {
		w.from = from
		w.data = w.view.read(w.data[:0], from, max(n, viewBlock))
	}
	return w.data[from-w.from : from-w.from+n]
}
