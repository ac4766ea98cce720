package main

// #include "abi.h"
import "C"

import (
	"fmt"
	"unsafe"

	"drey/native/logical"
)

// batchSchema is what the schema of an input or the output says. It is read once, at open.
type batchSchema struct {
	row     logical.Row   // in joined form that of the left row
	right   logical.Row   // joined form only
	joined  bool          // joined form
	source  bool          // row form and joined form: has the source column
	columns *columnarForm // nil: row form
}

const (
	metadataForm   = "drey.form"
	metadataFields = "flink.fields"
	metadataType   = "flink.type"
)

func readSchema(s *arrowSchema, name string) (*batchSchema, error) {
	if s == nil || s.release == nil {
		return nil, failf(C.DREY_INVALID, "%s: schema is null or released", name)
	}
	if f := text(s.format); f != "+s" {
		return nil, failf(C.DREY_INVALID, "%s: schema has format %q, must be a struct (+s)", name, f)
	}
	if s.nChildren < 1 {
		return nil, failf(C.DREY_INVALID, "%s: schema has no columns, the first must be kind", name)
	}
	for i := range int(s.nChildren) {
		if c := s.child(i); c == nil || c.release == nil {
			return nil, failf(C.DREY_INVALID, "%s: column %d is null or released", name, i)
		}
	}
	kind := s.child(0)
	if text(kind.name) != "kind" || text(kind.format) != "c" {
		return nil, failf(C.DREY_INVALID, "%s: column 0 is %q of format %q, must be kind of int8 (c)", name, text(kind.name),
			text(kind.format))
	}
	if s.nChildren > 1 {
		metadata, ok := metadataOf(s.child(1).metadata)
		if !ok {
			return nil, failf(C.DREY_INVALID, "%s: column 1 has malformed metadata", name)
		}
		switch form := metadata[metadataForm]; form {
		case "":
		case "row":
			return readRowSchema(s, name, metadata)
		case "joined":
			return readJoinedSchema(s, name, metadata)
		default:
			return nil, failf(C.DREY_INVALID, "%s: column 1 has %s %q", name, metadataForm, form)
		}
	}
	return readColumnarSchema(s, name)
}

func readRowSchema(s *arrowSchema, name string, metadata map[string]string) (*batchSchema, error) {
	row := s.child(1)
	if text(row.name) != "row" || text(row.format) != "z" {
		return nil, failf(C.DREY_INVALID, "%s: column 1 is %q of format %q, must be row of binary (z)", name, text(row.name),
			text(row.format))
	}
	schema := &batchSchema{}
	switch s.nChildren {
	case 2:
	case 3:
		if source := s.child(2); text(source.name) != "source" || text(source.format) != "i" {
			return nil, failf(C.DREY_INVALID, "%s: column 2 is %q of format %q, must be source of int32 (i)", name,
				text(source.name), text(source.format))
		}
		schema.source = true
	default:
		return nil, failf(C.DREY_INVALID, "%s: %d columns, the row form has kind, row and, in output, source", name, s.nChildren)
	}
	var err error
	if schema.row, err = logical.ParseFields([]byte(metadata[metadataFields])); err != nil {
		return nil, failf(C.DREY_INVALID, "%s: metadata %v", name, err)
	}
	return schema, nil
}

func readJoinedSchema(s *arrowSchema, name string, left map[string]string) (*batchSchema, error) {
	columns := [][2]string{{"kind", "c"}, {"left", "vz"}, {"right", "vz"}, {"source", "i"}}
	if int(s.nChildren) != len(columns) {
		return nil, failf(C.DREY_INVALID, "%s: %d columns, the joined form has kind, left, right and source", name, s.nChildren)
	}
	for i, want := range columns {
		if c := s.child(i); text(c.name) != want[0] || text(c.format) != want[1] {
			return nil, failf(C.DREY_INVALID, "%s: column %d is %q of format %q, must be %s of %s", name, i, text(c.name),
				text(c.format), want[0], want[1])
		}
	}
	right, ok := metadataOf(s.child(2).metadata)
	if !ok {
		return nil, failf(C.DREY_INVALID, "%s: column 2 has malformed metadata", name)
	}
	schema := &batchSchema{joined: true, source: true}
	var err error
	if schema.row, err = logical.ParseFields([]byte(left[metadataFields])); err != nil {
		return nil, failf(C.DREY_INVALID, "%s: left: metadata %v", name, err)
	}
	if schema.right, err = logical.ParseFields([]byte(right[metadataFields])); err != nil {
		return nil, failf(C.DREY_INVALID, "%s: right: metadata %v", name, err)
	}
	return schema, nil
}

func readColumnarSchema(s *arrowSchema, name string) (*batchSchema, error) {
	schema := &batchSchema{}
	for i := 1; i < int(s.nChildren); i++ {
		c := s.child(i)
		metadata, ok := metadataOf(c.metadata)
		if !ok || metadata[metadataType] == "" {
			return nil, failf(C.DREY_INVALID, "%s: column %d (%s) has no metadata %s", name, i, text(c.name), metadataType)
		}
		logicalType, err := logical.Parse(metadata[metadataType])
		if err != nil {
			return nil, failf(C.DREY_INVALID, "%s: column %d (%s): metadata %s: %v", name, i, text(c.name), metadataType, err)
		}
		schema.row.Fields = append(schema.row.Fields, logical.Field{Name: text(c.name), Type: logicalType})
	}
	var err error
	schema.columns, err = newColumnarForm(s, schema, name)
	return schema, err
}

func readSchemas(inputs unsafe.Pointer, n int, output *arrowSchema) ([]*batchSchema, *batchSchema, error) {
	if n < 1 || n > 2 || inputs == nil {
		return nil, nil, failf(C.DREY_INVALID, "open: %d input schemas, must be 1 or 2", n)
	}
	var in []*batchSchema
	for i := range n {
		schema, err := readSchema(*(**arrowSchema)(unsafe.Add(inputs, uintptr(i)*unsafe.Sizeof(inputs))), fmt.Sprintf("input %d", i))
		if err != nil {
			return nil, nil, err
		}
		if schema.joined {
			return nil, nil, failf(C.DREY_INVALID, "input %d: the joined form is for output only", i)
		}
		in = append(in, schema)
	}
	out, err := readSchema(output, "output")
	if err != nil {
		return nil, nil, err
	}
	if out.columns == nil && !out.source {
		return nil, nil, failf(C.DREY_INVALID, "output: the row form of output has a third column, source")
	}
	return in, out, nil
}

// fixedPart is the size of the fixed part of a BinaryRowData: null bits behind an 8-bit header, in whole words, and a word
// per field (BinaryRowData.calculateFixPartSizeInBytes).
func (s *batchSchema) fixedPart() int32 {
	n := s.row.Len()
	return int32((n+63+8)/64*8 + 8*n)
}
