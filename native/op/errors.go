package op

import (
	"errors"
	"fmt"
)

// What went wrong, for a caller that has to tell the kinds apart: errors.Is(err, ErrCorrupt). The boundary maps each to a
// status of its own. An exhausted memory budget is rowstate's error type, everything else is a bug.
var (
	// ErrInvalid: a specification or an argument is wrong; whoever wrote it has to change it.
	ErrInvalid = errors.New("invalid")
	// ErrUnsupported: well-formed, but this library can't run it; the host should run its own operator.
	ErrUnsupported = errors.New("unsupported")
	// ErrCorrupt: a batch or a snapshot does not hold what it promises. No state has changed.
	ErrCorrupt = errors.New("corrupt")
	// ErrQuery: the query fails on these rows, as it does in Flink; whoever wrote it has to change it. State has changed, and the
	// operator is of no use any more.
	ErrQuery = errors.New("query")
)

// Invalidf makes an error that is ErrInvalid. The message stands alone; the mark isn't part of it.
func Invalidf(format string, args ...any) error { return mark(ErrInvalid, format, args) }

// Unsupportedf makes an error that is ErrUnsupported.
func Unsupportedf(format string, args ...any) error { return mark(ErrUnsupported, format, args) }

// Corruptf makes an error that is ErrCorrupt.
func Corruptf(format string, args ...any) error { return mark(ErrCorrupt, format, args) }

// Queryf makes an error that is ErrQuery.
func Queryf(format string, args ...any) error { return mark(ErrQuery, format, args) }

func mark(kind error, format string, args []any) error {
	return &marked{kind: kind, err: fmt.Errorf(format, args...)}
}

// marked keeps the message free of the mark, so that a chain of wrappers reads as one sentence.
type marked struct {
	kind error
	err  error
}

func (m *marked) Error() string        { return m.err.Error() }
func (m *marked) Unwrap() error        { return m.err }
func (m *marked) Is(target error) bool { return target == m.kind }
