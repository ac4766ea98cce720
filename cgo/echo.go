package main

import (
	"encoding/json"
	"errors"
	"io"

	"drey/native/changelog"
	"drey/native/op"
	"drey/rowstate"
)

// echo is the operator that gives back every row it gets. No planner asks for it: it is there to test hosts, and to
// measure what the boundary alone costs.
type echo struct {
	echoOptions
	rows int64

	// Where it has stopped, if it gives back so many copies that it had to.
	in     *changelog.Batch
	row    int
	copies int // still to be emitted of the row
	left   changelog.Payload
	right  changelog.Payload

	condition op.Condition
	lefts     rowstate.Rows
	rights    rowstate.Rows
	matches   []bool
}

// echoOptions say what an echo does more. The zero value is the plain echo.
type echoOptions struct {
	// Copies is how often each row comes back, and 1 if it is 0.
	Copies int
	// Joined: each row comes back joined to itself.
	Joined bool
	// Condition "host": only those rows come back that match the row before them in the batch, as the host says; the first
	// counts as its own predecessor.
	Condition string
}

// newEcho reads a specification, nil if it is not an echo's. Unlike those of package spec it is not strict.
func newEcho(text []byte, host op.Host) *echo {
	var s struct {
		Operator string
		echoOptions
	}
	if json.Unmarshal(text, &s) != nil || s.Operator != "echo" {
		return nil
	}
	s.Copies = max(s.Copies, 1)
	e := &echo{echoOptions: s.echoOptions}
	if s.Condition == "host" {
		e.condition = host.Condition
	}
	return e
}

func (e *echo) Push(_ int, in *changelog.Batch, out *changelog.Builder) error {
	e.rows += int64(in.Len())
	if e.echoOptions == (echoOptions{Copies: 1}) {
		for i, kind := range in.Kinds {
			out.Append(kind, in.Row(i), i)
		}
		return nil
	}
	if e.condition != nil {
		e.lefts.Reset(0)
		e.rights.Reset(0)
		for i := range in.Len() {
			e.lefts.Append(in.Row(max(i-1, 0)))
			e.rights.Append(in.Row(i))
		}
		e.matches = append(e.matches[:0], make([]bool, in.Len())...)
		if err := e.condition.Evaluate(&e.lefts, &e.rights, e.matches); err != nil {
			return err
		}
	}
	e.in, e.row, e.copies = in, -1, 0
	return e.Resume(out)
}

func (e *echo) Unfinished() bool { return e.in != nil }

func (e *echo) Resume(out *changelog.Builder) error {
	if e.in == nil {
		return errors.New("echo: asked to go on with nothing")
	}
	for {
		for ; e.copies > 0; e.copies-- {
			if out.Full() {
				return nil
			}
			if e.Joined {
				out.AppendJoined(e.in.Kinds[e.row], &e.left, &e.right, e.row)
			} else {
				out.Append(e.in.Kinds[e.row], e.in.Row(e.row), e.row)
			}
		}
		if e.row++; e.row == e.in.Len() {
			e.in = nil
			return nil
		}
		if e.condition != nil && !e.matches[e.row] {
			continue
		}
		e.copies = e.Copies
		e.left = changelog.Payload{Bytes: e.in.Row(e.row)}
		e.right = e.left
	}
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
