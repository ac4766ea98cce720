package agg

import (
	"encoding/binary"
	"math/big"
	"math/bits"
)

// int128 is a number in two's complement: the unscaled value of any decimal of up to 38 digits.
type int128 struct {
	hi int64
	lo uint64
}

func int128Of(v int64) int128 { return int128{v >> 63, uint64(v)} }

// limit38 is 10^38, the least number of 39 digits.
var limit38 = int128{0x4b3b4ca85a86c47a, 0x098a224000000000}

// int128FromBytes reads big-endian two's complement of up to 16 bytes.
func int128FromBytes(b []byte) int128 {
	if len(b) == 0 {
		return int128{}
	}
	var full [16]byte
	if b[0] >= 0x80 {
		binary.LittleEndian.PutUint64(full[:], ^uint64(0))
		binary.LittleEndian.PutUint64(full[8:], ^uint64(0))
	}
	copy(full[16-len(b):], b)
	return int128{int64(binary.BigEndian.Uint64(full[:])), binary.BigEndian.Uint64(full[8:])}
}

// put writes the number as BigInteger.toByteArray does, in as few bytes as possible, followed by zeros up to 16, and
// returns how many those are.
func (a int128) put(dst []byte) int {
	var full [16]byte
	binary.BigEndian.PutUint64(full[:], uint64(a.hi))
	binary.BigEndian.PutUint64(full[8:], a.lo)
	skip := 0
	for skip < 15 && (full[skip] == 0 && full[skip+1] < 0x80 || full[skip] == 0xff && full[skip+1] >= 0x80) {
		skip++
	}
	n := copy(dst, full[skip:])
	clear(dst[n:16])
	return n
}

func (a int128) cmp(b int128) int {
	switch {
	case a.hi < b.hi:
		return -1
	case a.hi > b.hi:
		return 1
	case a.lo < b.lo:
		return -1
	case a.lo > b.lo:
		return 1
	}
	return 0
}

func (a int128) neg() int128 {
	lo, borrow := bits.Sub64(0, a.lo, 0)
	hi, _ := bits.Sub64(0, uint64(a.hi), borrow)
	return int128{int64(hi), lo}
}

// add38 adds, and tells whether the sum has no more than 38 digits.
func (a int128) add38(b int128) (int128, bool) {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(uint64(a.hi), uint64(b.hi), carry)
	sum := int128{int64(hi), lo}
	if (a.hi^b.hi) >= 0 && (a.hi^sum.hi) < 0 {
		return int128{}, false
	}
	return sum, sum.fits38()
}

func (a int128) sub38(b int128) (int128, bool) { return a.add38(b.neg()) }

func (a int128) fits38() bool {
	if a.hi < 0 {
		a = a.neg()
		if a.hi < 0 { // the least number has no counterpart
			return false
		}
	}
	return a.cmp(limit38) < 0
}

func (a int128) big() *big.Int {
	var full [16]byte
	v := a
	if a.hi < 0 {
		v = a.neg()
	}
	binary.BigEndian.PutUint64(full[:], uint64(v.hi))
	binary.BigEndian.PutUint64(full[8:], v.lo)
	b := new(big.Int).SetBytes(full[:])
	if a.hi < 0 {
		b.Neg(b)
	}
	return b
}

func int128FromBig(b *big.Int) int128 {
	var full [16]byte
	new(big.Int).Abs(b).FillBytes(full[:])
	v := int128{int64(binary.BigEndian.Uint64(full[:])), binary.BigEndian.Uint64(full[8:])}
	if b.Sign() < 0 {
		v = v.neg()
	}
	return v
}

// average divides a sum of a scale by a count that is not 0, as DecimalDataUtils.divide does for DECIMAL(38, resultScale):
// first to 38 significant digits, then to the scale, both times half up. It tells whether the result has no more than 38
// digits.
func average(sum int128, count int64, scale, resultScale int) (int128, bool) {
	if v, ok := averageShort(sum, count, resultScale-scale); ok {
		return v, true
	}
	return averageLong(sum, count, scale, resultScale)
}

var powersOf10 = [...]uint64{1, 10, 100, 1000, 10000, 100000, 1000000}

// averageShort is average where all is small: a quotient below 10^18 at the result's scale, which never lies so close to
// half a unit, without reaching it, that rounding to 38 digits would lift it there.
func averageShort(sum int128, count int64, up int) (int128, bool) {
	negative := (sum.hi < 0) != (count < 0)
	if sum.hi < 0 {
		sum = sum.neg()
	}
	divisor := uint64(count)
	if count < 0 {
		divisor = -divisor
	}
	if sum.hi != 0 || up >= len(powersOf10) {
		return int128{}, false
	}
	hi, lo := bits.Mul64(sum.lo, powersOf10[up])
	if hi >= divisor {
		return int128{}, false
	}
	q, r := bits.Div64(hi, lo, divisor)
	if q >= 1e18-1 {
		return int128{}, false
	}
	if r >= divisor-r {
		q++
	}
	if negative {
		return int128Of(-int64(q)), true
	}
	return int128Of(int64(q)), true
}

func averageLong(sum int128, count int64, scale, resultScale int) (int128, bool) {
	n, d := sum.big(), big.NewInt(count)
	negative := n.Sign()*d.Sign() < 0
	n.Abs(n)
	d.Abs(d)
	if n.Sign() == 0 {
		return int128{}, true
	}
	// The quotient has 38 digits before the point once it has been scaled up by k digits.
	k := 38 - digits(new(big.Int).Quo(n, d))
	if n.Cmp(d) < 0 {
		k = 38 + digits(new(big.Int).Quo(d, n))
	}
	q, least := new(big.Int), power10(37)
	for {
		up, down := n, d
		if k >= 0 {
			up = new(big.Int).Mul(n, power10(k))
		} else {
			down = new(big.Int).Mul(d, power10(-k))
		}
		if q.Quo(up, down).Cmp(least) < 0 {
			k++
			continue
		}
		if digits(q) > 38 {
			k--
			continue
		}
		q = divideHalfUp(up, down)
		break
	}
	if excess := k + scale - resultScale; excess > 0 {
		q = divideHalfUp(q, power10(excess))
	} else {
		q.Mul(q, power10(-excess))
	}
	if digits(q) > 38 {
		return int128{}, false
	}
	if negative {
		q.Neg(q)
	}
	return int128FromBig(q), true
}

func power10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// digits is the number of decimal digits of a number that is not negative.
func digits(v *big.Int) int { return len(v.Text(10)) }

// divideHalfUp divides numbers that are not negative.
func divideHalfUp(n, d *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(n, d, new(big.Int))
	if r.Lsh(r, 1).Cmp(d) >= 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}
