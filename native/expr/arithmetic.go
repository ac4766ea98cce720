package expr

import (
	"math/big"

	"drey/native/logical"
)

const millisPerDay = 86_400_000

var digits = map[logical.Kind]int{logical.TinyInt: 3, logical.SmallInt: 5, logical.Integer: 10, logical.BigInt: 19}

// arithmetic is an operator whose result is no BOOLEAN.
func (c *compiler) arithmetic(op string, t logical.Type, args []value) (value, error) {
	switch {
	case len(args) == 1 && op == "-":
		return c.negate(t, args[0])
	case len(args) != 2 || op != "+" && op != "-" && op != "*" && op != "/" && op != "%":
		return value{}, notThere(op, t, args)
	}
	a, b := args[0], args[1]
	switch {
	case isInt(t) && isInt(a.t) && isInt(b.t):
		return c.intArithmetic(op, t, a, b)
	case formOf(t) == floats && isNumeric(a.t) && isNumeric(b.t):
		return c.floatArithmetic(op, t, a, b)
	case t.Kind == logical.Decimal && a.t.Kind == logical.Decimal && b.t.Kind == logical.Decimal:
		return c.decimalArithmetic(op, t, a, b)
	case isInterval(t) && a.t.Kind == t.Kind && b.t.Kind == t.Kind && (op == "+" || op == "-"):
		return c.wrapping(op, t, a, b), nil
	case formOf(t) == times && alikeTimes(t, a.t) && b.t.Kind == logical.IntervalDayTime && (op == "+" || op == "-"):
		v := c.wrapping(op, t, a, b)
		v.millis = a.millis
		src, dst := c.of(a), c.of(v)
		c.step(func(n int) { copy(dst.nanos[:n], src.nanos) })
		return v, nil
	case t.Kind == logical.IntervalDayTime && formOf(a.t) == times && a.t.Kind == b.t.Kind && op == "-":
		return c.wrapping(op, t, a, b), nil
	case t.Kind == logical.Date && a.t.Kind == logical.Date && b.t.Kind == logical.IntervalDayTime && b.literal != nil &&
		(op == "+" || op == "-"):
		return c.dateArithmetic(op, t, a, b)
	}
	return value{}, notThere(op, t, args)
}

func alikeTimes(a, b logical.Type) bool { return a.Kind == b.Kind && a.Precision == b.Precision }

func (c *compiler) negate(t logical.Type, a value) (value, error) {
	if !isNumeric(t) && !isInterval(t) || t.Kind != a.t.Kind {
		return value{}, notThere("-", t, []value{a})
	}
	src := c.of(a)
	v, dst := c.vector(t)
	if formOf(t) == floats {
		c.step(func(n int) {
			for i := range n {
				dst.null[i], dst.floats[i] = src.null[i], -src.floats[i]
			}
		})
		return v, nil
	}
	c.step(func(n int) {
		for i := range n {
			dst.null[i], dst.ints[i] = src.null[i], narrow(-src.ints[i], t.Kind)
		}
	})
	return v, nil
}

// wrapping is +, - or * of numbers in form ints, in the result's width.
func (c *compiler) wrapping(op string, t logical.Type, a, b value) value {
	x, y := c.of(a), c.of(b)
	v, dst := c.vector(t)
	c.step(func(n int) {
		for i := range n {
			dst.null[i] = x.null[i] || y.null[i]
			p, q := x.ints[i], y.ints[i]
			switch op {
			case "+":
				p += q
			case "-":
				p -= q
			default:
				p *= q
			}
			dst.ints[i] = narrow(p, t.Kind)
		}
	})
	return v
}

func (c *compiler) intArithmetic(op string, t logical.Type, a, b value) (value, error) {
	wrong := notThere(op, t, []value{a, b})
	if op != "/" && op != "%" {
		if digits[a.t.Kind] > digits[t.Kind] || digits[b.t.Kind] > digits[t.Kind] {
			return value{}, wrong
		}
		return c.wrapping(op, t, a, b), nil
	}
	if a.t.Kind != t.Kind || b.t.Kind != t.Kind || b.literal == nil || b.literal.Value == nil {
		return value{}, wrong
	}
	var one vector
	one.resize(ints, 1)
	if err := one.parse(*b.literal.Value, b.t); err != nil || one.ints[0] == 0 {
		return value{}, wrong
	}
	src, divisor := c.of(a), one.ints[0]
	v, dst := c.vector(t)
	c.step(func(n int) {
		for i := range n {
			dst.null[i] = src.null[i]
			if op == "/" {
				dst.ints[i] = narrow(src.ints[i]/divisor, t.Kind)
			} else {
				dst.ints[i] = src.ints[i] % divisor
			}
		}
	})
	return v, nil
}

func (c *compiler) floatArithmetic(op string, t logical.Type, a, b value) (value, error) {
	wrong := notThere(op, t, []value{a, b})
	short := t.Kind == logical.Float
	switch {
	case op == "%", short && (a.t.Kind == logical.Double || b.t.Kind == logical.Double):
		return value{}, wrong
	case op == "/" && (a.t.Kind != t.Kind || b.t.Kind != t.Kind):
		return value{}, wrong
	}
	x, y := c.asFloats(a, short), c.asFloats(b, short)
	null1, null2 := c.of(a), c.of(b)
	v, dst := c.vector(t)
	c.step(func(n int) {
		for i := range n {
			if dst.null[i] = null1.null[i] || null2.null[i]; dst.null[i] {
				continue
			}
			r := 0.0
			switch p, q := x(i), y(i); op {
			case "+":
				r = p + q
			case "-":
				r = p - q
			case "*":
				r = p * q
			default:
				r = p / q
			}
			if short {
				// Rounding a sum, difference, product or quotient of two 32-bit numbers twice gives what rounding once does.
				r = float64(float32(r))
			}
			dst.floats[i] = r
		}
	})
	return v, nil
}

// decimalArithmetic is exact, or not there.
func (c *compiler) decimalArithmetic(op string, t logical.Type, a, b value) (value, error) {
	p1, s1, p2, s2 := a.t.Precision, a.t.Scale, b.t.Precision, b.t.Scale
	var exact bool
	shift1, shift2 := 0, 0
	switch op {
	case "+", "-":
		exact = t.Scale == max(s1, s2) && t.Precision-t.Scale > max(p1-s1, p2-s2)
		shift1, shift2 = max(0, t.Scale-s1), max(0, t.Scale-s2)
	case "*":
		exact = t.Scale == s1+s2 && t.Precision >= p1+p2
	}
	if !exact {
		return value{}, notThere(op, t, []value{a, b})
	}
	x, y := c.asBigs(a, shift1), c.asBigs(b, shift2)
	null1, null2 := c.of(a), c.of(b)
	v, dst := c.vector(t)
	c.step(func(n int) {
		for i := range n {
			if dst.null[i] = null1.null[i] || null2.null[i]; dst.null[i] {
				continue
			}
			var short big.Int
			z := &short
			if dst.bigs != nil {
				z = &dst.bigs[i]
			}
			switch op {
			case "+":
				z.Add(x(i), y(i))
			case "-":
				z.Sub(x(i), y(i))
			default:
				z.Mul(x(i), y(i))
			}
			if dst.bigs == nil {
				dst.ints[i] = z.Int64()
			}
		}
	})
	return v, nil
}

func (c *compiler) dateArithmetic(op string, t logical.Type, a, b value) (value, error) {
	var one vector
	one.resize(ints, 1)
	if b.literal.Value == nil {
		return value{}, notThere(op, t, []value{a, b})
	}
	if err := one.parse(*b.literal.Value, b.t); err != nil {
		return value{}, err
	}
	days := one.ints[0] / millisPerDay
	if days != int64(int32(days)) {
		return value{}, notThere(op, t, []value{a, b})
	}
	if op == "-" {
		days = -days
	}
	src := c.of(a)
	v, dst := c.vector(t)
	c.step(func(n int) {
		for i := range n {
			dst.null[i], dst.ints[i] = src.null[i], narrow(src.ints[i]+days, t.Kind)
		}
	})
	return v, nil
}

// cast is CAST.
func (c *compiler) cast(t logical.Type, a value) (value, error) {
	src := c.of(a)
	from := a.t
	var convert func(dst *vector, i int)
	switch {
	case isInt(t) && isInt(from):
		convert = func(dst *vector, i int) { dst.ints[i] = narrow(src.ints[i], t.Kind) }
	case isInt(t) && formOf(from) == floats:
		convert = func(dst *vector, i int) { dst.ints[i] = toInt(src.floats[i], t.Kind) }
	case formOf(t) == floats && isNumeric(from):
		read, short := c.asFloats(a, t.Kind == logical.Float), t.Kind == logical.Float
		convert = func(dst *vector, i int) {
			if dst.floats[i] = read(i); short {
				dst.floats[i] = float64(float32(dst.floats[i]))
			}
		}
	case t.Kind == logical.Decimal && isInt(from) && t.Precision-t.Scale >= digits[from.Kind],
		t.Kind == logical.Decimal && from.Kind == logical.Decimal && t.Scale >= from.Scale && t.Precision-t.Scale >= from.Precision-from.Scale:
		shift := t.Scale
		if from.Kind == logical.Decimal {
			shift -= from.Scale
		}
		read := c.asBigs(a, shift)
		convert = func(dst *vector, i int) {
			if dst.bigs != nil {
				dst.bigs[i].Set(read(i))
			} else {
				dst.ints[i] = read(i).Int64()
			}
		}
	case isInt(t) && from.Kind == logical.Decimal:
		convert = c.decimalToInt(a, t)
	case formOf(t) == floats && from.Kind == logical.Decimal && from.Precision <= 18:
		by, _ := new(big.Float).SetInt(powerOfTen(from.Scale)).Float64()
		convert = func(dst *vector, i int) {
			if dst.floats[i] = float64(src.ints[i]) / by; t.Kind == logical.Float {
				dst.floats[i] = float64(float32(dst.floats[i]))
			}
		}
	case formOf(t) == times && from.Kind == t.Kind && t.Precision >= from.Precision,
		t.Kind == logical.Varchar && t.Length == logical.MaxLength && isText(from),
		formOf(t) == formOf(from) && alike(t, from) && formOf(t) != times && formOf(t) != texts:
		return value{at: a.at, t: t, millis: a.millis}, nil
	case formOf(t) == times && from.Kind == t.Kind:
		convert = func(dst *vector, i int) { dst.ints[i], dst.nanos[i] = truncate(src.ints[i], src.nanos[i], t.Precision) }
	case t.Kind == logical.Date && from.Kind == logical.Timestamp:
		// Towards zero: before 1970 a day with a time of day becomes the day after, in Flink.
		convert = func(dst *vector, i int) { dst.ints[i] = narrow(src.ints[i]/millisPerDay, t.Kind) }
	case t.Kind == logical.Timestamp && from.Kind == logical.Time:
		convert = func(dst *vector, i int) { dst.ints[i], dst.nanos[i] = src.ints[i], 0 }
	case t.Kind == logical.Timestamp && from.Kind == logical.Date:
		convert = func(dst *vector, i int) { dst.ints[i], dst.nanos[i] = src.ints[i]*millisPerDay, 0 }
	default:
		return value{}, notThere("CAST", t, []value{a})
	}
	v, dst := c.vector(t)
	c.step(func(n int) {
		for i := range n {
			if dst.null[i] = src.null[i]; !dst.null[i] {
				convert(dst, i)
			}
		}
	})
	return v, nil
}

// decimalToInt cuts the fraction off and takes the low bits, as DecimalDataUtils.castToIntegral does.
func (c *compiler) decimalToInt(a value, t logical.Type) func(dst *vector, i int) {
	src, by := c.of(a), powerOfTen(a.t.Scale)
	if formOf(a.t) == ints {
		by := by.Int64()
		return func(dst *vector, i int) { dst.ints[i] = narrow(src.ints[i]/by, t.Kind) }
	}
	var z big.Int
	low := new(big.Int).SetUint64(1<<64 - 1)
	return func(dst *vector, i int) {
		z.Quo(&src.bigs[i], by)
		dst.ints[i] = narrow(int64(z.And(&z, low).Uint64()), t.Kind)
	}
}

// truncate is DateTimeUtils.truncate: a fraction of a second whose nanoseconds, as a number, have no more digits than the
// precision stays as it is, whatever it is worth.
func truncate(millis int64, nanos int32, precision int) (int64, int32) {
	fraction := (millis%1000+1000)%1000*1_000_000 + int64(nanos)
	if precision > 0 && fraction < tenTo(precision) {
		return millis, nanos
	}
	if precision <= 3 {
		unit := tenTo(3 - precision)
		return millis / unit * unit, 0
	}
	unit := int32(tenTo(9 - precision))
	return millis, nanos / unit * unit
}

func tenTo(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}
