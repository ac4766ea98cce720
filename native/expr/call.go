package expr

import (
	"bytes"
	"fmt"
	"math"
	"math/big"

	"drey/native/logical"
)

// call compiles an operator.
func (c *compiler) call(op string, t logical.Type, args []value) (value, error) {
	if op == "CASE" || op == "COALESCE" {
		return c.choose(op, t, args)
	}
	if op == "CAST" && len(args) == 1 {
		return c.cast(t, args[0])
	}
	if t.Kind != logical.Boolean {
		return c.arithmetic(op, t, args)
	}
	switch len(args) {
	case 1:
		return c.test(op, t, args[0])
	case 2:
		if compare, ok := comparisons[op]; ok {
			return c.compare(op, compare, t, args[0], args[1])
		}
	}
	if (op == "AND" || op == "OR") && len(args) >= 2 {
		return c.connect(op == "AND", t, args)
	}
	return value{}, notThere(op, t, args)
}

func notThere(op string, t logical.Type, args []value) error {
	text := ""
	for i, a := range args {
		if i > 0 {
			text += ", "
		}
		text += a.t.String()
	}
	return fmt.Errorf("%s(%s) to %s is not in the language", op, text, t)
}

// test is an operator on one argument with a BOOLEAN result.
func (c *compiler) test(op string, t logical.Type, a value) (value, error) {
	if op != "IS NULL" && op != "IS NOT NULL" && a.t.Kind != logical.Boolean {
		return value{}, notThere(op, t, []value{a})
	}
	var is func(null bool, v int64) bool
	switch op {
	case "NOT":
		src := c.of(a)
		v, dst := c.vector(t)
		c.step(func(n int) {
			for i := range n {
				dst.null[i], dst.ints[i] = src.null[i], src.ints[i]^1
			}
		})
		return v, nil
	case "IS NULL", "IS NOT NULL":
		src, want := c.of(a), op == "IS NULL"
		v, dst := c.vector(t)
		c.step(func(n int) {
			for i := range n {
				dst.null[i], dst.ints[i] = false, number(src.null[i] == want)
			}
		})
		return v, nil
	case "IS TRUE":
		is = func(null bool, v int64) bool { return !null && v != 0 }
	case "IS NOT TRUE":
		is = func(null bool, v int64) bool { return null || v == 0 }
	case "IS FALSE":
		is = func(null bool, v int64) bool { return !null && v == 0 }
	case "IS NOT FALSE":
		is = func(null bool, v int64) bool { return null || v != 0 }
	default:
		return value{}, notThere(op, t, []value{a})
	}
	src := c.of(a)
	v, dst := c.vector(t)
	c.step(func(n int) {
		for i := range n {
			dst.null[i], dst.ints[i] = false, number(is(src.null[i], src.ints[i]))
		}
	})
	return v, nil
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// connect is AND or OR: the result is decided by one argument that is false, or true, and else unknown if one is.
func (c *compiler) connect(and bool, t logical.Type, args []value) (value, error) {
	for _, a := range args {
		if a.t.Kind != logical.Boolean {
			return value{}, notThere(map[bool]string{true: "AND", false: "OR"}[and], t, args)
		}
	}
	decides := number(!and)
	v, dst := c.vector(t)
	for k, a := range args {
		src := c.of(a)
		if k == 0 {
			c.step(func(n int) {
				copy(dst.null[:n], src.null)
				copy(dst.ints[:n], src.ints)
			})
			continue
		}
		c.step(func(n int) {
			for i := range n {
				switch {
				case !dst.null[i] && dst.ints[i] == decides:
				case !src.null[i] && src.ints[i] == decides:
					dst.null[i], dst.ints[i] = false, decides
				default:
					dst.null[i] = dst.null[i] || src.null[i]
				}
			}
		})
	}
	return v, nil
}

// comparison says for which of less, equal, greater the result is true. NaN is none of them.
type comparison struct {
	less, equal, greater, unordered bool
	distinct                        int // of two nulls, and of one: 0 unknown; 1 true for one null, false for two; -1 the opposite
}

var comparisons = map[string]comparison{
	"=":                    {equal: true},
	"<>":                   {less: true, greater: true, unordered: true},
	"<":                    {less: true},
	"<=":                   {less: true, equal: true},
	">":                    {greater: true},
	">=":                   {greater: true, equal: true},
	"IS DISTINCT FROM":     {less: true, greater: true, unordered: true, distinct: 1},
	"IS NOT DISTINCT FROM": {equal: true, distinct: -1},
}

func (m comparison) of(order int) bool {
	switch {
	case order < 0:
		return m.less
	case order > 0:
		return m.greater
	}
	return m.equal
}

func isInt(t logical.Type) bool {
	return t.Kind == logical.TinyInt || t.Kind == logical.SmallInt || t.Kind == logical.Integer || t.Kind == logical.BigInt
}

func isNumeric(t logical.Type) bool { return isInt(t) || formOf(t) == floats }

func isInterval(t logical.Type) bool {
	return t.Kind == logical.IntervalYearMonth || t.Kind == logical.IntervalDayTime
}

// compare is a comparison.
func (c *compiler) compare(op string, m comparison, t logical.Type, a, b value) (value, error) {
	whole := isInt(a.t) && isInt(b.t) || formOf(a.t) == ints && a.t.Kind == b.t.Kind && a.t.Kind != logical.Decimal ||
		formOf(a.t) == times && a.t.Kind == b.t.Kind && a.millis && b.millis
	if whole && m.distinct == 0 {
		return c.compareWhole(m, t, a, b), nil
	}
	wrong := notThere(op, t, []value{a, b})
	var at func(i int) bool
	switch {
	case isInt(a.t) && isInt(b.t):
		at = c.compareInts(m, a, b)
	case isNumeric(a.t) && isNumeric(b.t):
		at = c.compareFloats(m, a, b)
	case a.t.Kind == logical.Decimal && (b.t.Kind == logical.Decimal || isInt(b.t)), b.t.Kind == logical.Decimal && isInt(a.t):
		at = c.compareDecimals(m, a, b)
	case formOf(a.t) == times && a.t.Kind == b.t.Kind:
		x, y := c.of(a), c.of(b)
		at = func(i int) bool {
			switch {
			case x.ints[i] != y.ints[i]:
				return m.of(order(x.ints[i], y.ints[i]))
			default:
				return m.of(order(x.nanos[i], y.nanos[i]))
			}
		}
	case formOf(a.t) == ints && a.t.Kind == b.t.Kind && a.t.Kind != logical.Decimal:
		at = c.compareInts(m, a, b)
	case formOf(a.t) == texts && formOf(b.t) == texts && isText(a.t) == isText(b.t):
		x, y := c.of(a), c.of(b)
		at = func(i int) bool { return m.of(bytes.Compare(x.texts[i], y.texts[i])) }
	default:
		return value{}, wrong
	}
	x, y := c.of(a), c.of(b)
	v, dst := c.vector(t)
	c.step(func(n int) {
		for i := range n {
			switch {
			case !x.null[i] && !y.null[i]:
				dst.null[i], dst.ints[i] = false, number(at(i))
			case m.distinct == 0:
				dst.null[i], dst.ints[i] = true, 0
			default:
				dst.null[i], dst.ints[i] = false, number((x.null[i] == y.null[i]) == (m.distinct < 0))
			}
		}
	})
	return v, nil
}

// compareWhole compares whole numbers, without a branch or a call per pair: most conditions are of these.
func (c *compiler) compareWhole(m comparison, t logical.Type, a, b value) value {
	x, y := c.of(a), c.of(b)
	answers := [3]int64{number(m.less), number(m.equal), number(m.greater)}
	v, dst := c.vector(t)
	c.step(func(n int) {
		p, q, r := x.ints[:n], y.ints[:n], dst.ints[:n]
		for i := range r {
			r[i] = answers[1+number(p[i] > q[i])-number(p[i] < q[i])]
		}
		s, t, u := x.null[:n], y.null[:n], dst.null[:n]
		for i := range u {
			u[i] = s[i] || t[i]
		}
	})
	return v
}

func isText(t logical.Type) bool { return t.Kind == logical.Char || t.Kind == logical.Varchar }

func order[T int32 | int64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (c *compiler) compareInts(m comparison, a, b value) func(i int) bool {
	x, y := c.of(a), c.of(b)
	return func(i int) bool { return m.of(order(x.ints[i], y.ints[i])) }
}

// compareFloats compares as Java does after promotion: in 32 bits unless a DOUBLE is there.
func (c *compiler) compareFloats(m comparison, a, b value) func(i int) bool {
	short := a.t.Kind != logical.Double && b.t.Kind != logical.Double
	x, y := c.asFloats(a, short), c.asFloats(b, short)
	return func(i int) bool {
		switch p, q := x(i), y(i); {
		case p < q:
			return m.less
		case p > q:
			return m.greater
		case p == q:
			return m.equal
		}
		return m.unordered
	}
}

// asFloats reads numbers as FLOAT, if short, or as DOUBLE.
func (c *compiler) asFloats(a value, short bool) func(i int) float64 {
	x := c.of(a)
	switch {
	case formOf(a.t) == floats:
		return func(i int) float64 { return x.floats[i] }
	case short:
		return func(i int) float64 { return float64(float32(x.ints[i])) }
	}
	return func(i int) float64 { return float64(x.ints[i]) }
}

func (c *compiler) compareDecimals(m comparison, a, b value) func(i int) bool {
	scale := func(t logical.Type) int {
		if t.Kind == logical.Decimal {
			return t.Scale
		}
		return 0
	}
	if scale(a.t) == scale(b.t) && formOf(a.t) == ints && formOf(b.t) == ints {
		return c.compareInts(m, a, b)
	}
	most := max(scale(a.t), scale(b.t))
	x, y := c.asBigs(a, most-scale(a.t)), c.asBigs(b, most-scale(b.t))
	return func(i int) bool { return m.of(x(i).Cmp(y(i))) }
}

// asBigs reads whole numbers or decimals, times 10 to the power of shift.
func (c *compiler) asBigs(a value, shift int) func(i int) *big.Int {
	x, by := c.of(a), powerOfTen(shift)
	var z big.Int
	if formOf(a.t) == bigs {
		return func(i int) *big.Int { return z.Mul(&x.bigs[i], by) }
	}
	return func(i int) *big.Int { return z.Mul(z.SetInt64(x.ints[i]), by) }
}

// choose is CASE or COALESCE.
func (c *compiler) choose(op string, t logical.Type, args []value) (value, error) {
	wrong := notThere(op, t, args)
	var conditions, results []value
	if op == "CASE" {
		if len(args) < 3 || len(args)%2 == 0 {
			return value{}, wrong
		}
		for i := 0; i+1 < len(args); i += 2 {
			if args[i].t.Kind != logical.Boolean {
				return value{}, wrong
			}
			conditions, results = append(conditions, args[i]), append(results, args[i+1])
		}
		results = append(results, args[len(args)-1])
	} else {
		results = args
	}
	if len(results) == 0 {
		return value{}, wrong
	}
	for _, r := range results {
		if !alike(r.t, t) {
			return value{}, wrong
		}
	}
	f := formOf(t)
	var when, then []*vector
	for _, v := range conditions {
		when = append(when, c.of(v))
	}
	for _, v := range results {
		then = append(then, c.of(v))
	}
	v, dst := c.vector(t)
	pick := func(i int) *vector {
		for k, w := range when {
			if !w.null[i] && w.ints[i] != 0 {
				return then[k]
			}
		}
		return then[len(then)-1]
	}
	if op == "COALESCE" {
		pick = func(i int) *vector {
			for _, r := range then {
				if !r.null[i] {
					return r
				}
			}
			return then[len(then)-1]
		}
	}
	c.step(func(n int) {
		for i := range n {
			copyValue(dst, pick(i), f, i)
		}
	})
	return v, nil
}

// narrow cuts a number to the width of a type, as Java's casts do.
func narrow(v int64, k logical.Kind) int64 {
	switch k {
	case logical.TinyInt:
		return int64(int8(v))
	case logical.SmallInt:
		return int64(int16(v))
	case logical.Integer, logical.Date, logical.Time, logical.IntervalYearMonth:
		return int64(int32(v))
	}
	return v
}

// toInt is Java's cast of a floating-point number: towards zero, saturating, NaN to 0; to less than an int by way of one.
func toInt(f float64, k logical.Kind) int64 {
	least, most := float64(math.MinInt32), float64(math.MaxInt32)
	if k == logical.BigInt {
		least, most = math.MinInt64, math.MaxInt64
	}
	switch {
	case f != f:
		return 0
	case f <= least && k == logical.BigInt:
		return math.MinInt64
	case f >= most && k == logical.BigInt:
		return math.MaxInt64
	case f <= least:
		return narrow(math.MinInt32, k)
	case f >= most:
		return narrow(math.MaxInt32, k)
	}
	return narrow(int64(f), k)
}
