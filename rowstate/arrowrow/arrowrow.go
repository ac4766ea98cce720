// Package arrowrow connects rowstate's key codec with Arrow arrays: arrays become columns without a copy, decoded columns
// become arrays. It is apart from rowstate so that who needs no arrays does not link Arrow.
package arrowrow

import (
	"fmt"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"drey/rowstate"
)

// KindOf is the kind of the columns of an Arrow type. A timestamp that keeps more than its 64 bits can hold comes as a struct
// of milliseconds (int64) and nanoseconds of the millisecond (int32).
func KindOf(t arrow.DataType) (rowstate.Kind, error) {
	switch t.ID() {
	case arrow.BOOL:
		return rowstate.KindBool, nil
	case arrow.INT8:
		return rowstate.KindInt8, nil
	case arrow.INT16:
		return rowstate.KindInt16, nil
	case arrow.INT32, arrow.DATE32, arrow.TIME32, arrow.INTERVAL_MONTHS:
		return rowstate.KindInt32, nil
	case arrow.INT64, arrow.TIMESTAMP, arrow.TIME64, arrow.DATE64, arrow.DURATION:
		return rowstate.KindInt64, nil
	case arrow.FLOAT32:
		return rowstate.KindFloat32, nil
	case arrow.FLOAT64:
		return rowstate.KindFloat64, nil
	case arrow.DECIMAL128:
		return rowstate.KindDecimal, nil
	case arrow.STRING, arrow.BINARY:
		return rowstate.KindBytes, nil
	case arrow.STRUCT:
		fields := t.(*arrow.StructType).Fields()
		if len(fields) == 2 && fields[0].Type.ID() == arrow.INT64 && fields[1].Type.ID() == arrow.INT32 {
			return rowstate.KindTimestamp, nil
		}
	}
	return 0, fmt.Errorf("arrow type %s has no sort key", t)
}

// Column is a view of the array, valid as long as that is.
func Column(a arrow.Array) (rowstate.Column, error) {
	kind, err := KindOf(a.DataType())
	if err != nil {
		return rowstate.Column{}, err
	}
	data := a.Data()
	buffers := data.Buffers()
	c := rowstate.Column{Kind: kind, First: data.Offset()}
	if a.NullN() > 0 {
		c.Validity = buffers[0].Bytes()
	}
	switch kind {
	case rowstate.KindBytes:
		c.Offsets = []int32{0}
		if buffers[1] != nil && buffers[1].Len() > 0 {
			c.Offsets = arrow.Int32Traits.CastFromBytes(buffers[1].Bytes())
		}
		c.Values = bytesOf(buffers[2])
	case rowstate.KindTimestamp:
		// Children have offsets of their own, and the struct's comes on top.
		millis, nanos := data.Children()[0], data.Children()[1]
		c.Values = bytesOf(millis.Buffers()[1])[8*millis.Offset():]
		c.Nanos = bytesOf(nanos.Buffers()[1])[4*nanos.Offset():]
	default:
		c.Values = bytesOf(buffers[1])
	}
	return c, nil
}

func bytesOf(b *memory.Buffer) []byte {
	if b == nil {
		return nil
	}
	return b.Bytes()
}

// Columns are views of all arrays.
func Columns(arrays []arrow.Array) ([]rowstate.Column, error) {
	columns := make([]rowstate.Column, len(arrays))
	for i, a := range arrays {
		var err error
		if columns[i], err = Column(a); err != nil {
			return nil, fmt.Errorf("column %d: %w", i, err)
		}
	}
	return columns, nil
}

// Array makes an array of a type out of a decoded column of rows values, whose memory it takes over. The caller releases it.
func Array(t arrow.DataType, c rowstate.Column, rows int) (arrow.Array, error) {
	kind, err := KindOf(t)
	if err != nil {
		return nil, err
	}
	if kind != c.Kind || c.First != 0 {
		return nil, fmt.Errorf("a column of kind %d does not make an array of %s", c.Kind, t)
	}
	buffers := []*memory.Buffer{memory.NewBufferBytes(c.Validity)}
	var children []arrow.ArrayData
	switch kind {
	case rowstate.KindBytes:
		buffers = append(buffers, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(c.Offsets)), memory.NewBufferBytes(c.Values))
	case rowstate.KindTimestamp:
		for _, child := range []struct {
			t arrow.DataType
			b []byte
		}{{arrow.PrimitiveTypes.Int64, c.Values}, {arrow.PrimitiveTypes.Int32, c.Nanos}} {
			d := array.NewData(child.t, rows, []*memory.Buffer{nil, memory.NewBufferBytes(child.b)}, nil, 0, 0)
			defer d.Release()
			children = append(children, d)
		}
	default:
		buffers = append(buffers, memory.NewBufferBytes(c.Values))
	}
	data := array.NewData(t, rows, buffers, children, nullsIn(c.Validity, rows), 0)
	defer data.Release()
	return array.MakeFromData(data), nil
}

// nullsIn counts the nulls of a validity bitmap of rows bits.
func nullsIn(validity []byte, rows int) int {
	set := 0
	for i := range rows / 8 {
		set += bits.OnesCount8(validity[i])
	}
	if rest := rows % 8; rest > 0 {
		set += bits.OnesCount8(validity[rows/8] & (1<<rest - 1))
	}
	return rows - set
}
