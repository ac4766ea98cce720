package snapshot

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"drey/native/binrow"
	"drey/native/keygroup"
	"drey/native/op"
	"drey/native/spec"
	"drey/rowstate"
)

// State says whose state it is.
type State struct {
	// Operator is the operator's name in specifications. All errors begin with it.
	Operator string
	// Identity is the identity of the state, as canonical JSON.
	Identity []byte
	// Groups is the key groups of the subtask.
	Groups op.KeyGroups
	// Begun is set by the operator with its first batch. From then on nothing is restored any more.
	Begun bool
}

// Part is a table whose entries belong to a snapshot. The table's keys decide about the key groups.
type Part struct {
	Table *rowstate.Table // may be nil: no entries
	// Keep tells whether the snapshot has anything of an entry; nil means of all.
	Keep func(ref rowstate.Ref) bool
	// Write writes the items of an entry.
	Write func(ref rowstate.Ref, w *Writer)
}

// Take sorts the entries of the parts by key group. A key group then has those of the first part, in the order in which the
// table visits them, then those of the second, and so on.
func (s *State) Take(groups op.KeyGroups, parts ...Part) (op.Snapshot, error) {
	t := &taken{state: s, parts: parts, buffered: bufio.NewWriter(nil)}
	for _, p := range parts {
		sorted, err := keygroup.Sort(p.Table, groups.First, groups.Last, groups.Max, p.Keep)
		if err != nil {
			return nil, op.Corruptf("%s: %w", s.Operator, err)
		}
		t.sorted = append(t.sorted, sorted)
	}
	return t, nil
}

// taken is a snapshot. It borrows all it has.
type taken struct {
	state    *State
	parts    []Part
	sorted   []*keygroup.Sorted
	buffered *bufio.Writer
	writer   Writer
}

// Write writes a key group.
func (t *taken) Write(group int, w io.Writer) error {
	entries := 0
	for _, sorted := range t.sorted {
		refs, ok := sorted.Group(group)
		if !ok {
			return op.Invalidf("%s: key group %d is not in the snapshot", t.state.Operator, group)
		}
		entries += len(refs)
	}
	if entries == 0 {
		return nil
	}
	t.buffered.Reset(w)
	frames, err := rowstate.NewFrameWriter(t.buffered, rowstate.FrameHeader{Fingerprint: spec.Fingerprint(t.state.Identity)})
	if err == nil {
		err = frames.Write(t.state.Identity)
	}
	if err != nil {
		return err
	}
	t.writer.begin(frames)
	for i, part := range t.parts {
		refs, _ := t.sorted[i].Group(group)
		for _, ref := range refs {
			t.writer.Room()
			part.Write(ref, &t.writer)
		}
	}
	if err := t.writer.end(); err != nil {
		return err
	}
	if err := frames.Close(); err != nil {
		return err
	}
	return t.buffered.Flush()
}

// Close does nothing.
func (t *taken) Close() {}

// Restore reads a key group and hands its frames to frame, one by one. Whatever is wrong with what the stream holds is an
// op.ErrCorrupt that names the key group and the frame; an exhausted budget stays a rowstate.BudgetError. On an error the
// operator may have some of the entries already: it is of no use then.
func (s *State) Restore(group int, r io.Reader, frame func(r *Reader) error) error {
	if s.Begun {
		return op.Invalidf("%s: restore after the first batch", s.Operator)
	}
	if group < s.Groups.First || group > s.Groups.Last {
		return op.Invalidf("%s: key group %d is not of the subtask's %d to %d", s.Operator, group, s.Groups.First, s.Groups.Last)
	}
	buffered := bufio.NewReader(r)
	if _, err := buffered.Peek(1); err == io.EOF {
		return nil
	}
	frames, err := rowstate.NewFrameReader(buffered)
	if err != nil {
		return op.Corruptf("%s: key group %d: %w", s.Operator, group, err)
	}
	reader := Reader{group: group, groups: s.Groups}
	for n := 0; ; n++ {
		content, err := frames.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return op.Corruptf("%s: key group %d: %w", s.Operator, group, err)
		}
		if n == 0 {
			err = s.checkIdentity(frames.Header().Fingerprint, content)
		} else {
			reader.frame, reader.at = content, 0
			err = frame(&reader)
		}
		var budget *rowstate.BudgetError
		if errors.As(err, &budget) {
			return fmt.Errorf("%s: key group %d: %w", s.Operator, group, err)
		}
		if err != nil {
			return op.Corruptf("%s: key group %d: frame %d: %w", s.Operator, group, n, err)
		}
	}
}

// checkIdentity refuses state of another specification, and says what differs.
func (s *State) checkIdentity(fingerprint uint64, theirs []byte) error {
	if fingerprint != spec.Fingerprint(theirs) {
		return fmt.Errorf("the state is of fingerprint %016x, but its identity %s has another", fingerprint, theirs)
	}
	if string(theirs) != string(s.Identity) {
		return fmt.Errorf("the state is of %s, the operator needs %s", theirs, s.Identity)
	}
	return nil
}

// Keys is how the keys of a table are made from rows; a binrow.Projector is that.
type Keys interface {
	Layout() *binrow.Layout
	Width() int
}
