package rowstate

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

var orders = []SortOrder{{}, {NullsLast: true}, {Descending: true}, {Descending: true, NullsLast: true}}

// TestSortKeyBytes pins the format: arrow-row's documented examples for integers and byte blocks, and Flink's nulls.
func TestSortKeyBytes(t *testing.T) {
	up, down, upLast := SortOrder{}, SortOrder{Descending: true}, SortOrder{NullsLast: true}
	for _, c := range []struct {
		name string
		got  []byte
		want string
	}{
		{"int 3", up.AppendInt32(nil, 3), "01 80000003"},
		{"int -3", up.AppendInt32(nil, -3), "01 7ffffffd"},
		{"int 3 desc", down.AppendInt32(nil, 3), "01 7ffffffc"},
		{"null int first", up.AppendNull(nil, 4), "00 00000000"},
		{"null int last", upLast.AppendNull(nil, 4), "ff 00000000"},
		{"null int desc", down.AppendNull(nil, 4), "00 00000000"},
		{"tiny -1", up.AppendInt8(nil, -1), "01 7f"},
		{"small 1", up.AppendInt16(nil, 1), "01 8001"},
		{"bigint -1", up.AppendInt64(nil, -1), "01 7fffffffffffffff"},
		{"bigint -1 desc", down.AppendInt64(nil, -1), "01 8000000000000000"},
		{"true", up.AppendBool(nil, true), "01 01"},
		{"true desc", down.AppendBool(nil, true), "01 fe"},
		{"double 1", up.AppendFloat64(nil, 1), "01 bff0000000000000"},
		{"double -1", up.AppendFloat64(nil, -1), "01 400fffffffffffff"},
		{"double -0", up.AppendFloat64(nil, math.Copysign(0, -1)), "01 8000000000000000"},
		{"float NaN", up.AppendFloat32(nil, float32(math.NaN())), "01 ffc00000"},
		{"timestamp", up.AppendTimestamp(nil, 1, 999999), "01 8000000000000001 800f423f"},
		{"decimal -1", up.AppendDecimal(nil, []byte{0xFF}), "01 7fffffffffffffffffffffffffffffff"},
		{"empty", up.AppendBytes(nil, nil), "01"},
		{"empty desc", down.AppendBytes(nil, nil), "fe"},
		{"null bytes", up.AppendNullBytes(nil), "00"},
		{"hello", up.AppendBytes(nil, []byte("hello")), "02 68656c6c6f000000 05"},
		{"hello desc", down.AppendBytes(nil, []byte("hello")), "fd 979a939390ffffff fa"},
		{"8 bytes", up.AppendBytes(nil, []byte("12345678")), "02 3132333435363738 08"},
		{"9 bytes", up.AppendBytes(nil, []byte("123456789")), "02 3132333435363738 ff 3900000000000000 01"},
	} {
		want, err := hex.DecodeString(string(bytes.ReplaceAll([]byte(c.want), []byte(" "), nil)))
		if err != nil || !bytes.Equal(c.got, want) {
			t.Errorf("%s: %x, want %s", c.name, c.got, c.want)
		}
	}
}

// checkOrder encodes all pairs of values under every order and compares the bytes with the order of the values; the last
// index stands for null.
func checkOrder(t *testing.T, name string, n int, compare func(i, j int) int, encode func(o SortOrder, i int) []byte, null func(o SortOrder) []byte) {
	t.Helper()
	for _, o := range orders {
		key := func(i int) []byte {
			if i == n {
				return null(o)
			}
			return encode(o, i)
		}
		for i := range n + 1 {
			for j := range n + 1 {
				want := 0
				switch {
				case i == n && j == n:
				case i == n || j == n:
					want = 1
					if (i == n) != o.NullsLast {
						want = -1
					}
				default:
					want = compare(i, j)
					if o.Descending {
						want = -want
					}
				}
				// What follows a field must not matter: unequal bytes are appended.
				a, b := append(key(i), 7), append(key(j), 7)
				if want == 0 {
					a[len(a)-1], b[len(b)-1] = 7, 7
				} else {
					a[len(a)-1], b[len(b)-1] = byte(128-100*want), byte(128+100*want)
				}
				if got := bytes.Compare(a, b); got != want {
					t.Fatalf("%s %+v: %d against %d: %d, want %d (%x, %x)", name, o, i, j, got, want, a, b)
				}
			}
		}
	}
}

func TestSortKeyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	ints := []int64{0, 1, -1, 127, -128, 255, 256, 32767, -32768, 65536, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64}
	for range 20 {
		ints = append(ints, int64(rng.Uint64()>>rng.IntN(64)), -int64(rng.Uint64()>>(1+rng.IntN(63))))
	}
	null := func(width int) func(SortOrder) []byte {
		return func(o SortOrder) []byte { return o.AppendNull(nil, width) }
	}
	n := len(ints)
	checkOrder(t, "int8", n, func(i, j int) int { return cmp.Compare(int8(ints[i]), int8(ints[j])) },
		func(o SortOrder, i int) []byte { return o.AppendInt8(nil, int8(ints[i])) }, null(1))
	checkOrder(t, "int16", n, func(i, j int) int { return cmp.Compare(int16(ints[i]), int16(ints[j])) },
		func(o SortOrder, i int) []byte { return o.AppendInt16(nil, int16(ints[i])) }, null(2))
	checkOrder(t, "int32", n, func(i, j int) int { return cmp.Compare(int32(ints[i]), int32(ints[j])) },
		func(o SortOrder, i int) []byte { return o.AppendInt32(nil, int32(ints[i])) }, null(4))
	checkOrder(t, "int64", n, func(i, j int) int { return cmp.Compare(ints[i], ints[j]) },
		func(o SortOrder, i int) []byte { return o.AppendInt64(nil, ints[i]) }, null(8))
	checkOrder(t, "bool", 2, cmp.Compare[int], func(o SortOrder, i int) []byte { return o.AppendBool(nil, i == 1) }, null(1))
	checkOrder(t, "timestamp", n, func(i, j int) int {
		return cmp.Or(cmp.Compare(ints[i]>>8, ints[j]>>8), cmp.Compare(uint8(ints[i]), uint8(ints[j])))
	}, func(o SortOrder, i int) []byte { return o.AppendTimestamp(nil, ints[i]>>8, int32(uint8(ints[i]))) }, null(12))

	wide := func(i int) *big.Int {
		v := new(big.Int).Mul(big.NewInt(ints[i]), big.NewInt(ints[(i+5)%n]|1))
		return v.Rsh(v, 1)
	}
	checkOrder(t, "decimal", n, func(i, j int) int { return wide(i).Cmp(wide(j)) },
		func(o SortOrder, i int) []byte { return o.AppendDecimal(nil, twosComplement(wide(i))) }, null(16))
}

// twosComplement is Java's BigInteger.toByteArray.
func twosComplement(v *big.Int) []byte {
	n := new(big.Int).Set(v)
	if n.Sign() < 0 {
		n.Not(n)
	}
	length := n.BitLen()/8 + 1
	if v.Sign() >= 0 {
		return v.FillBytes(make([]byte, length))
	}
	return new(big.Int).Add(v, new(big.Int).Lsh(big.NewInt(1), uint(8*length))).FillBytes(make([]byte, length))
}

// TestSortKeyFloats: the order is that of < and >, with equal zeros; all NaNs are one value above infinity.
func TestSortKeyFloats(t *testing.T) {
	values := []float64{
		math.Inf(-1), -math.MaxFloat64, -1e300, -2, -1, -math.SmallestNonzeroFloat64, math.Copysign(0, -1), 0,
		math.SmallestNonzeroFloat64, 1e-300, 1, 2, math.MaxFloat64, math.Inf(1), math.NaN(), math.Float64frombits(0xFFF8000000000001),
	}
	compare := func(a, b float64) int {
		switch {
		case a != a || b != b:
			return cmp.Compare(b2i(a != a), b2i(b != b))
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	}
	null := func(width int) func(SortOrder) []byte {
		return func(o SortOrder) []byte { return o.AppendNull(nil, width) }
	}
	checkOrder(t, "double", len(values), func(i, j int) int { return compare(values[i], values[j]) },
		func(o SortOrder, i int) []byte { return o.AppendFloat64(nil, values[i]) }, null(8))
	checkOrder(t, "float", len(values), func(i, j int) int { return compare(float64(float32(values[i])), float64(float32(values[j]))) },
		func(o SortOrder, i int) []byte { return o.AppendFloat32(nil, float32(values[i])) }, null(4))
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestSortKeyBytesOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	values := [][]byte{nil, {0}, {0, 0}, {255}, []byte("a"), []byte("ab"), []byte("b")}
	for _, n := range []int{7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 95, 96, 97, 200} {
		for _, fill := range []byte{0, 'x', 255} {
			v := bytes.Repeat([]byte{fill}, n)
			values = append(values, v, append(bytes.Clone(v[:n-1]), byte(rng.Uint32())))
		}
	}
	checkOrder(t, "bytes", len(values), func(i, j int) int { return bytes.Compare(values[i], values[j]) },
		func(o SortOrder, i int) []byte { return o.AppendBytes(nil, values[i]) },
		func(o SortOrder) []byte { return o.AppendNullBytes(nil) })
	for _, v := range values {
		if got := len(SortOrder{}.AppendBytes(nil, v)); got != bytesWidth(len(v)) {
			t.Fatalf("%d bytes take %d, bytesWidth says %d", len(v), got, bytesWidth(len(v)))
		}
	}
}
