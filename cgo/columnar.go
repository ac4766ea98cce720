package main

// #include "abi.h"
import "C"

import (
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/cdata"
	"github.com/apache/arrow-go/v18/arrow/memory/mallocator"

	"drey/native/binrow"
	"drey/native/changelog"
)

// columns is the memory of exported columns: C's, since the host keeps it for as long as it likes.
var columns = mallocator.NewMallocator()

// columnarForm translates batches of the columnar form to and from rows. Operators know rows only.
type columnarForm struct {
	schema *arrow.Schema // kind, then the fields
	fields []columnarField
	layout *binrow.Layout
	writer *binrow.Writer

	// One batch's rows, the memory reused.
	offsets []int32
	data    []byte
}

// columnarField is one field: what its Arrow column looks like, and how its values cross.
type columnarField struct {
	name    string
	notNull bool
	column  columnType
}

// newColumnarForm checks the columns' formats against their Flink types.
func newColumnarForm(s *arrowSchema, schema *batchSchema, name string) (*columnarForm, error) {
	form := &columnarForm{}
	fields := []arrow.Field{{Name: "kind", Type: arrow.PrimitiveTypes.Int8}}
	for i, f := range schema.row.Fields {
		column, err := columnTypeOf(f.Type)
		if err != nil {
			return nil, failf(C.DREY_UNSUPPORTED, "%s: column %d (%s): %v", name, i+1, f.Name, err)
		}
		if format := text(s.child(i + 1).format); !column.accepts(format) {
			return nil, failf(C.DREY_INVALID, "%s: column %d (%s) has format %q, %s is %q", name, i+1, f.Name, format, f.Type,
				column.format)
		}
		form.fields = append(form.fields, columnarField{f.Name, f.Type.NotNull, column})
		fields = append(fields, arrow.Field{Name: f.Name, Type: column.arrow, Nullable: !f.Type.NotNull})
	}
	layout, err := binrow.NewLayout(schema.row.Types())
	if err != nil {
		return nil, failf(C.DREY_UNSUPPORTED, "%s: %v", name, err)
	}
	form.schema = arrow.NewSchema(fields, nil)
	form.layout, form.writer = layout, binrow.NewWriter(layout)
	return form, nil
}

// read turns the array into rows of batch, in memory of the form's own; only the kinds stay where the host has them. The
// array is moved into what is returned, which the caller releases after the last use of the batch.
func (f *columnarForm) read(a *arrowArray, batch *changelog.Batch) (arrow.RecordBatch, error) {
	n, offset, err := readStruct(a, int64(1+len(f.fields)))
	if err != nil {
		return nil, err
	}
	if batch.Kinds, err = readKinds(a.child(0), n, offset); err != nil {
		return nil, err
	}
	for i := range f.fields {
		if err := f.fields[i].check(a.child(i+1), n, offset); err != nil {
			return nil, err
		}
	}
	record, err := cdata.ImportCRecordBatchWithSchema((*cdata.CArrowArray)(unsafe.Pointer(a)), f.schema)
	if err != nil {
		return nil, failf(C.DREY_CORRUPT, "batch: %v", err)
	}
	f.offsets, f.data = append(f.offsets[:0], 0), f.data[:0]
	for row := range int(n) {
		f.writer.Reset()
		for i := range f.fields {
			column := record.Column(i + 1)
			if column.IsNull(row) {
				f.writer.SetPlainNull(i)
			} else if err := f.fields[i].column.toRow(column, row, f.writer, i); err != nil {
				record.Release()
				return nil, failf(C.DREY_CORRUPT, "batch: field %s: row %d: %v", f.fields[i].name, row, err)
			}
		}
		f.data = append(f.data, f.writer.Row()...)
		if len(f.data) > math.MaxInt32 {
			record.Release()
			return nil, failf(C.DREY_CORRUPT, "batch: row %d: the rows take more than 2 GiB", row)
		}
		f.offsets = append(f.offsets, int32(len(f.data)))
	}
	batch.Offsets, batch.Data = f.offsets, f.data
	return record, nil
}

// check makes sure that a column can be read without leaving its buffers.
func (f *columnarField) check(a *arrowArray, n, offset int64) error {
	name := "batch: field " + f.name
	if err := checkShape(a, name, n, offset, f.column.buffers()); err != nil {
		return err
	}
	if f.notNull {
		if err := checkNoNulls(a, name, n, a.offset+offset); err != nil {
			return err
		}
	}
	if n == 0 {
		return nil
	}
	if a.nullCount > 0 && a.buffer(0) == nil {
		return failf(C.DREY_CORRUPT, "%s: %d nulls but no bitmap", name, a.nullCount)
	}
	if !f.column.variable {
		if a.buffer(1) == nil {
			return failf(C.DREY_CORRUPT, "%s: no data buffer", name)
		}
		return nil
	}
	offsets, err := readOffsets(a, name, n, offset, 0)
	if err != nil {
		return err
	}
	if last := offsets[n]; last > 0 && a.buffer(2) == nil {
		return failf(C.DREY_CORRUPT, "%s: no data buffer for %d bytes", name, last)
	}
	return nil
}

// write exports a chunk as columns, copied into memory that lives until the host releases it.
func (f *columnarForm) write(chunk *changelog.Chunk, out *arrowArray) error {
	builder := array.NewRecordBuilder(columns, f.schema)
	defer builder.Release()
	builder.Reserve(chunk.Len())
	kinds := builder.Field(0).(*array.Int8Builder)
	for _, kind := range chunk.Kinds {
		kinds.UnsafeAppend(int8(kind))
	}
	for row := range chunk.Len() {
		// Operators pass rows on without looking into all of them; here every field is read.
		if err := f.layout.Check(chunk.Row(row)); err != nil {
			return failf(C.DREY_CORRUPT, "output: row %d: %v", row, err)
		}
	}
	for i := range f.fields {
		column := builder.Field(i + 1)
		for row := range chunk.Len() {
			bytes := chunk.Row(row)
			if f.layout.IsNull(bytes, i) {
				column.AppendNull()
			} else if err := f.fields[i].column.fromRow(f.layout, bytes, i, column); err != nil {
				return failf(C.DREY_CORRUPT, "output: field %s: row %d: %v", f.fields[i].name, row, err)
			}
		}
	}
	record := builder.NewRecordBatch()
	defer record.Release()
	cdata.ExportArrowRecordBatch(record, (*cdata.CArrowArray)(unsafe.Pointer(out)), nil)
	return nil
}
