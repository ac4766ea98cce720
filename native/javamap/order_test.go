package javamap_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"drey/native/javamap"
)

// TestWalksAsJavaDoes compares with walks recorded from java.util.HashMap: maps that grow, that keep their bins when they are
// cleared, and bins that grow the map because they are full.
func TestWalksAsJavaDoes(t *testing.T) {
	text, err := os.ReadFile("testdata/hashmap.txt")
	if err != nil {
		t.Fatal(err)
	}
	var order *javamap.Order
	var hashCodes, walk []int32
	walks := 0
	for number, line := range strings.Split(string(text), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		switch fields[0] {
		case "map":
			order = &javamap.Order{}
		case "round":
			hashCodes = hashCodes[:0]
			for _, field := range fields[1:] {
				hash, err := strconv.ParseInt(field, 10, 32)
				if err != nil {
					t.Fatal(err)
				}
				hashCodes = append(hashCodes, int32(hash))
			}
			walk = order.Walk(hashCodes, walk)
		case "walk":
			walks++
			if got := "walk " + strings.Trim(fmt.Sprint(walk), "[]"); got != line {
				t.Errorf("line %d\n\t%s\nwant\n\t%s", number+1, got, line)
			}
		}
	}
	if walks == 0 {
		t.Fatal("no walks")
	}
}

func BenchmarkWalk(b *testing.B) {
	hashCodes := make([]int32, 10_000)
	for i := range hashCodes {
		hashCodes[i] = int32(i * 0x9e3779b1)
	}
	var order javamap.Order
	var walk []int32
	for b.Loop() {
		walk = order.Walk(hashCodes, walk)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(hashCodes)), "ns/key")
}
