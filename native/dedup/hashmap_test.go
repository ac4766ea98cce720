package dedup

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestHashMapWalksAsJavaDoes compares with walks recorded from java.util.HashMap: maps that grow, that keep their bins when
// they are cleared, and bins that grow the map because they are full.
func TestHashMapWalksAsJavaDoes(t *testing.T) {
	text, err := os.ReadFile("../javamap/testdata/hashmap.txt")
	if err != nil {
		t.Fatal(err)
	}
	var m *hashMap
	walks := 0
	for number, line := range strings.Split(string(text), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		switch fields[0] {
		case "map":
			m = newHashMap()
		case "round":
			m.clear()
			for i, field := range fields[1:] {
				hash, err := strconv.ParseInt(field, 10, 32)
				if err != nil {
					t.Fatal(err)
				}
				key := binary.LittleEndian.AppendUint64(nil, uint64(i))
				for n, wantFresh := range []bool{true, false} {
					e, fresh := m.find(int32(hash), key)
					if fresh != wantFresh || string(m.key(e)) != string(key) {
						t.Fatalf("line %d: key %d: fresh is %v at time %d", number+1, i, fresh, n)
					}
				}
			}
		case "walk":
			walks++
			if got := "walk " + strings.Trim(fmt.Sprint(m.order(nil)), "[]"); got != line {
				t.Errorf("line %d: %d buckets\n\t%s\nwant\n\t%s", number+1, len(m.buckets), got, line)
			}
		}
	}
	if walks == 0 {
		t.Fatal("no walks")
	}
}
