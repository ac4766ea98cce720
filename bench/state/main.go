// Command state measures the state table against other maps, cell by cell, and says which bars are met.
//
//	state                                   the whole matrix
//	state -sizes 1000,100000 -widths 18     parts of it (also -subjects drey,builtin)
//	state cell NAME WIDTH ENTRIES           one subject, in this process
//	state micro                             what is measured of our side alone
//
// Every subject runs in a process of its own. Times are CPU time of the process, the fastest of several rounds for each batch.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

var order = []string{"drey", "builtin", "dolthub", "cockroach", "hashbrown"}

func main() {
	if len(os.Args) == 5 && os.Args[1] == "cell" {
		width, err1 := strconv.Atoi(os.Args[3])
		entries, err2 := strconv.Atoi(os.Args[4])
		if err1 != nil || err2 != nil || subjects[os.Args[2]] == nil {
			fail("usage: state cell NAME WIDTH ENTRIES")
		}
		runCell(os.Args[2], width, entries)
		return
	}
	if len(os.Args) == 2 && os.Args[1] == "micro" {
		micro()
		return
	}
	sizes := flag.String("sizes", "1000,100000,1000000,10000000", "numbers of entries")
	widths := flag.String("widths", "18,40", "key widths")
	names := flag.String("subjects", strings.Join(order, ","), "what to measure")
	rust := flag.String("rust", "", "the binary of the Rust subject; without it hashbrown is left out")
	flag.Parse()
	machine()
	r := results{cells: map[cell]float64{}, micro: map[string]float64{}}
	for _, entries := range numbers(*sizes) {
		for _, width := range numbers(*widths) {
			for _, name := range strings.Split(*names, ",") {
				if name == "hashbrown" && *rust == "" {
					continue
				}
				r.add(name, run(*rust, name, width, entries))
			}
			r.print(width, entries)
		}
	}
	if strings.Contains(*names, "drey") {
		self, _ := os.Executable()
		r.add("micro", output(exec.Command(self, "micro")))
	}
	r.bars()
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(2)
}

func numbers(list string) (all []int) {
	for _, s := range strings.Split(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			fail("not a number: " + s)
		}
		all = append(all, n)
	}
	return all
}

// run measures one subject in a process of its own.
func run(rust, name string, width, entries int) []string {
	w, n := strconv.Itoa(width), strconv.Itoa(entries)
	if name == "hashbrown" {
		queries, builds, rounds := plan(entries)
		return output(exec.Command(rust, w, n, strconv.Itoa(queries), strconv.Itoa(builds), strconv.Itoa(rounds)))
	}
	self, _ := os.Executable()
	return output(exec.Command(self, "cell", name, w, n))
}

func output(c *exec.Cmd) (lines []string) {
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, os.Stderr
	if err := c.Run(); err != nil {
		fail(fmt.Sprintf("%v: %v\n%s", c.Args, err, out.String()))
	}
	for s := bufio.NewScanner(&out); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}

// machine says what this runs on, for the results that are kept.
func machine() {
	model := "unknown CPU"
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for _, line := range strings.Split(string(b), "\n") {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	load, _ := os.ReadFile("/proc/loadavg")
	average, _, _ := strings.Cut(string(load), " ")
	fmt.Printf("State engine against other maps: ns per operation, bytes per entry; batches of %d keys.\n%s, %s, %d CPUs, %s, load %s\n",
		batch, time.Now().Format(time.DateOnly), model, runtime.NumCPU(), runtime.Version(), average)
}
