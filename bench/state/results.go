package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

type cell struct {
	subject, op    string
	width, entries int
}

type results struct {
	cells map[cell]float64
	micro map[string]float64
	notes []string
}

// add reads the lines a subject printed.
func (r *results) add(name string, lines []string) {
	for _, line := range lines {
		c := cell{subject: name}
		var value float64
		if n, _ := fmt.Sscanf(line, "cell %s %d %d %g", &c.op, &c.width, &c.entries, &value); n == 4 {
			r.cells[c] = value
			continue
		}
		var key string
		if n, _ := fmt.Sscanf(line, "micro %s %g", &key, &value); n == 2 {
			r.micro[key] = value
		}
		if name == "micro" {
			r.notes = append(r.notes, line)
		}
	}
}

// print shows one width and size: a line per operation, a column per subject, in ns per operation or bytes per entry.
func (r *results) print(width, entries int) {
	fmt.Printf("\n%d-byte keys, %d entries\n%-8s", width, entries, "")
	for _, name := range order {
		fmt.Printf("%12s", name)
	}
	fmt.Println()
	for _, op := range []string{"hit", "miss", "update", "insert", "bytes"} {
		fmt.Printf("%-8s", op)
		for _, name := range order {
			if v, ok := r.cells[cell{name, op, width, entries}]; ok {
				fmt.Printf("%12.1f", v)
			} else {
				fmt.Printf("%12s", "-")
			}
		}
		fmt.Println()
	}
}

// bar is one thing to reach: value at most (or, if least, at least) limit.
type bar struct {
	name         string
	value, limit float64
	least        bool
}

func (b bar) met() bool {
	if b.least {
		return b.value >= b.limit
	}
	return b.value < b.limit || b.value == b.limit && b.limit == 0
}

func (r *results) bars() {
	var all []bar
	var keys []cell
	for c := range r.cells {
		if c.subject == "drey" {
			keys = append(keys, c)
		}
	}
	slices.SortFunc(keys, func(a, b cell) int {
		if a.entries != b.entries {
			return a.entries - b.entries
		}
		if a.width != b.width {
			return a.width - b.width
		}
		return strings.Compare(a.op, b.op)
	})
	for _, c := range keys {
		all = append(all, r.cellBars(c)...)
	}
	for _, b := range []bar{
		{name: "hash of 4,096 18-byte rows, ns/row", value: r.micro["hash18"], limit: 2},
		{name: "encode (int64, int64), ns/row", value: r.micro["encode-int64-int64"], limit: 6},
		{name: "encode (int64, utf8 20 B, timestamp), ns/row", value: r.micro["encode-int64-utf8-timestamp"], limit: 30},
		{name: "allocations per row of encoding", value: r.micro["encode-allocs"], limit: 0},
		{name: "longest insertion of 256 rows up to 10 M entries, ms", value: r.micro["pause-ms"], limit: 1},
		{name: "collector's share of CPU with 10 M entries, %", value: r.micro["gc-percent"], limit: 0.1},
	} {
		if len(r.micro) > 0 {
			all = append(all, b)
		}
	}
	fmt.Println()
	for _, line := range r.notes {
		fmt.Println(line)
	}
	r.limits(keys)
	met := 0
	fmt.Println()
	for _, b := range all {
		if b.met() {
			met++
			continue
		}
		word := "at most"
		if b.least {
			word = "at least"
		}
		fmt.Printf("missed: %s: %.2f, bar %s %.2f\n", b.name, b.value, word, b.limit)
	}
	fmt.Printf("bars met: %d of %d\n", met, len(all))
}

// limits says how far our cells are from what the memory allows: random reads, within as much memory as the table has, that
// overlap as well as any. What is in the way by design: an entry of a key of 18 bytes is in one cache line, one of 40 bytes in
// one or two by turns; a row that is there takes the index's line and the entry's, an insertion reads another entry's key, as
// splits hash the keys of half-full segments again. Tables in the cache are limited by instructions, not by this.
func (r *results) limits(keys []cell) {
	if r.micro["random-read-dependent"] == 0 {
		return
	}
	fmt.Printf("\nrandom cache lines, overlapped, against what was measured (%.0f ns each if they wait for one another)\n", r.micro["random-read-dependent"])
	for _, c := range keys {
		line := r.micro[overlappedName(c.entries)]
		if line == 0 || c.op == "bytes" {
			continue
		}
		entry := 1.0
		if c.width > 24 {
			entry = 1.5
		}
		lines := map[string]float64{"hit": 1 + entry, "update": 1 + entry, "miss": 1, "insert": 1 + 2*entry}[c.op]
		fmt.Printf("%-6s %d-byte keys, %8d entries: %3.1f lines of %4.1f ns, %5.1f ns; measured %5.1f ns, %.1f times that\n",
			c.op, c.width, c.entries, lines, line, lines*line, r.cells[c], r.cells[c]/(lines*line))
	}
}

// cellBars are the bars that one of our cells is held to, as far as there is something to compare with.
func (r *results) cellBars(c cell) (all []bar) {
	name := fmt.Sprintf("%s, %d-byte keys, %d entries", c.op, c.width, c.entries)
	ours, other := r.cells[c], c
	other.subject = "builtin"
	builtin, ok := r.cells[other]
	if c.op == "bytes" {
		if ok {
			all = append(all, bar{name: "bytes per entry against 60 % of the builtin map's, " + name, value: ours, limit: 0.6 * builtin})
		}
		return all
	}
	best, who := math.Inf(1), ""
	for _, rival := range order[1:] {
		other.subject = rival
		if v, there := r.cells[other]; there && v < best {
			best, who = v, rival
		}
	}
	if who != "" {
		all = append(all, bar{name: fmt.Sprintf("ns against %s, the best other, %s", who, name), value: ours, limit: best})
	}
	if ok && c.entries >= 1_000_000 && c.op != "miss" {
		factor := 6.0
		if c.op == "insert" {
			factor = 8
		}
		all = append(all, bar{name: "times faster than the builtin map, " + name, value: builtin / ours, limit: factor, least: true})
	}
	return all
}
