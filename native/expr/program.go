package expr

import (
	"fmt"

	"drey/native/binrow"
	"drey/native/logical"
)

// Program is a compiled predicate. It is not for concurrent use.
type Program struct {
	steps   []func(n int)
	vectors []*vector
	forms   []form
	result  int
	columns []int

	layouts     [2]*binrow.Layout
	left        int // columns of the left row
	left2right  [2][][]byte
	known       map[string]int // vectors of columns
	maxPrepared int
	constants   []func(n int)
}

// value is a typed vector of a program.
type value struct {
	at      int
	t       logical.Type
	literal *Expr // nil if it is none
	millis  bool  // a timestamp that has no nanoseconds for certain; one of TIMESTAMP(3) may have some, thanks to a CAST
}

// Compile makes a program of a predicate over the columns of a left row, of which there are left, and those of a right row
// behind them. The error says what is not in the language.
func Compile(e *Expr, types []logical.Type, left int) (*Program, error) {
	p := &Program{left: left, known: map[string]int{}}
	var err error
	if p.layouts[0], err = binrow.NewLayout(types[:left]); err != nil {
		return nil, err
	}
	if p.layouts[1], err = binrow.NewLayout(types[left:]); err != nil {
		return nil, err
	}
	c := compiler{p: p, types: types}
	v, err := c.compile(e, 0)
	if err != nil {
		return nil, err
	}
	if v.t.Kind != logical.Boolean {
		return nil, fmt.Errorf("the predicate is %s", v.t)
	}
	p.result, p.known = v.at, nil
	return p, nil
}

// Columns is the columns that the program reads, in both rows: they must be readable (binrow.Layout.CheckField).
func (p *Program) Columns() []int { return p.columns }

// Evaluate tells for which pairs the predicate is true, neither false nor unknown.
func (p *Program) Evaluate(left, right [][]byte, matches []bool) {
	n := len(matches)
	p.left2right = [2][][]byte{left, right}
	for i, v := range p.vectors {
		v.resize(p.forms[i], n)
	}
	if n > p.maxPrepared {
		p.maxPrepared = n
		for _, fill := range p.constants {
			fill(n)
		}
	}
	for _, step := range p.steps {
		step(n)
	}
	result := p.vectors[p.result]
	for i := range matches {
		matches[i] = result.ints[i] != 0 && !result.null[i]
	}
	p.left2right = [2][][]byte{}
}

// compiler turns expressions into steps.
type compiler struct {
	p     *Program
	types []logical.Type
}

// mostDepth bounds the nesting of expressions.
const mostDepth = 200

func (c *compiler) compile(e *Expr, depth int) (value, error) {
	if depth > mostDepth {
		return value{}, fmt.Errorf("an expression nested %d deep", depth)
	}
	t, err := logical.Parse(e.Type)
	if err != nil {
		return value{}, fmt.Errorf("%s: type %q: %w", e.Op, e.Type, err)
	}
	t.NotNull = false
	if formOf(t) == none {
		return value{}, fmt.Errorf("%s: type %s is not in the language", e.Op, t)
	}
	switch e.Op {
	case "REF":
		return c.column(e, t)
	case "LITERAL":
		return c.literal(e, t)
	}
	if e.Index != nil || e.Value != nil {
		return value{}, fmt.Errorf("%s: has an index or a value", e.Op)
	}
	args := make([]value, len(e.Args))
	for i := range e.Args {
		if args[i], err = c.compile(&e.Args[i], depth+1); err != nil {
			return value{}, err
		}
	}
	v, err := c.call(e.Op, t, args)
	if err != nil {
		return value{}, err
	}
	return v, nil
}

// vector adds one to the program.
func (c *compiler) vector(t logical.Type) (value, *vector) {
	v := new(vector)
	c.p.vectors, c.p.forms = append(c.p.vectors, v), append(c.p.forms, formOf(t))
	return value{at: len(c.p.vectors) - 1, t: t}, v
}

func (c *compiler) of(v value) *vector { return c.p.vectors[v.at] }

func (c *compiler) step(f func(n int)) { c.p.steps = append(c.p.steps, f) }

// alike tells whether two types have the same values in the same form.
func alike(a, b logical.Type) bool {
	if a.Kind != b.Kind {
		return false
	}
	if a.Kind == logical.Decimal {
		return a.Precision == b.Precision && a.Scale == b.Scale
	}
	return true
}

func (c *compiler) column(e *Expr, t logical.Type) (value, error) {
	switch {
	case e.Index == nil || e.Value != nil || e.Args != nil:
		return value{}, fmt.Errorf("REF: needs an index, nothing else")
	case *e.Index < 0 || *e.Index >= len(c.types):
		return value{}, fmt.Errorf("REF: column %d out of range [0,%d)", *e.Index, len(c.types))
	case !alike(t, c.types[*e.Index]):
		return value{}, fmt.Errorf("REF: column %d is %s, not %s", *e.Index, c.types[*e.Index], t)
	}
	column := *e.Index
	name := fmt.Sprint(column)
	if at, ok := c.p.known[name]; ok {
		return value{at: at, t: t, millis: c.types[column].Precision <= 3}, nil
	}
	v, dst := c.vector(c.types[column])
	v.t, v.millis = t, c.types[column].Precision <= 3
	c.p.known[name] = v.at
	c.p.columns = append(c.p.columns, column)
	side, field := 0, column
	if column >= c.p.left {
		side, field = 1, column-c.p.left
	}
	c.step(c.p.load(dst, side, field, c.types[column]))
	return v, nil
}

// load reads a column of all rows of a side.
func (p *Program) load(dst *vector, side, field int, t logical.Type) func(n int) {
	l := p.layouts[side]
	each := func(read func(row []byte, i int)) func(n int) {
		return func(n int) {
			for i, row := range p.left2right[side][:n] {
				null := l.IsNull(row, field)
				dst.null[i] = null
				if !null {
					read(row, i)
				}
			}
		}
	}
	// Integers are read without a look at null: what is there then means nothing, but is there.
	direct := func(read func(row []byte) int64) func(n int) {
		return func(n int) {
			for i, row := range p.left2right[side][:n] {
				dst.null[i] = l.IsNull(row, field)
				dst.ints[i] = read(row)
			}
		}
	}
	switch formOf(t) {
	case floats:
		if t.Kind == logical.Float {
			return each(func(row []byte, i int) { dst.floats[i] = float64(l.Float32(row, field)) })
		}
		return each(func(row []byte, i int) { dst.floats[i] = l.Float64(row, field) })
	case texts:
		return each(func(row []byte, i int) { dst.texts[i] = l.Bytes(row, field) })
	case bigs:
		return each(func(row []byte, i int) { setSigned(&dst.bigs[i], l.Bytes(row, field)) })
	case times:
		if t.Precision > 3 {
			return each(func(row []byte, i int) { dst.ints[i], dst.nanos[i] = l.Timestamp(row, field) })
		}
		return func(n int) {
			for i, row := range p.left2right[side][:n] {
				dst.null[i] = l.IsNull(row, field)
				dst.ints[i], dst.nanos[i] = l.Int64(row, field), 0
			}
		}
	}
	switch t.Kind {
	case logical.Boolean, logical.TinyInt:
		return direct(func(row []byte) int64 { return int64(l.Int8(row, field)) })
	case logical.SmallInt:
		return direct(func(row []byte) int64 { return int64(l.Int16(row, field)) })
	case logical.BigInt, logical.IntervalDayTime, logical.Decimal:
		return direct(func(row []byte) int64 { return l.Int64(row, field) })
	}
	return direct(func(row []byte) int64 { return int64(l.Int32(row, field)) })
}
