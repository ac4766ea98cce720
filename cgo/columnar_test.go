package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/cdata"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory/mallocator"

	"drey/native/logical"
	"drey/native/op"
)

// columnarTypes are all types that have a columnar form, and every shape of them that is stored differently.
var columnarTypes = []string{
	"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "CHAR(3)", "VARCHAR(2147483647)", "BINARY(3)",
	"VARBINARY(2147483647)", "DECIMAL(18, 4)", "DECIMAL(38, 10)", "DATE", "TIME(0)", "TIMESTAMP(0)", "TIMESTAMP(3)",
	"TIMESTAMP(6)", "TIMESTAMP(9)", "TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(9) WITH LOCAL TIME ZONE",
	"INTERVAL YEAR(4) TO MONTH", "INTERVAL DAY(3) TO SECOND(3)", "BIGINT NOT NULL",
}

// columnarSchema is the schema of a batch of such columns.
func columnarSchema(t testing.TB, types []string) *arrow.Schema {
	fields := []arrow.Field{{Name: "kind", Type: arrow.PrimitiveTypes.Int8}}
	for i, text := range types {
		parsed, err := logical.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		column, err := columnTypeOf(parsed)
		if err != nil {
			t.Fatal(err)
		}
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("f%d", i), Type: column.arrow, Nullable: !parsed.NotNull,
			Metadata: arrow.NewMetadata([]string{metadataType}, []string{text})})
	}
	return arrow.NewSchema(fields, nil)
}

func openColumnar(t testing.TB, schema *arrow.Schema) *instance {
	var exported cdata.CArrowSchema
	cdata.ExportArrowSchema(schema, &exported)
	defer cdata.ReleaseCArrowSchema(&exported)
	read, err := readSchema((*arrowSchema)(unsafe.Pointer(&exported)), "input 0")
	if err != nil {
		t.Fatal(err)
	}
	in, err := open(openArguments{spec: []byte(echoSpec), inputs: []*batchSchema{read}, output: read,
		groups: op.KeyGroups{First: 0, Last: 127, Max: 128}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.close()
		if n := cMemory.Load() + columns.AllocatedBytes(); n != 0 {
			t.Errorf("%d bytes not freed", n)
		}
	})
	return in
}

// hostMemory is where a host has what it exports: cgo forbids pointers to Go's memory in a structure that C reads.
var hostMemory = mallocator.NewMallocator()

// randomRecord fills columns with values of every size and sign, nulls among them.
func randomRecord(schema *arrow.Schema, n int, rng *rand.Rand) arrow.RecordBatch {
	b := array.NewRecordBuilder(hostMemory, schema)
	defer b.Release()
	integer := func() int64 {
		switch v := int64(rng.Uint64()); rng.IntN(4) {
		case 0:
			return v
		case 1:
			return v >> 40
		case 2:
			return [...]int64{0, 1, -1, math.MaxInt64, math.MinInt64 + 1}[rng.IntN(5)]
		default:
			return v >> 20
		}
	}
	bytes := func() []byte {
		p := make([]byte, [...]int{0, 1, 6, 7, 8, 9, 100}[rng.IntN(7)])
		for i := range p {
			p[i] = byte('a' + rng.IntN(26))
		}
		return p
	}
	for i := range schema.NumFields() {
		for range n {
			if schema.Field(i).Nullable && rng.IntN(4) == 0 {
				b.Field(i).AppendNull()
				continue
			}
			switch b := b.Field(i).(type) {
			case *array.Int8Builder:
				if i == 0 {
					b.Append(int8(rng.IntN(4)))
				} else {
					b.Append(int8(integer()))
				}
			case *array.BooleanBuilder:
				b.Append(rng.IntN(2) == 0)
			case *array.Int16Builder:
				b.Append(int16(integer()))
			case *array.Int32Builder:
				b.Append(int32(integer()))
			case *array.Int64Builder:
				b.Append(integer())
			case *array.Float32Builder:
				b.Append([...]float32{0, float32(math.Copysign(0, -1)), 1.5, math.MaxFloat32, float32(math.Inf(-1))}[rng.IntN(5)])
			case *array.Float64Builder:
				b.Append([...]float64{0, math.Copysign(0, -1), 1.5, math.MaxFloat64, math.Inf(1)}[rng.IntN(5)])
			case *array.StringBuilder:
				b.Append(string(bytes()))
			case *array.BinaryBuilder:
				b.Append(bytes())
			case *array.Decimal128Builder:
				if b.Type().(*arrow.Decimal128Type).Precision <= 18 {
					b.Append(decimal128.FromI64(integer() % 1e18))
				} else {
					b.Append(decimal128.New(integer()>>5, rng.Uint64()>>rng.IntN(64)))
				}
			case *array.Date32Builder:
				b.Append(arrow.Date32(integer()))
			case *array.Time32Builder:
				b.Append(arrow.Time32(rng.IntN(86400)))
			case *array.TimestampBuilder:
				v := integer()
				if b.Type().(*arrow.TimestampType).Unit == arrow.Second {
					v /= 1000 // Flink's milliseconds would not hold more
				}
				b.Append(arrow.Timestamp(v))
			case *array.MonthIntervalBuilder:
				b.Append(arrow.MonthInterval(integer()))
			case *array.DurationBuilder:
				b.Append(arrow.Duration(integer()))
			default:
				panic(fmt.Sprintf("%T", b))
			}
		}
	}
	return b.NewRecordBatch()
}

// pushColumns exports the record and pushes it, as a host would; the echo's answer is imported again.
func pushColumns(t testing.TB, in *instance, record arrow.RecordBatch) ([]arrow.RecordBatch, error) {
	var exported cdata.CArrowArray
	cdata.ExportArrowRecordBatch(record, &exported, nil)
	err := in.push(0, (*arrowArray)(unsafe.Pointer(&exported)), 0)
	cdata.ReleaseCArrowArray(&exported)
	if err != nil {
		return nil, err
	}
	var answer []arrow.RecordBatch
	for {
		var out cdata.CArrowArray
		n, err := in.poll((*arrowArray)(unsafe.Pointer(&out)))
		if err != nil || n == 0 {
			return answer, err
		}
		chunk, err := cdata.ImportCRecordBatchWithSchema(&out, record.Schema())
		if err != nil {
			t.Fatal(err)
		}
		answer = append(answer, chunk)
	}
}

// What goes in as columns comes out as columns, through rows: every type, nulls, any offset.
func TestColumnsSurviveRows(t *testing.T) {
	for _, types := range append([][]string{columnarTypes}, nil, columnarTypes[:1]) {
		t.Run(fmt.Sprintf("fields=%d", len(types)), func(t *testing.T) { testColumnsSurviveRows(t, types) })
	}
}

func testColumnsSurviveRows(t *testing.T, types []string) {
	schema := columnarSchema(t, types)
	in := openColumnar(t, schema)
	rng := rand.New(rand.NewPCG(1, uint64(len(types))))
	for _, n := range []int{0, 1, 7, 64, 1000, 9000} {
		whole := randomRecord(schema, n, rng)
		for _, from := range []int{0, n / 3, n} {
			record := whole.NewSlice(int64(from), int64(n))
			answer, err := pushColumns(t, in, record)
			if err != nil {
				t.Fatal(err)
			}
			seen := int64(0)
			for _, chunk := range answer {
				expected := record.NewSlice(seen, seen+chunk.NumRows())
				if !array.RecordEqual(expected, chunk) {
					t.Fatalf("%d fields, rows %d to %d:\n%v\ncame back as\n%v", len(types), seen, seen+chunk.NumRows(), expected, chunk)
				}
				seen += chunk.NumRows()
				expected.Release()
				chunk.Release()
			}
			if seen != record.NumRows() {
				t.Fatalf("%d of %d rows came back", seen, record.NumRows())
			}
			record.Release()
		}
		whole.Release()
	}
}

// A chunk outlives everything else of the handle: its memory is the host's until released.
func TestColumnsOutliveTheHandle(t *testing.T) {
	schema := columnarSchema(t, columnarTypes)
	in := openColumnar(t, schema)
	record := randomRecord(schema, 100, rand.New(rand.NewPCG(2, 2)))
	answer, err := pushColumns(t, in, record)
	if err != nil {
		t.Fatal(err)
	}
	if columns.AllocatedBytes() == 0 {
		t.Error("exported columns are not accounted for")
	}
	in.close()
	if len(answer) != 1 || !array.RecordEqual(record, answer[0]) {
		t.Error("the answer has changed")
	}
	answer[0].Release()
	if n := columns.AllocatedBytes(); n != 0 {
		t.Errorf("%d bytes left", n)
	}
}

func TestColumnsOutOfRangeAreRefused(t *testing.T) {
	for _, c := range []struct {
		typ   string
		value func(array.Builder)
		part  string
	}{
		{"TIMESTAMP(0)", func(b array.Builder) { b.(*array.TimestampBuilder).Append(math.MaxInt64 / 100) }, "does not fit"},
		{"DECIMAL(18, 4)", func(b array.Builder) { b.(*array.Decimal128Builder).Append(decimal128.New(1, 0)) }, "does not fit"},
		{"BIGINT NOT NULL", func(b array.Builder) { b.AppendNull() }, "is null"},
	} {
		schema := columnarSchema(t, []string{"INT", c.typ})
		in := openColumnar(t, schema)
		b := array.NewRecordBuilder(hostMemory, schema)
		for range 2 {
			b.Field(0).(*array.Int8Builder).Append(0)
			b.Field(1).AppendNull()
		}
		b.Field(2).AppendEmptyValue()
		c.value(b.Field(2))
		record := b.NewRecordBatch()
		_, err := pushColumns(t, in, record)
		if err == nil || statusOf(err) != 3 || !strings.Contains(err.Error(), "field f1: row 1") || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %v", c.typ, err)
		}
	}
}

func TestColumnarSchemasAreChecked(t *testing.T) {
	open := func(field arrow.Field) error {
		schema := arrow.NewSchema([]arrow.Field{{Name: "kind", Type: arrow.PrimitiveTypes.Int8}, field}, nil)
		var exported cdata.CArrowSchema
		cdata.ExportArrowSchema(schema, &exported)
		defer cdata.ReleaseCArrowSchema(&exported)
		_, err := readSchema((*arrowSchema)(unsafe.Pointer(&exported)), "input 0")
		return err
	}
	flink := func(text string) arrow.Metadata { return arrow.NewMetadata([]string{metadataType}, []string{text}) }
	for _, c := range []struct {
		field  arrow.Field
		status int32
		part   string
	}{
		{arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32}, 1, "column 1 (a) has no metadata flink.type"},
		{arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32, Metadata: flink("NO TYPE")}, 1, "column 1 (a): metadata flink.type"},
		{arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32, Metadata: flink("BIGINT")}, 1, `has format "i", BIGINT is "l"`},
		{arrow.Field{Name: "a", Type: &arrow.Decimal128Type{Precision: 10, Scale: 2}, Metadata: flink("DECIMAL(10, 3)")}, 1, `"d:10,3"`},
		{arrow.Field{Name: "a", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Metadata: flink("ARRAY<INT>")}, 2, "ARRAY<INT> has no columnar form"},
		{arrow.Field{Name: "a", Type: &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"},
			Metadata: flink("TIMESTAMP(3) WITH LOCAL TIME ZONE")}, 0, ""},
	} {
		err := open(c.field)
		if c.status == 0 {
			if err != nil {
				t.Errorf("%v: %v", c.field, err)
			}
		} else if err == nil || int32(statusOf(err)) != c.status || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%v: %v", c.field, err)
		}
	}
}
