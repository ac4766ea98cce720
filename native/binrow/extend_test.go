package binrow

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestExtendEqualsWriter compares with rows that were written with the column from the start, at arities on both sides of
// the one where null bits need another word.
func TestExtendEqualsWriter(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, arity := range []int{1, 3, 25, 54, 55, 56, 57, 119, 120, 121} {
		var texts []string
		for len(texts) < arity {
			texts = append(texts, everyType[rng.IntN(len(everyType))])
		}
		short, long := NewWriter(layout(t, texts...)), NewWriter(layout(t, append(texts, "BIGINT")...))
		e := NewExtender(short.layout)
		for range 50 {
			row := randomRow(rng, short)
			long.Reset()
			l := short.layout
			for i, c := range l.classes {
				switch {
				case l.IsNull(row, i) && l.Int64(row, i) == 0:
					long.SetPlainNull(i)
				case l.IsNull(row, i):
					long.SetNull(i)
				case c == time12:
					millis, nanos := l.Timestamp(row, i)
					long.SetTimestamp(i, millis, nanos)
				case c >= inlined:
					long.SetBytes(i, l.Bytes(row, i))
				default:
					long.SetInt(i, l.Int64(row, i))
				}
			}
			got := make([]byte, e.Size(len(row)))
			e.Extend(got, row)
			if !bytes.Equal(got, long.Row()) {
				t.Fatalf("%d columns: %x became %x, want %x", arity, row, got, long.Row())
			}
			back := make([]byte, len(row))
			e.Strip(back, got)
			if !bytes.Equal(back, row) {
				t.Fatalf("%d columns: %x came back as %x", arity, row, back)
			}
		}
		if want := long.layout.Slot(arity); e.Slot() != want {
			t.Errorf("%d columns: slot %d, want %d", arity, e.Slot(), want)
		}
	}
}
