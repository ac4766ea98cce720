package main

import (
	"runtime"
	"unsafe"

	cockroach "github.com/cockroachdb/swiss"
	dolthub "github.com/dolthub/swiss"

	"drey/rowstate"
)

// subject is one map from keys to 64-bit values under measurement. Keys come as bytes, batch by batch.
type subject interface {
	insert(keys []byte, width int, first uint64)
	find(keys []byte, width int) uint64 // sum of the values found
	update(keys []byte, width int)      // adds 1 to the value of every key; all are there
	bytes() int64                       // memory held, without what the process had before
	close()
}

var subjects = map[string]func(width int) subject{
	"drey":      newDrey,
	"builtin":   func(int) subject { return &builtin{base: heap(), m: map[string]uint64{}} },
	"dolthub":   func(int) subject { return &dolt{base: heap(), m: dolthub.NewMap[string, uint64](0)} },
	"cockroach": func(int) subject { return &roach{base: heap(), m: cockroach.New[string, uint64](0)} },
}

// heap is what the Go heap holds after a collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// borrow is a key as a string without a copy, which lookups may use; the query buffers live until the end.
func borrow(key []byte) string { return unsafe.String(&key[0], len(key)) }

type builtin struct {
	base int64
	m    map[string]uint64
}

func (b *builtin) insert(keys []byte, width int, first uint64) {
	for ; len(keys) > 0; keys = keys[width:] {
		b.m[string(keys[:width])] = first
		first++
	}
}

func (b *builtin) find(keys []byte, width int) (sum uint64) {
	for ; len(keys) > 0; keys = keys[width:] {
		if v, ok := b.m[borrow(keys[:width])]; ok {
			sum += v
		}
	}
	return sum
}

func (b *builtin) update(keys []byte, width int) {
	for ; len(keys) > 0; keys = keys[width:] {
		b.m[borrow(keys[:width])]++
	}
}

func (b *builtin) bytes() int64 { return heap() - b.base }
func (b *builtin) close()       { b.m = nil }

type dolt struct {
	base int64
	m    *dolthub.Map[string, uint64]
}

func (d *dolt) insert(keys []byte, width int, first uint64) {
	for ; len(keys) > 0; keys = keys[width:] {
		d.m.Put(string(keys[:width]), first)
		first++
	}
}

func (d *dolt) find(keys []byte, width int) (sum uint64) {
	for ; len(keys) > 0; keys = keys[width:] {
		if v, ok := d.m.Get(borrow(keys[:width])); ok {
			sum += v
		}
	}
	return sum
}

func (d *dolt) update(keys []byte, width int) {
	for ; len(keys) > 0; keys = keys[width:] {
		k := borrow(keys[:width])
		v, _ := d.m.Get(k)
		d.m.Put(k, v+1)
	}
}

func (d *dolt) bytes() int64 { return heap() - d.base }
func (d *dolt) close()       { d.m = nil }

type roach struct {
	base int64
	m    *cockroach.Map[string, uint64]
}

func (r *roach) insert(keys []byte, width int, first uint64) {
	for ; len(keys) > 0; keys = keys[width:] {
		r.m.Put(string(keys[:width]), first)
		first++
	}
}

func (r *roach) find(keys []byte, width int) (sum uint64) {
	for ; len(keys) > 0; keys = keys[width:] {
		if v, ok := r.m.Get(borrow(keys[:width])); ok {
			sum += v
		}
	}
	return sum
}

func (r *roach) update(keys []byte, width int) {
	for ; len(keys) > 0; keys = keys[width:] {
		k := borrow(keys[:width])
		v, _ := r.m.Get(k)
		r.m.Put(k, v+1)
	}
}

func (r *roach) bytes() int64 { return heap() - r.base }
func (r *roach) close()       { r.m.Close() }

// drey is the arena table; its figures include the hashing of the keys.
type drey struct {
	base   int64
	budget *rowstate.Budget
	table  *rowstate.Table
	keys   rowstate.Rows
	hashes []uint64
	refs   []rowstate.Ref
	fresh  []bool
}

func newDrey(width int) subject {
	// The others' allocators keep what a build before has freed.
	rowstate.KeepIdle(256 << 20)
	d := &drey{budget: rowstate.NewBudget(0)}
	d.hashes, d.refs, d.fresh = make([]uint64, batch), make([]rowstate.Ref, batch), make([]bool, batch)
	d.base = heap()
	d.table = rowstate.NewTable(d.budget, rowstate.TableOptions{KeyWidth: width, ValueSize: 8, Purpose: "bench"})
	return d
}

// slice is the number of rows that are looked up before their values are worked on, while they are in the cache.
const slice = 512

// each hashes a batch and hands it on slice by slice; row is the number of a slice's first row.
func (d *drey) each(keys []byte, width int, work func(keys *rowstate.Rows, hashes []uint64, refs []rowstate.Ref, row int)) {
	d.keys = rowstate.Rows{Data: keys, Width: width}
	d.table.Hash(&d.keys, d.hashes)
	for from, n := 0, d.keys.Len(); from < n; from += slice {
		to := min(n, from+slice)
		part := d.keys.Slice(from, to)
		work(&part, d.hashes[from:to], d.refs[from:to], from)
	}
}

func value(v []byte) *uint64 { return (*uint64)(unsafe.Pointer(unsafe.SliceData(v))) }

func (d *drey) insert(keys []byte, width int, first uint64) {
	if err := d.table.Reserve(len(keys)/width, int64(len(keys))); err != nil {
		panic(err)
	}
	d.each(keys, width, func(part *rowstate.Rows, hashes []uint64, refs []rowstate.Ref, row int) {
		d.table.FindOrInsert(part, hashes, refs, d.fresh)
		for i, r := range refs {
			*value(d.table.Value(r)) = first + uint64(row+i)
		}
	})
}

func (d *drey) find(keys []byte, width int) (sum uint64) {
	d.each(keys, width, func(part *rowstate.Rows, hashes []uint64, refs []rowstate.Ref, _ int) {
		d.table.Find(part, hashes, refs)
		for _, r := range refs {
			if r != 0 {
				sum += *value(d.table.Value(r))
			}
		}
	})
	return sum
}

func (d *drey) update(keys []byte, width int) {
	d.each(keys, width, func(part *rowstate.Rows, hashes []uint64, refs []rowstate.Ref, _ int) {
		d.table.FindOrInsert(part, hashes, refs, d.fresh)
		for _, r := range refs {
			*value(d.table.Value(r))++
		}
	})
}

func (d *drey) bytes() int64 {
	d.keys = rowstate.Rows{} // the last batch is the harness's
	return d.budget.Used() + max(0, heap()-d.base)
}
func (d *drey) close() { d.table.Close() }
