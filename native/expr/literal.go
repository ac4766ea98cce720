package expr

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"drey/native/logical"
)

func (c *compiler) literal(e *Expr, t logical.Type) (value, error) {
	if e.Index != nil || e.Args != nil {
		return value{}, fmt.Errorf("LITERAL: needs a value, nothing else")
	}
	v, dst := c.vector(t)
	v.literal = e
	var one vector
	one.resize(formOf(t), 1)
	if one.null[0] = e.Value == nil; !one.null[0] {
		if err := one.parse(*e.Value, t); err != nil {
			return value{}, fmt.Errorf("LITERAL: %s %q: %w", t, *e.Value, err)
		}
	}
	f := formOf(t)
	v.millis = f == times && one.nanos[0] == 0
	c.p.constants = append(c.p.constants, func(n int) {
		for i := range n {
			switch dst.null[i] = one.null[0]; f {
			case ints:
				dst.ints[i] = one.ints[0]
			case floats:
				dst.floats[i] = one.floats[0]
			case times:
				dst.ints[i], dst.nanos[i] = one.ints[0], one.nanos[0]
			case texts:
				dst.texts[i] = one.texts[0]
			case bigs:
				dst.bigs[i].Set(&one.bigs[0])
			}
		}
	})
	return v, nil
}

// parse reads the text of a literal.
func (v *vector) parse(text string, t logical.Type) (err error) {
	switch t.Kind {
	case logical.Boolean:
		if text != "true" && text != "false" {
			return fmt.Errorf("neither true nor false")
		}
		if v.ints[0] = 0; text == "true" {
			v.ints[0] = 1
		}
	case logical.TinyInt:
		v.ints[0], err = strconv.ParseInt(text, 10, 8)
	case logical.SmallInt:
		v.ints[0], err = strconv.ParseInt(text, 10, 16)
	case logical.Integer, logical.Date, logical.Time, logical.IntervalYearMonth:
		v.ints[0], err = strconv.ParseInt(text, 10, 32)
	case logical.BigInt, logical.IntervalDayTime:
		v.ints[0], err = strconv.ParseInt(text, 10, 64)
	case logical.Float:
		v.floats[0], err = strconv.ParseFloat(text, 32)
	case logical.Double:
		v.floats[0], err = strconv.ParseFloat(text, 64)
	case logical.Char, logical.Varchar:
		v.texts[0] = []byte(text)
	case logical.Binary, logical.Varbinary:
		v.texts[0], err = hex.DecodeString(text)
	case logical.Timestamp, logical.TimestampLTZ:
		millis, nanos, _ := strings.Cut(text, " ")
		var n int64
		if v.ints[0], err = strconv.ParseInt(millis, 10, 64); err == nil {
			if n, err = strconv.ParseInt(nanos, 10, 32); err == nil && (n < 0 || n > 999_999) {
				err = fmt.Errorf("%d nanoseconds of a millisecond", n)
			}
			v.nanos[0] = int32(n)
		}
	case logical.Decimal:
		return v.parseDecimal(text, t)
	}
	if formOf(t) == floats && err == nil && (math.IsNaN(v.floats[0]) || math.IsInf(v.floats[0], 0)) {
		err = fmt.Errorf("not a finite number")
	}
	return err
}

func (v *vector) parseDecimal(text string, t logical.Type) error {
	whole, fraction, _ := strings.Cut(text, ".")
	unscaled, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok || len(fraction) != t.Scale || strings.ContainsAny(fraction, "+-_") || strings.Contains(whole, "_") {
		return fmt.Errorf("not a number with %d digits behind the point", t.Scale)
	}
	if new(big.Int).Abs(unscaled).Cmp(powerOfTen(t.Precision)) >= 0 {
		return fmt.Errorf("more than %d digits", t.Precision)
	}
	if formOf(t) == bigs {
		v.bigs[0].Set(unscaled)
	} else {
		v.ints[0] = unscaled.Int64()
	}
	return nil
}

// setSigned sets z to a big-endian two's complement number.
func setSigned(z *big.Int, b []byte) {
	z.SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		var range2 big.Int
		z.Sub(z, range2.Lsh(big.NewInt(1), uint(8*len(b))))
	}
}
