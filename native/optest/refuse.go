package optest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"drey/native/op"
	"drey/rowstate"
)

func checkBudgetError(t testing.TB, err error, prefix string) {
	t.Helper()
	var budget *rowstate.BudgetError
	if !errors.As(err, &budget) || !strings.Contains(err.Error(), prefix) {
		t.Errorf("error %v, want one of the budget that names %q", err, prefix)
	}
}

// CheckRestoreRefuses checks all that a restore refuses whatever the operator: key groups of others, streams cut anywhere or
// with any bit of a byte flipped, keys twice, state behind the first batch. The rows make the state of one key.
func CheckRestoreRefuses(t *testing.T, open func() *Fixture, rows ...string) {
	t.Helper()
	f := open()
	f.Push(rows...)
	group, good := Only(f.Snapshot())
	f.Close()
	if len(good) == 0 {
		t.Fatal("no key group has any state")
	}
	try := func(what string, group int, b []byte, kind error, want string) {
		t.Helper()
		f := open()
		defer f.Close()
		CheckRefusal(t, what, f, group, b, kind, want)
	}
	next := (group + 1) % Groups.Max
	try("another group", next, good, op.ErrCorrupt, fmt.Sprintf("key group %d: frame 1: offset 0: the key is of key group %d", next, group))
	try("a group of others", Groups.Max, good, op.ErrInvalid, fmt.Sprintf("key group %d is not of the subtask's 0 to 127", Groups.Max))
	where := fmt.Sprintf("key group %d: ", group)
	for n := 1; n < len(good); n++ {
		try(fmt.Sprintf("cut to %d of %d bytes", n, len(good)), group, good[:n], op.ErrCorrupt, where)
	}
	for at := range good {
		b := bytes.Clone(good)
		b[at] ^= 1 << (at % 8)
		try(fmt.Sprintf("byte %d changed", at), group, b, op.ErrCorrupt, where)
	}
	f = open()
	defer f.Close()
	if err := f.Op.Restore(next, strings.NewReader("")); err != nil {
		t.Errorf("an empty key group: %v", err)
	}
	if err := f.Op.Restore(group, bytes.NewReader(good)); err != nil {
		t.Fatal(err)
	}
	CheckRefusal(t, "twice", f, group, good, op.ErrCorrupt, "comes twice")
	f.Push(rows...)
	CheckRefusal(t, "behind the first batch", f, next, nil, op.ErrInvalid, "after the first batch")
}

// CheckRefusal checks that an operator refuses to restore something, with the right kind of error.
func CheckRefusal(t testing.TB, what string, f *Fixture, group int, b []byte, kind error, want string) {
	t.Helper()
	if err := f.Op.Restore(group, bytes.NewReader(b)); !errors.Is(err, kind) || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: error %v, want %v with %q", what, err, kind, want)
	}
}

// Only is the lowest key group that has any state, and its bytes.
func Only(groups map[int][]byte) (int, []byte) {
	for g := range Groups.Max {
		if b := groups[g]; len(b) > 0 {
			return g, b
		}
	}
	return 0, nil
}

// Sizes of a frame stream's header, and of what comes before the bytes of a frame.
const (
	streamHeader = 16
	frameHeader  = 8
)

// Items is what the second frame of a key group holds, which comes behind the identity.
func Items(keyGroup []byte) []byte {
	frame := func(b []byte) (content, rest []byte) {
		n := binary.LittleEndian.Uint32(b)
		return b[frameHeader : frameHeader+n], b[frameHeader+n:]
	}
	_, rest := frame(keyGroup[streamHeader:])
	items, _ := frame(rest)
	return items
}

// WithItems is a key group with its items replaced, in one frame, and checksums that are right: for fuzzing what lies
// behind them.
func WithItems(keyGroup, items []byte) []byte {
	table := crc32.MakeTable(crc32.Castagnoli)
	frame := func(b []byte, length uint32, content []byte) []byte {
		b = binary.LittleEndian.AppendUint32(b, length)
		b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(content, table))
		return append(b, content...)
	}
	b := bytes.Clone(keyGroup[:streamHeader+frameHeader+binary.LittleEndian.Uint32(keyGroup[streamHeader:])])
	b = frame(b, uint32(len(items)), items)
	return frame(b, 1<<32-1, binary.LittleEndian.AppendUint64(nil, 2))
}
