package main

import (
	"fmt"
	"math"
	"runtime"

	"golang.org/x/sys/unix"
)

// cpu is the CPU time of the whole process, the collector's threads included: wall time on a shared machine tells little,
// and a thread's own time hides the garbage collection that a map of pointers causes.
func cpu() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

// plan is how often things are done at a size: queries per round, builds, and rounds, of which the fastest counts. One build
// is never enough: a virtual machine's host has yet to find memory that is used for the first time, which costs several times
// what the guest does with it, and whoever runs first pays.
func plan(entries int) (queries, builds, rounds int) {
	switch {
	case entries <= 1000:
		return 96 * batch, 400, 9
	case entries <= 100_000:
		return 96 * batch, 7, 9
	case entries <= 1_000_000:
		return 256 * batch, 5, 5
	}
	return 256 * batch, 2, 3
}

// runCell measures one subject at one width and size, in a process of its own, and prints its cells.
func runCell(name string, width, entries int) {
	runtime.LockOSThread()
	queries, builds, rounds := plan(entries)
	var s subject
	best := int64(math.MaxInt64)
	for range builds {
		if s != nil {
			s.close()
			s = nil
			runtime.GC()
		}
		s = subjects[name](width)
		best = min(best, build(s, width, entries))
	}
	report := func(op string, spent int64, n int) {
		fmt.Printf("cell %s %d %d %.3f\n", op, width, entries, float64(spent)/float64(n))
	}
	report("insert", best, entries)
	fmt.Printf("cell bytes %d %d %.3f\n", width, entries, float64(s.bytes())/float64(entries))

	d := draw(7)
	hits := fill(queries, width, func() uint64 { return d.next(uint64(entries)) })
	misses := fill(queries, width, func() uint64 { return 1<<40 + d.next(1<<40) })
	var sum uint64
	for _, op := range []string{"hit", "miss", "update"} {
		keys := hits
		if op == "miss" {
			keys = misses
		}
		report(op, fastestBatches(queries/batch, rounds, func(i int) {
			// The capacity keeps the padding readable behind the batch.
			part := keys[i*batch*width : (i+1)*batch*width]
			if op == "update" {
				s.update(part, width)
			} else {
				sum += s.find(part, width)
			}
		}), queries)
	}
	fmt.Println("sum", sum)
	runtime.KeepAlive(s)
}

// timed is the number of batches between two looks at the clock, which takes about a microsecond.
const timed = 2

// fastestBatches runs all batches several times, on one thread, as nothing here allocates, and adds up the fastest time of each, so that what else the machine does
// meanwhile disturbs single batches and not the sum.
func fastestBatches(batches, rounds int, run func(i int)) (sum int64) {
	best := make([]int64, batches/timed)
	for round := range rounds {
		for i := range best {
			start := threadCPU()
			for j := range timed {
				run(i*timed + j)
			}
			if spent := threadCPU() - start; round == 0 || spent < best[i] {
				best[i] = spent
			}
		}
	}
	for _, b := range best {
		sum += b
	}
	return sum
}

// build fills a subject and returns what that took. Whole builds are compared, not batches: a collection is part of the
// price of a map on the heap, in whichever batch it falls.
func build(s subject, width, entries int) (spent int64) {
	i := uint64(0)
	for int(i) < entries {
		first := i
		keys := fill(min(batch, entries-int(i)), width, func() uint64 { i++; return i - 1 })
		start := cpu()
		s.insert(keys, width, first)
		spent += cpu() - start
	}
	return spent
}
