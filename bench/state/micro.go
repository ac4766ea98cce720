package main

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"drey/rowstate"
)

const million = 1_000_000

// micro measures what has no counterpart at the rivals and prints lines "micro <name> <value>", which bars refer to.
func micro() {
	runtime.LockOSThread()
	hashing()
	encoding()
	latency()
	growth()
}

func note(name string, value float64, unit string) {
	fmt.Printf("micro %s %.3f %s\n", name, value, unit)
}

// fastest is the shortest of many runs, in ns; short runs find a quiet moment on a busy machine.
func fastest(runs int, f func()) float64 {
	best := math.MaxFloat64
	for range runs {
		start := time.Now()
		f()
		best = min(best, float64(time.Since(start).Nanoseconds()))
	}
	return best
}

func hashing() {
	budget := rowstate.NewBudget(0)
	hashes := make([]uint64, batch)
	for _, width := range []int{8, 16, 18, 24, 32, 40} {
		table := rowstate.NewTable(budget, rowstate.TableOptions{KeyWidth: width, Purpose: "bench"})
		i := uint64(0)
		rows := rowstate.Rows{Data: fillPlain(batch, width, func() uint64 { i++; return i }), Width: width}
		note(fmt.Sprintf("hash%d", width), fastest(3000, func() { table.Hash(&rows, hashes) })/batch, "ns/row")
		table.Close()
	}
}

// fillPlain is fill for any width.
func fillPlain(n, width int, number func() uint64) []byte {
	keys := make([]byte, n*width, n*width+64)
	for i := range keys {
		keys[i] = byte(mix(number()) >> 7)
	}
	return keys
}

// workingSets are the sizes in MiB within which the physical limit is measured, by the number of entries of a table that takes
// about as much.
var workingSets = map[int]float64{1000: 0.0625, 100_000: 6, million: 56, 10 * million: 512}

func overlappedName(entries int) string { return fmt.Sprintf("random-read-overlapped-%d", entries) }

// latency measures the physical limit: random reads of one word, each depending on the one before, and independent of each
// other, within as much memory as a table of each size has.
func latency() {
	const words = 1 << 26
	b, err := unix.Mmap(-1, 0, words*8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	defer unix.Munmap(b)
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	all := unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), words)
	for i := range all {
		all[i] = mix(uint64(i)) % words
	}
	at := uint64(1)
	const reads = 200_000
	note("random-read-dependent", fastest(5, func() {
		for i := range uint64(reads) {
			at = (all[at] + i*0x9E3779B97F4A7C15>>8) % words // the counter breaks short cycles
		}
	})/reads, "ns")
	for _, entries := range []int{1000, 100_000, million, 10 * million} {
		note(overlappedName(entries), overlapped(all[:int(workingSets[entries]*(1<<20))/8]), fmt.Sprintf("ns, within %g MiB", workingSets[entries]))
	}
	runtime.KeepAlive(at)
}

// overlapped is the time of a random read within words. Where to read comes first: between the reads there must be as few other
// instructions as possible, so that as many of them as possible are under way.
func overlapped(words []uint64) float64 {
	start, sum := uint64(0), uint64(0)
	var where [batch]uint64
	best := math.MaxFloat64
	for range 300 {
		for i := range where {
			start++
			where[i] = mix(start) % uint64(len(words))
		}
		best = min(best, fastest(1, func() {
			for _, w := range &where {
				sum += words[w]
			}
		}))
	}
	runtime.KeepAlive(sum)
	return best / batch
}

func threadCPU() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

// growth inserts 10 million rows in calls of 256 and shows how long the calls took; then it looks at what the collector
// costs beside a table of that size.
func growth() {
	const calls, rows = 10 * million / 256, 256
	d := newDrey(18).(*drey)
	var histogram [32]int
	longest, i := int64(0), uint64(0)
	keys := make([]byte, rows*18, rows*18+64)
	for range calls {
		first := i
		for at := 0; at < len(keys); at += 18 {
			put(keys[at:at+18], i)
			i++
		}
		start := threadCPU()
		d.insert(keys, 18, first)
		spent := threadCPU() - start
		longest = max(longest, spent)
		histogram[bits.Len64(uint64(spent/1000))]++
	}
	note("pause-ms", float64(longest)/1e6, fmt.Sprintf("longest of %d insertions of %d rows, thread CPU time", calls, rows))
	for power, n := range histogram {
		if n > 0 {
			fmt.Printf("      < %6d µs: %6d insertions\n", 1<<power, n)
		}
	}
	draws := draw(3)
	queries := fill(64*batch, 18, func() uint64 { return draws.next(i) })
	before, cpuBefore := gcCPU(), cpu()
	var sum uint64
	for range 4 {
		for end := cpu() + 1e9; cpu() < end; {
			for at := 0; at < len(queries); at += batch * 18 {
				sum += d.find(queries[at:at+batch*18], 18)
			}
		}
		runtime.GC()
	}
	note("gc-percent", 100*(gcCPU()-before)/float64(cpu()-cpuBefore), "of CPU with 10 M entries, one collection per CPU second")
	runtime.KeepAlive(sum)
	d.close()
}

// gcCPU is the CPU time of the collector so far, in ns; idle time it uses up is not counted.
func gcCPU() float64 {
	sample := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"}}
	metrics.Read(sample)
	return (sample[0].Value.Float64() - sample[1].Value.Float64()) * 1e9
}

// encoding writes sort keys of columns of a batch.
func encoding() {
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(mix(uint64(i)))
		}
		return b
	}
	numbers := rowstate.Column{Kind: rowstate.KindInt64, Values: random(8 * batch)}
	text := rowstate.Column{Kind: rowstate.KindBytes, Values: random(20*batch + 8)}
	for i := range batch + 1 {
		text.Offsets = append(text.Offsets, int32(20*i))
	}
	allocations := 0.0
	for _, c := range []struct {
		name    string
		columns []rowstate.Column
	}{
		{"encode-int64-int64", []rowstate.Column{numbers, numbers}},
		{"encode-int64-utf8-timestamp", []rowstate.Column{numbers, text, numbers}},
	} {
		var fields []rowstate.KeyField
		for _, column := range c.columns {
			fields = append(fields, rowstate.KeyField{Kind: column.Kind})
		}
		codec, err := rowstate.NewKeyCodec(fields)
		if err != nil {
			panic(err)
		}
		var keys rowstate.Rows
		encode := func() {
			if err := codec.Encode(c.columns, batch, &keys); err != nil {
				panic(err)
			}
		}
		note(c.name, fastest(3000, encode)/batch, "ns/row")
		allocations = max(allocations, testing.AllocsPerRun(10, encode)/batch)
		decoded := make([]rowstate.Column, len(fields))
		note("de"+c.name[2:], fastest(300, func() {
			if err := codec.Decode(&keys, decoded); err != nil {
				panic(err)
			}
		})/batch, "ns/row")
	}
	note("encode-allocs", allocations, "per row")
}
