package optest

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
)

var keepSnapshots = flag.Bool("keep-snapshots", false, "write snapshots that testdata does not have yet; those it has are never written again")

// Kept reads a snapshot that a version of the library has written once, by key group. It must be readable for ever: what it
// gives to an operator is up to the caller. With -keep-snapshots a file that isn't there is written from what make takes.
func Kept(t testing.TB, name string, make func() map[int][]byte) map[int][]byte {
	t.Helper()
	file := filepath.Join("testdata", "snapshots", name+".txt")
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) && *keepSnapshots {
		text = []byte(snapshotText(make()))
		if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
			err = os.WriteFile(file, text, 0o644)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	groups := map[int][]byte{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		group, digits, _ := strings.Cut(line, " ")
		g, err := strconv.Atoi(group)
		if err != nil {
			t.Fatal(err)
		}
		if groups[g], err = hex.DecodeString(digits); err != nil {
			t.Fatal(err)
		}
	}
	return groups
}

func snapshotText(groups map[int][]byte) string {
	var numbers []int
	for g, b := range groups {
		if len(b) > 0 {
			numbers = append(numbers, g)
		}
	}
	sort.Ints(numbers)
	var b strings.Builder
	for _, g := range numbers {
		fmt.Fprintf(&b, "%d %x\n", g, groups[g])
	}
	return b.String()
}
