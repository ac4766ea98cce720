package keygroup

import (
	"encoding/hex"
	"testing"
)

// vectors were computed by Flink 2.2.1: the key row, its bytes, BinaryRowData.hashCode(), and the key group for maximum
// parallelism 128.
var vectors = []struct {
	name  string
	bytes string
	hash  int32
	group int
}{
	{"BIGINT 1", "00000000000000000100000000000000", 1465514398, 94},
	{"BIGINT 42", "00000000000000002a00000000000000", 907821237, 69},
	{"BIGINT -1", "0000000000000000ffffffffffffffff", -821098432, 65},
	{"INT 1", "00000000000000000100000000000000", 1465514398, 94},
	{"INT -1", "0000000000000000ffffffff00000000", 1133687267, 106},
	{"TINYINT -1", "0000000000000000ff00000000000000", 2004758659, 46},
	{"BOOLEAN true", "00000000000000000100000000000000", 1465514398, 94},
	{"null (any fixed/var type via setNullAt)", "00010000000000000000000000000000", -1748325344, 99},
	{"STRING ''", "00000000000000000000000000000080", 302122119, 102},
	{"STRING 'abc'", "00000000000000006162630000000083", -101922419, 92},
	{"STRING 'abcdefg' (7 B, inline)", "00000000000000006162636465666787", -1431907323, 70},
	{"STRING 'abcdefgh' (8 B)", "000000000000000008000000100000006162636465666768", -843760178, 58},
	{"STRING 'channel-1234'", "00000000000000000c000000100000006368616e6e656c2d3132333400000000", -1901134240, 86},
	{"(BIGINT 7, STRING 'x')", "000000000000000007000000000000007800000000000081", -1252423430, 104},
	{"DOUBLE 0.0", "00000000000000000000000000000000", -300363099, 102},
	{"DOUBLE -0.0", "00000000000000000000000000000080", 302122119, 102},
	{"DOUBLE NaN", "0000000000000000000000000000f87f", -1323214697, 2},
	{"DECIMAL(10,2) 1.50", "00000000000000009600000000000000", -616511498, 127},
	{"DECIMAL(38,2) 1.50", "0000000000000000020000001000000000960000000000000000000000000000", 1232543739, 26},
	{"DECIMAL(38,2) -1.50", "00000000000000000200000010000000ff6a0000000000000000000000000000", 635775811, 0},
	{"DECIMAL(38,2) null, key projection form", "0001000000000000000000001000000000000000000000000000000000000000", -1380280760, 47},
	{"TIMESTAMP(3) 1000 ms", "0000000000000000e803000000000000", 18631685, 112},
	{"TIMESTAMP(6) 1000 ms + 5000 ns", "00000000000000008813000010000000e803000000000000", 650381643, 123},
	{"TIMESTAMP(6) null, key projection form", "000100000000000000000000100000000000000000000000", -340882661, 92},
	{"empty row (no key)", "0000000000000000", -1670924195, 11},
	{"BIGINT 1 with kind +U (never use as key)", "02000000000000000100000000000000", 819423532, 98},
}

func TestVectorsOfFlink(t *testing.T) {
	for _, v := range vectors {
		row, err := hex.DecodeString(v.bytes)
		if err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		if got := Hash(row); got != v.hash {
			t.Errorf("%s: hash %d, want %d", v.name, got, v.hash)
		}
		if got := Of(row, 128); got != v.group {
			t.Errorf("%s: key group %d, want %d", v.name, got, v.group)
		}
	}
}

func TestOfHashStaysInRange(t *testing.T) {
	for _, hash := range []int32{0, 1, -1, 1 << 30, -1 << 31, 1<<31 - 1} {
		for _, max := range []int{1, 3, 128, 32768} {
			if got := OfHash(hash, max); got < 0 || got >= max {
				t.Errorf("hash %d, max %d: key group %d", hash, max, got)
			}
		}
	}
}

func BenchmarkHash(b *testing.B) {
	row := make([]byte, 24)
	var sum int32
	for b.Loop() {
		sum += Hash(row)
	}
	_ = sum
}
