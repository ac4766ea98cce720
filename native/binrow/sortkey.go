package binrow

import (
	"fmt"

	"drey/native/logical"
	"drey/rowstate"
)

// SortField is a column to order by, and how.
type SortField struct {
	Column int
	Order  rowstate.SortOrder
}

// SortKeys writes the sort keys of rows: bytes whose order is the order of the rows (see rowstate's sort keys).
type SortKeys struct {
	layout *Layout
	fields []SortField
	types  []logical.Type
}

// NewSortKeys makes the writer of sort keys for rows of a layout. It fails on types that have no order.
func NewSortKeys(layout *Layout, types []logical.Type, fields []SortField) (*SortKeys, error) {
	s := &SortKeys{layout: layout, fields: fields}
	for _, f := range fields {
		t := types[f.Column]
		switch t.Kind {
		case logical.Array, logical.Multiset, logical.Map, logical.RowKind, logical.Structured, logical.Raw, logical.Variant,
			logical.Bitmap:
			return nil, fmt.Errorf("column %d: ordering by %s", f.Column, t)
		}
		s.types = append(s.types, t)
	}
	return s, nil
}

// Check makes sure that a row's sort fields can be read.
func (s *SortKeys) Check(row []byte) error {
	for _, f := range s.fields {
		if err := s.layout.CheckField(row, f.Column); err != nil {
			return err
		}
	}
	return nil
}

// Fixed tells that the first field has a fixed width.
func (s *SortKeys) Fixed() bool {
	return len(s.fields) > 0 && s.layout.classes[s.fields[0].Column] != inlined
}

// Append appends the sort key of a row.
func (s *SortKeys) Append(dst, row []byte) []byte {
	l := s.layout
	for i, f := range s.fields {
		c, o := f.Column, f.Order
		null := l.IsNull(row, c)
		switch class := l.classes[c]; {
		case null && class == inlined:
			dst = o.AppendNullBytes(dst)
		case null:
			dst = o.AppendNull(dst, keyWidth[class])
		case s.types[i].Kind == logical.Float:
			dst = o.AppendFloat32(dst, l.Float32(row, c))
		case s.types[i].Kind == logical.Double:
			dst = o.AppendFloat64(dst, l.Float64(row, c))
		case s.types[i].Kind == logical.Boolean:
			dst = o.AppendBool(dst, l.Int8(row, c) != 0)
		case class == byte1:
			dst = o.AppendInt8(dst, l.Int8(row, c))
		case class == byte2:
			dst = o.AppendInt16(dst, l.Int16(row, c))
		case class == byte4:
			dst = o.AppendInt32(dst, l.Int32(row, c))
		case class == byte8:
			dst = o.AppendInt64(dst, l.Int64(row, c))
		case class == time12:
			millis, nanos := l.Timestamp(row, c)
			dst = o.AppendTimestamp(dst, millis, nanos)
		case class == decimal16:
			dst = o.AppendDecimal(dst, l.Bytes(row, c))
		default:
			dst = o.AppendBytes(dst, l.Bytes(row, c))
		}
	}
	return dst
}

// keyWidth is how many bytes a value takes in a sort key, by storage class.
var keyWidth = [...]int{byte1: 1, byte2: 2, byte4: 4, byte8: 8, time12: 12, decimal16: 16}
