package optest

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"drey/native/binrow"
	"drey/native/changelog"
	"drey/native/logical"
)

// Codec turns rows into their text form and back.
type Codec struct {
	types  []logical.Type
	layout *binrow.Layout
	writer *binrow.Writer
}

// NewCodec makes the codec of rows of a type.
func NewCodec(row logical.Row) (*Codec, error) {
	layout, err := binrow.NewLayout(row.Types())
	if err != nil {
		return nil, err
	}
	return &Codec{types: row.Types(), layout: layout, writer: binrow.NewWriter(layout)}, nil
}

var kinds = map[string]changelog.RowKind{
	"+I": changelog.Insert, "-U": changelog.UpdateBefore, "+U": changelog.UpdateAfter, "-D": changelog.Delete,
}

// Parse reads a row kind and a row. The row's header byte is 0; nulls are written as RowDataSerializer does.
func (c *Codec) Parse(text string) (changelog.RowKind, []byte, error) {
	kindText, rest, _ := strings.Cut(text, " ")
	kind, ok := kinds[kindText]
	if !ok {
		return 0, nil, fmt.Errorf("%q: no row kind at the start", text)
	}
	if raw, ok := strings.CutPrefix(rest, "row:"); ok {
		row, err := hex.DecodeString(raw)
		if err == nil {
			err = c.layout.Check(row)
		}
		if err != nil {
			return 0, nil, fmt.Errorf("%q: %w", text, err)
		}
		row[0] = 0
		return kind, row, nil
	}
	fields, err := split(rest)
	if err == nil && len(fields) != len(c.types) {
		err = fmt.Errorf("%d fields, the row type has %d", len(fields), len(c.types))
	}
	if err != nil {
		return 0, nil, fmt.Errorf("%q: %w", text, err)
	}
	c.writer.Reset()
	for i, field := range fields {
		if err := c.set(i, field); err != nil {
			return 0, nil, fmt.Errorf("%q: field %d, %s: %w", text, i, c.types[i], err)
		}
	}
	return kind, append([]byte(nil), c.writer.Row()...), nil
}

// split cuts a line into fields; a space within quotes is none.
func split(text string) ([]string, error) {
	var fields []string
	for text != "" {
		end := strings.IndexByte(text, ' ')
		if text[0] == '"' {
			for end = 1; ; end++ {
				if end >= len(text) {
					return nil, fmt.Errorf("a quote is not closed")
				}
				if text[end] == '\\' {
					end++
				} else if text[end] == '"' {
					end++
					break
				}
			}
		}
		if end < 0 {
			end = len(text)
		}
		fields = append(fields, text[:end])
		text = strings.TrimPrefix(text[end:], " ")
	}
	return fields, nil
}

func (c *Codec) set(i int, text string) error {
	if text == "NULL" {
		c.writer.SetPlainNull(i)
		return nil
	}
	switch t := c.types[i]; t.Kind {
	case logical.Boolean:
		v, err := strconv.ParseBool(text)
		if v {
			c.writer.SetInt(i, 1)
		} else {
			c.writer.SetInt(i, 0)
		}
		return err
	case logical.Float:
		v, err := strconv.ParseFloat(text, 32)
		c.writer.SetFloat32(i, float32(v))
		return err
	case logical.Double:
		v, err := strconv.ParseFloat(text, 64)
		c.writer.SetFloat64(i, v)
		if math.IsNaN(v) {
			c.writer.SetInt(i, 0x7ff8000000000000) // Java's
		}
		return err
	case logical.Decimal:
		return c.setDecimal(i, t, text)
	case logical.Timestamp, logical.TimestampLTZ:
		if t.Precision > 3 {
			millisText, nanosText, _ := strings.Cut(text, "+")
			millis, err := strconv.ParseInt(millisText, 10, 64)
			if err != nil {
				return err
			}
			nanos, err := strconv.ParseInt(nanosText, 10, 32)
			c.writer.SetTimestamp(i, millis, int32(nanos))
			return err
		}
	case logical.Char, logical.Varchar:
		var v string
		err := json.Unmarshal([]byte(text), &v)
		c.writer.SetBytes(i, []byte(v))
		return err
	case logical.Binary, logical.Varbinary, logical.Array, logical.Map, logical.Multiset, logical.RowKind, logical.Structured,
		logical.Raw, logical.Variant, logical.Bitmap:
		inner, ok := strings.CutPrefix(text, "x'")
		inner, closed := strings.CutSuffix(inner, "'")
		if !ok || !closed {
			return fmt.Errorf("want x'...'")
		}
		v, err := hex.DecodeString(inner)
		c.writer.SetBytes(i, v)
		return err
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err == nil {
		c.writer.SetInt(i, v)
	}
	return err
}

func (c *Codec) setDecimal(i int, t logical.Type, text string) error {
	whole, fraction, _ := strings.Cut(text, ".")
	if len(fraction) != t.Scale {
		return fmt.Errorf("%s has not %d digits behind the point", text, t.Scale)
	}
	v, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok {
		return fmt.Errorf("%s is no decimal", text)
	}
	if t.Precision > 18 {
		c.writer.SetBytes(i, twosComplement(v))
	} else {
		c.writer.SetInt(i, v.Int64())
	}
	return nil
}

// twosComplement is BigInteger.toByteArray: as few bytes as hold the number with its sign.
func twosComplement(v *big.Int) []byte {
	if v.Sign() >= 0 {
		return append(make([]byte, 1-min(1, (v.BitLen()+7)/8*8-v.BitLen())), v.Bytes()...)
	}
	n := new(big.Int).Not(v).BitLen()/8 + 1
	return new(big.Int).Add(v, new(big.Int).Lsh(big.NewInt(1), uint(8*n))).Bytes()
}

// Format writes a row kind and a row.
func (c *Codec) Format(kind changelog.RowKind, row []byte) string {
	if err := c.layout.Check(row); err != nil {
		return fmt.Sprintf("%s row:%x (%v)", kind, row, err)
	}
	var b strings.Builder
	b.WriteString(kind.String())
	for i := range c.types {
		b.WriteByte(' ')
		b.WriteString(c.format(row, i))
	}
	return b.String()
}

func (c *Codec) format(row []byte, i int) string {
	l := c.layout
	if l.IsNull(row, i) {
		return "NULL"
	}
	switch t := c.types[i]; t.Kind {
	case logical.Boolean:
		return strconv.FormatBool(l.Int8(row, i) != 0)
	case logical.Float:
		return number(float64(l.Float32(row, i)), 32)
	case logical.Double:
		return number(l.Float64(row, i), 64)
	case logical.Decimal:
		v := big.NewInt(l.Int64(row, i))
		if t.Precision > 18 {
			bytes := l.Bytes(row, i)
			v.SetBytes(bytes)
			if len(bytes) > 0 && bytes[0] >= 0x80 {
				v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(bytes))))
			}
		}
		return point(v, t.Scale)
	case logical.Timestamp, logical.TimestampLTZ:
		if t.Precision > 3 {
			millis, nanos := l.Timestamp(row, i)
			return fmt.Sprintf("%d+%d", millis, nanos)
		}
	case logical.Char, logical.Varchar:
		text, err := json.Marshal(string(l.Bytes(row, i)))
		if err != nil {
			panic(err) // strings always encode
		}
		return string(text)
	case logical.TinyInt:
		return strconv.Itoa(int(l.Int8(row, i)))
	case logical.SmallInt:
		return strconv.Itoa(int(l.Int16(row, i)))
	case logical.Integer, logical.Date, logical.Time, logical.IntervalYearMonth:
		return strconv.Itoa(int(l.Int32(row, i)))
	case logical.BigInt, logical.IntervalDayTime:
	default:
		return fmt.Sprintf("x'%x'", l.Bytes(row, i))
	}
	return strconv.FormatInt(l.Int64(row, i), 10)
}

func number(v float64, bits int) string {
	if math.IsInf(v, 0) {
		return strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, bits)+"inity", "+")
	}
	return strconv.FormatFloat(v, 'g', -1, bits)
}

// point puts the decimal point into an unscaled value.
func point(v *big.Int, scale int) string {
	if scale == 0 {
		return v.String()
	}
	digits, sign := new(big.Int).Abs(v).String(), ""
	if v.Sign() < 0 {
		sign = "-"
	}
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}
