package op

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestErrorsAreMarked(t *testing.T) {
	err := fmt.Errorf("key group 7: %w", Corruptf("frame %d: %w", 3, io.ErrUnexpectedEOF))
	if got, want := err.Error(), "key group 7: frame 3: unexpected EOF"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	if !errors.Is(err, ErrCorrupt) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error("the mark or the cause is lost")
	}
	if errors.Is(err, ErrInvalid) || errors.Is(err, ErrUnsupported) {
		t.Error("an error carries a foreign mark")
	}
	if err := Queryf("two rows"); !errors.Is(err, ErrQuery) || errors.Is(err, ErrCorrupt) || err.Error() != "two rows" {
		t.Errorf("an error of a query: %v", err)
	}
}
