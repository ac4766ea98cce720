package main

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"drey/native/binrow"
	"drey/native/logical"
)

// columnType is the Arrow column of a Flink type: the mapping is the one of org.apache.flink.table.runtime.arrow.ArrowUtils,
// so that what PyFlink and other hosts already hold fits.
type columnType struct {
	format   string // of the C data interface; a timestamp's time zone, which follows it, is not looked at
	arrow    arrow.DataType
	variable bool
	// toRow writes the value at row, which is not null, to field i; fromRow is the inverse.
	toRow   func(column arrow.Array, row int, w *binrow.Writer, i int) error
	fromRow func(l *binrow.Layout, row []byte, i int, column array.Builder) error
}

func (t *columnType) accepts(format string) bool {
	return format == t.format || (strings.HasSuffix(t.format, ":") && strings.HasPrefix(format, t.format))
}

func (t *columnType) buffers() int64 {
	if t.variable {
		return 3
	}
	return 2
}

var errRange = errors.New("the value does not fit the column's type")

func columnTypeOf(t logical.Type) (columnType, error) {
	switch t.Kind {
	case logical.Boolean:
		return columnType{format: "b", arrow: arrow.FixedWidthTypes.Boolean,
			toRow: func(c arrow.Array, row int, w *binrow.Writer, i int) error {
				var v int64
				if c.(*array.Boolean).Value(row) {
					v = 1
				}
				w.SetInt(i, v)
				return nil
			},
			fromRow: func(l *binrow.Layout, row []byte, i int, b array.Builder) error {
				b.(*array.BooleanBuilder).Append(l.Int8(row, i) != 0)
				return nil
			}}, nil
	case logical.TinyInt:
		return number("c", arrow.PrimitiveTypes.Int8, (*array.Int8).Value, (*array.Int8Builder).Append), nil
	case logical.SmallInt:
		return number("s", arrow.PrimitiveTypes.Int16, (*array.Int16).Value, (*array.Int16Builder).Append), nil
	case logical.Integer, logical.IntervalYearMonth:
		if t.Kind == logical.IntervalYearMonth {
			return number("tiM", arrow.FixedWidthTypes.MonthInterval, (*array.MonthInterval).Value,
				(*array.MonthIntervalBuilder).Append), nil
		}
		return number("i", arrow.PrimitiveTypes.Int32, (*array.Int32).Value, (*array.Int32Builder).Append), nil
	case logical.BigInt:
		return number("l", arrow.PrimitiveTypes.Int64, (*array.Int64).Value, (*array.Int64Builder).Append), nil
	case logical.IntervalDayTime:
		return number("tDm", arrow.FixedWidthTypes.Duration_ms, (*array.Duration).Value, (*array.DurationBuilder).Append), nil
	case logical.Date:
		return number("tdD", arrow.FixedWidthTypes.Date32, (*array.Date32).Value, (*array.Date32Builder).Append), nil
	case logical.Float:
		return columnType{format: "f", arrow: arrow.PrimitiveTypes.Float32,
			toRow: func(c arrow.Array, row int, w *binrow.Writer, i int) error {
				w.SetFloat32(i, c.(*array.Float32).Value(row))
				return nil
			},
			fromRow: func(l *binrow.Layout, row []byte, i int, b array.Builder) error {
				b.(*array.Float32Builder).Append(l.Float32(row, i))
				return nil
			}}, nil
	case logical.Double:
		return columnType{format: "g", arrow: arrow.PrimitiveTypes.Float64,
			toRow: func(c arrow.Array, row int, w *binrow.Writer, i int) error {
				w.SetFloat64(i, c.(*array.Float64).Value(row))
				return nil
			},
			fromRow: func(l *binrow.Layout, row []byte, i int, b array.Builder) error {
				b.(*array.Float64Builder).Append(l.Float64(row, i))
				return nil
			}}, nil
	case logical.Char, logical.Varchar:
		return columnType{format: "u", arrow: arrow.BinaryTypes.String, variable: true,
			toRow: func(c arrow.Array, row int, w *binrow.Writer, i int) error {
				w.SetBytes(i, []byte(c.(*array.String).Value(row)))
				return nil
			},
			fromRow: func(l *binrow.Layout, row []byte, i int, b array.Builder) error {
				b.(*array.StringBuilder).BinaryBuilder.Append(l.Bytes(row, i))
				return nil
			}}, nil
	case logical.Binary, logical.Varbinary:
		return columnType{format: "z", arrow: arrow.BinaryTypes.Binary, variable: true,
			toRow: func(c arrow.Array, row int, w *binrow.Writer, i int) error {
				w.SetBytes(i, c.(*array.Binary).Value(row))
				return nil
			},
			fromRow: func(l *binrow.Layout, row []byte, i int, b array.Builder) error {
				b.(*array.BinaryBuilder).Append(l.Bytes(row, i))
				return nil
			}}, nil
	case logical.Decimal:
		return decimalColumn(t), nil
	case logical.Time:
		return timeColumn(t), nil
	case logical.Timestamp, logical.TimestampLTZ:
		return timestampColumn(t), nil
	}
	return columnType{}, fmt.Errorf("type %s has no columnar form yet", t)
}

// number is a type whose slot in the row holds the column's value as it is.
func number[A arrow.Array, B array.Builder, V ~int8 | ~int16 | ~int32 | ~int64](format string, t arrow.DataType,
	value func(A, int) V, add func(B, V)) columnType {
	return columnType{format: format, arrow: t,
		toRow: func(c arrow.Array, row int, w *binrow.Writer, i int) error {
			w.SetInt(i, int64(value(c.(A), row)))
			return nil
		},
		fromRow: func(l *binrow.Layout, row []byte, i int, b array.Builder) error {
			add(b.(B), V(l.Int64(row, i)))
			return nil
		}}
}

// decimalColumn: Flink keeps up to 18 digits as a long, more as the big-endian bytes of a BigInteger.
func decimalColumn(t logical.Type) columnType {
	column := columnType{format: fmt.Sprintf("d:%d,%d", t.Precision, t.Scale),
		arrow: &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}}
	if t.Precision <= 18 {
		column.toRow = func(c arrow.Array, row int, w *binrow.Writer, i int) error {
			v := c.(*array.Decimal128).Value(row)
			low := int64(v.LowBits())
			if v.HighBits() != low>>63 {
				return errRange
			}
			w.SetInt(i, low)
			return nil
		}
		column.fromRow = func(l *binrow.Layout, row []byte, i int, b array.Builder) error {
			b.(*array.Decimal128Builder).Append(decimal128.FromI64(l.Int64(row, i)))
			return nil
		}
		return column
	}
	column.toRow = func(c arrow.Array, row int, w *binrow.Writer, i int) error {
		v := c.(*array.Decimal128).Value(row)
		w.SetBytes(i, unscaledBytes(v))
		return nil
	}
	column.fromRow = func(l *binrow.Layout, row []byte, i int, b array.Builder) error {
		bytes := l.Bytes(row, i)
		if len(bytes) == 0 {
			return errRange
		}
		var high, low uint64
		if bytes[0] >= 0x80 {
			high, low = math.MaxUint64, math.MaxUint64
		}
		for _, digit := range bytes {
			high, low = high<<8|low>>56, low<<8|uint64(digit)
		}
		b.(*array.Decimal128Builder).Append(decimal128.New(int64(high), low))
		return nil
	}
	return column
}

// unscaledBytes is java.math.BigInteger.toByteArray: two's complement, big-endian, as short as the sign allows.
func unscaledBytes(v decimal128.Num) []byte {
	var all [16]byte
	for i := range 8 {
		all[i] = byte(uint64(v.HighBits()) >> (56 - 8*i))
		all[8+i] = byte(v.LowBits() >> (56 - 8*i))
	}
	sign := byte(v.HighBits() >> 63)
	start := 0
	for start < 15 && all[start] == sign && all[start+1]>>7 == sign&1 {
		start++
	}
	return all[start:]
}

// unit is a time unit for the precision of a type: seconds, milliseconds, microseconds, nanoseconds.
func unit(precision int) (letter string, u arrow.TimeUnit, perSecond int64) {
	switch {
	case precision == 0:
		return "s", arrow.Second, 1
	case precision <= 3:
		return "m", arrow.Millisecond, 1e3
	case precision <= 6:
		return "u", arrow.Microsecond, 1e6
	}
	return "n", arrow.Nanosecond, 1e9
}

// timeColumn: Flink keeps milliseconds of the day whatever the precision says.
func timeColumn(t logical.Type) columnType {
	letter, u, perSecond := unit(t.Precision)
	column := columnType{format: "tt" + letter}
	if perSecond <= 1e3 {
		column.arrow = &arrow.Time32Type{Unit: u}
		column.toRow = func(c arrow.Array, row int, w *binrow.Writer, i int) error {
			w.SetInt(i, int64(c.(*array.Time32).Value(row))*1e3/perSecond)
			return nil
		}
		column.fromRow = func(l *binrow.Layout, row []byte, i int, b array.Builder) error {
			b.(*array.Time32Builder).Append(arrow.Time32(int64(l.Int32(row, i)) * perSecond / 1e3))
			return nil
		}
		return column
	}
	column.arrow = &arrow.Time64Type{Unit: u}
	column.toRow = func(c arrow.Array, row int, w *binrow.Writer, i int) error {
		v := int64(c.(*array.Time64).Value(row)) / (perSecond / 1e3)
		if v != int64(int32(v)) {
			return errRange
		}
		w.SetInt(i, v)
		return nil
	}
	column.fromRow = func(l *binrow.Layout, row []byte, i int, b array.Builder) error {
		b.(*array.Time64Builder).Append(arrow.Time64(int64(l.Int32(row, i)) * (perSecond / 1e3)))
		return nil
	}
	return column
}

// timestampColumn: Flink keeps milliseconds and, over a precision of 3, nanoseconds of the millisecond beside them.
func timestampColumn(t logical.Type) columnType {
	letter, u, perSecond := unit(t.Precision)
	column := columnType{format: "ts" + letter + ":", arrow: &arrow.TimestampType{Unit: u}}
	long := t.Precision > 3
	column.toRow = func(c arrow.Array, row int, w *binrow.Writer, i int) error {
		v := int64(c.(*array.Timestamp).Value(row))
		if !long {
			high, millis := bits.Mul64(uint64(abs(v)), uint64(1e3/perSecond))
			if high != 0 || millis > math.MaxInt64 {
				return errRange
			}
			if v < 0 {
				w.SetInt(i, -int64(millis))
			} else {
				w.SetInt(i, int64(millis))
			}
			return nil
		}
		perMilli := perSecond / 1e3
		millis, rest := v/perMilli, v%perMilli
		if rest < 0 {
			millis, rest = millis-1, rest+perMilli
		}
		w.SetTimestamp(i, millis, int32(rest*(1e6/perMilli)))
		return nil
	}
	column.fromRow = func(l *binrow.Layout, row []byte, i int, b array.Builder) error {
		if !long {
			millis := l.Int64(row, i)
			v := millis / (1e3 / perSecond)
			if millis < 0 && v*(1e3/perSecond) != millis {
				v--
			}
			b.(*array.TimestampBuilder).Append(arrow.Timestamp(v))
			return nil
		}
		millis, nanos := l.Timestamp(row, i)
		perMilli := perSecond / 1e3
		rest := int64(nanos) / (1e6 / perMilli)
		if millis < 0 && rest > 0 { // the same, with one sign: near the end of the range the parts alone would not fit
			millis, rest = millis+1, rest-perMilli
		}
		high, magnitude := bits.Mul64(uint64(abs(millis)), uint64(perMilli))
		magnitude += uint64(abs(rest))
		if high != 0 || magnitude > math.MaxInt64 {
			return errRange
		}
		v := int64(magnitude)
		if millis < 0 || rest < 0 {
			v = -v
		}
		b.(*array.TimestampBuilder).Append(arrow.Timestamp(v))
		return nil
	}
	return column
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}
