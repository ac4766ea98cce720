package expr

import (
	"math/big"

	"drey/native/logical"
)

// form is how the values of a type are kept during evaluation.
type form uint8

const (
	ints   form = iota // whole numbers, BOOLEAN as 0 and 1, dates, times, intervals, decimals of up to 18 digits, unscaled
	floats             // FLOAT, rounded to 32 bits after each operation, and DOUBLE
	times              // timestamps: milliseconds, and nanoseconds of the millisecond
	texts              // strings and binary strings
	bigs               // decimals of more than 18 digits, unscaled
	none               // types that are not in the language
)

func formOf(t logical.Type) form {
	switch t.Kind {
	case logical.Boolean, logical.TinyInt, logical.SmallInt, logical.Integer, logical.BigInt, logical.Date, logical.Time,
		logical.IntervalYearMonth, logical.IntervalDayTime:
		return ints
	case logical.Float, logical.Double:
		return floats
	case logical.Timestamp, logical.TimestampLTZ:
		return times
	case logical.Char, logical.Varchar, logical.Binary, logical.Varbinary:
		return texts
	case logical.Decimal:
		if t.Precision > 18 {
			return bigs
		}
		return ints
	}
	return none
}

// vector is a column of values, one per pair. What a null's value is means nothing.
type vector struct {
	null   []bool
	ints   []int64
	floats []float64
	nanos  []int32
	texts  [][]byte
	bigs   []big.Int
}

// resize makes room for n values, whose contents are arbitrary.
func (v *vector) resize(f form, n int) {
	v.null = sized(v.null, n)
	switch f {
	case ints:
		v.ints = sized(v.ints, n)
	case floats:
		v.floats = sized(v.floats, n)
	case times:
		v.ints, v.nanos = sized(v.ints, n), sized(v.nanos, n)
	case texts:
		v.texts = sized(v.texts, n)
	case bigs:
		v.bigs = sized(v.bigs, n)
	}
}

func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return append(make([]T, 0, max(n, 64)), s...)[:n]
	}
	return s[:n]
}

func copyValue(dst, src *vector, f form, i int) {
	dst.null[i] = src.null[i]
	switch f {
	case ints:
		dst.ints[i] = src.ints[i]
	case floats:
		dst.floats[i] = src.floats[i]
	case times:
		dst.ints[i], dst.nanos[i] = src.ints[i], src.nanos[i]
	case texts:
		dst.texts[i] = src.texts[i]
	case bigs:
		if !src.null[i] {
			dst.bigs[i].Set(&src.bigs[i])
		}
	}
}

// powerOfTen is 10 to the n.
func powerOfTen(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}
