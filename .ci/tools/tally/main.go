// Command tally runs or reads tests and counts them, so that every stage of `make test` ends with a plain line
//
//	test-go: 120 passed, 0 failed, 2 skipped
//
// and a stage that silently ran nothing is seen. When TALLY_FILE is set, each stage's counts are appended to it and
// `tally total` sums them up.
package main

import (
	"bufio"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

const usage = `usage:
  tally go STAGE ARGS...         run "go test -json ARGS", show packages and failures
  tally surefire STAGE GLOB...   sum up the surefire reports in the folders that match
  tally add STAGE PASSED FAILED SKIPPED
  tally total                    print all stages in $TALLY_FILE and their sum; exit 1 on failures`

type counts struct{ passed, failed, skipped int }

func (c counts) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.passed, c.failed, c.skipped)
}

func main() {
	args := os.Args[1:]
	if len(args) == 0 {
		fail(usage)
	}
	var (
		c   counts
		err error
	)
	switch verb := args[0]; {
	case verb == "go" && len(args) >= 2:
		c, err = goTest(args[2:])
	case verb == "surefire" && len(args) >= 3:
		c, err = surefire(args[2:])
	case verb == "add" && len(args) == 5:
		for i, dst := range []*int{&c.passed, &c.failed, &c.skipped} {
			if *dst, err = strconv.Atoi(args[2+i]); err != nil {
				fail(err.Error())
			}
		}
	case verb == "total" && len(args) == 1:
		total()
		return
	default:
		fail(usage)
	}
	if err != nil && c.failed == 0 {
		fmt.Fprintf(os.Stderr, "%s: %v\n", args[1], err)
		c.failed = 1
	}
	fmt.Printf("%s: %v\n", args[1], c)
	record(args[1], c)
	if c.failed > 0 {
		os.Exit(1)
	}
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(2)
}

type event struct {
	Action, Package, Test, Output string
	ImportPath                    string // of build output
}

// goTest counts tests and subtests that have no subtests of their own: a parent's result only repeats its children's.
func goTest(args []string) (counts, error) {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return counts{}, err
	}
	if err := cmd.Start(); err != nil {
		return counts{}, err
	}
	var (
		c      counts
		output = map[[2]string]*strings.Builder{}
		parent = map[[2]string]bool{}
	)
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			break
		}
		var e event
		if json.Unmarshal(line, &e) != nil { // the go command itself speaking
			os.Stdout.Write(line)
			continue
		}
		id := [2]string{e.Package, e.Test}
		switch e.Action {
		case "build-output":
			fmt.Print(e.Output)
		case "output":
			if e.Test == "" { // "ok  drey/simd 0.1s", a panic, or the output of a package that does not start
				if e.Output != "PASS\n" && e.Output != "FAIL\n" && !strings.Contains(e.Output, "[no test files]") {
					fmt.Print(e.Output)
				}
				continue
			}
			if output[id] == nil {
				output[id] = &strings.Builder{}
			}
			output[id].WriteString(e.Output)
		case "run":
			if i := strings.LastIndexByte(e.Test, '/'); i >= 0 {
				parent[[2]string{e.Package, e.Test[:i]}] = true
			}
		case "pass", "fail", "skip":
			if e.Test == "" {
				if e.Action == "fail" && c.failed == 0 {
					c.failed = 1 // a package that did not build, or whose process died outside of a test
				}
				continue
			}
			if e.Action == "fail" && output[id] != nil {
				fmt.Print(output[id])
			}
			delete(output, id)
			if parent[id] {
				continue
			}
			switch e.Action {
			case "pass":
				c.passed++
			case "fail":
				c.failed++
			case "skip":
				c.skipped++
			}
		}
	}
	// A test that was running when its process died has no result: show what it said.
	for id, text := range output {
		fmt.Printf("no result of %s %s\n%s", id[0], id[1], text)
	}
	return c, cmd.Wait()
}

// surefire sums the XML reports of surefire or failsafe.
func surefire(globs []string) (counts, error) {
	var c counts
	reports := 0
	for _, glob := range globs {
		files, err := filepath.Glob(filepath.Join(glob, "TEST-*.xml"))
		if err != nil {
			return c, err
		}
		reports += len(files)
		sort.Strings(files)
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				return c, err
			}
			var suite struct {
				Name     string `xml:"name,attr"`
				Tests    int    `xml:"tests,attr"`
				Errors   int    `xml:"errors,attr"`
				Failures int    `xml:"failures,attr"`
				Skipped  int    `xml:"skipped,attr"`
			}
			if err := xml.Unmarshal(data, &suite); err != nil {
				return c, fmt.Errorf("%s: %w", file, err)
			}
			bad := suite.Errors + suite.Failures
			c.passed += suite.Tests - bad - suite.Skipped
			c.failed += bad
			c.skipped += suite.Skipped
			if bad > 0 {
				fmt.Printf("%d failed in %s, see %s\n", bad, suite.Name, file)
			}
		}
	}
	if reports == 0 {
		return c, fmt.Errorf("no test reports in %s", strings.Join(globs, ", "))
	}
	return c, nil
}

func record(stage string, c counts) {
	path := os.Getenv("TALLY_FILE")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		fail(err.Error())
	}
	fmt.Fprintf(f, "%s %d %d %d\n", stage, c.passed, c.failed, c.skipped)
	if err := f.Close(); err != nil {
		fail(err.Error())
	}
}

func total() {
	data, err := os.ReadFile(os.Getenv("TALLY_FILE"))
	if err != nil {
		fail(err.Error())
	}
	var sum counts
	for line := range strings.Lines(string(data)) {
		var (
			stage string
			c     counts
		)
		if _, err := fmt.Sscan(line, &stage, &c.passed, &c.failed, &c.skipped); err != nil {
			fail(fmt.Sprintf("%q: %v", line, err))
		}
		fmt.Printf("  %-24s %v\n", stage, c)
		sum.passed += c.passed
		sum.failed += c.failed
		sum.skipped += c.skipped
	}
	fmt.Printf("test: %v\n", sum)
	if sum.failed > 0 || sum.passed == 0 {
		os.Exit(1)
	}
}
