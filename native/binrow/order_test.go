package binrow

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"

	"drey/native/logical"
	"drey/rowstate"
)

// TestSortKeysOrderAsFlink holds sort keys against the order that Flink's generated comparator has rows of every type in.
// SortKeyOrderTest recorded it, and fails when Flink has another.
func TestSortKeysOrderAsFlink(t *testing.T) {
	file, err := os.Open("testdata/flink_order.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var name string
	var rows [][]byte
	types, pairs := 0, 0
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "", "#":
		case "type":
			name, rows = rest, nil
			types++
		case "row":
			row, err := hex.DecodeString(rest)
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row)
		case "ASC", "DESC":
			nulls, ranks, _ := strings.Cut(strings.TrimPrefix(rest, "NULLS "), " ")
			order := rowstate.SortOrder{Descending: word == "DESC", NullsLast: nulls == "LAST"}
			checkOrder(t, name, order, rows, numbers(t, ranks))
			pairs += len(rows) * len(rows)
		default:
			t.Fatalf("a line of the recorded order starts with %q", word)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if types < 25 || pairs < 25*4*20*20 {
		t.Fatalf("%d types and %d pairs of rows are recorded", types, pairs)
	}
}

func numbers(t *testing.T, text string) (all []int) {
	for _, word := range strings.Fields(text) {
		n, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

// checkOrder compares the keys of all pairs of rows.
func checkOrder(t *testing.T, name string, order rowstate.SortOrder, rows [][]byte, ranks []int) {
	t.Helper()
	if len(ranks) != len(rows) {
		t.Fatalf("%s: %d ranks of %d rows", name, len(ranks), len(rows))
	}
	column, err := logical.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	layout, err := NewLayout([]logical.Type{column})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := NewSortKeys(layout, []logical.Type{column}, []SortField{{0, order}})
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range rows {
		if err := keys.Check(a); err != nil {
			t.Fatalf("%s row %d: %v", name, i, err)
		}
		for j, b := range rows {
			want := cmp.Compare(ranks[i], ranks[j])
			// What follows says the contrary, and must not be heard.
			x, y := append(keys.Append(nil, a), byte(128-want)), append(keys.Append(nil, b), byte(128+want))
			if got := bytes.Compare(x, y); got != want {
				t.Fatalf("%s %+v: rows %d and %d compare %d, Flink has them %d\n%x %x\n%x %x", name, order, i, j, got, want, a, b, x, y)
			}
		}
	}
}
