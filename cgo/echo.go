package main

import (
	"io"

	"drey/native/changelog"
	"drey/native/op"
)

// echo is the operator that gives back every row it gets. No planner asks for it: it is there to test hosts, and to
// measure what the boundary alone costs.
type echo struct{ rows int64 }

const echoSpec = `{"operator":"echo","version":1}`

func (e *echo) Push(_ int, in *changelog.Batch, out *changelog.Builder) error {
	for i, kind := range in.Kinds {
		out.Append(kind, in.Row(i), i)
	}
	e.rows += int64(in.Len())
	return nil
}

func (e *echo) Watermark(int64, *changelog.Builder) error      { return nil }
func (e *echo) ProcessingTime(int64, *changelog.Builder) error { return nil }
func (e *echo) Flush(*changelog.Builder) error                 { return nil }
func (e *echo) Snapshot(op.KeyGroups) (op.Snapshot, error)     { return echoSnapshot{}, nil }
func (e *echo) Close()                                         {}

func (e *echo) Restore(_ int, r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

func (e *echo) Stats(dst []op.Stat) []op.Stat {
	return append(dst, op.Stat{Name: "rows", Value: e.rows})
}

type echoSnapshot struct{}

func (echoSnapshot) Write(int, io.Writer) error { return nil }
func (echoSnapshot) Close()                     {}
