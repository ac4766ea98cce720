package snapshot_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"drey/native/keygroup"
	"drey/native/op"
	"drey/native/snapshot"
	"drey/rowstate"
)

var groups = op.KeyGroups{First: 0, Last: 7, Max: 8}

// table is a table of keys 0 to n-1, rows of one BIGINT.
func table(t *testing.T, n int) *rowstate.Table {
	t.Helper()
	tab := rowstate.NewTable(rowstate.NewBudget(0), rowstate.TableOptions{KeyWidth: 16, ValueSize: 8, Purpose: "test"})
	t.Cleanup(tab.Close)
	var keys rowstate.Rows
	keys.Reset(16)
	for i := range n {
		binary.LittleEndian.PutUint64(keys.Extend(16)[8:], uint64(i))
	}
	hashes, refs, fresh := make([]uint64, n), make([]rowstate.Ref, n), make([]bool, n)
	if err := tab.Reserve(n, int64(16*n)); err != nil {
		t.Fatal(err)
	}
	tab.Hash(&keys, hashes)
	tab.FindOrInsert(&keys, hashes, refs, fresh)
	return tab
}

// Two tables go into one stream, the entries of one spread over frames; all come back, to the key group they belong to.
func TestParts(t *testing.T) {
	one, two := table(t, 100), table(t, 10)
	s := snapshot.State{Operator: "test", Identity: []byte(`{"a":1}`), Groups: groups}
	snap, err := s.Take(groups,
		snapshot.Part{Table: one, Write: func(ref rowstate.Ref, w *snapshot.Writer) {
			for piece := range 3 {
				w.Room()
				w.Byte('A' + byte(piece))
				w.Bytes(one.Key(ref))
				w.Bytes(make([]byte, 20_000))
			}
		}},
		snapshot.Part{Table: nil},
		snapshot.Part{
			Table: two,
			Keep:  func(ref rowstate.Ref) bool { return two.Key(ref)[8]%2 == 0 },
			Write: func(ref rowstate.Ref, w *snapshot.Writer) {
				w.Byte('2')
				w.Bytes(two.Key(ref))
				w.Uvarint(300)
				w.Uint64(1 << 40)
				w.Raw([]byte("raw"))
			},
		})
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	seen, frames := map[string]int{}, 0
	for g := range groups.Max {
		var b bytes.Buffer
		if err := snap.Write(g, &b); err != nil {
			t.Fatal(err)
		}
		order := byte('A')
		err := s.Restore(g, &b, func(r *snapshot.Reader) error {
			frames++
			return r.Each(func() error {
				kind, err := r.Byte()
				if err != nil {
					return err
				}
				key, err := r.Bytes("key")
				if err != nil {
					return err
				}
				if own := keygroup.Of(key, groups.Max); own != g {
					return fmt.Errorf("a key of %d in %d", own, g)
				}
				seen[string(kind)]++
				if kind != '2' {
					if order == '2' {
						return errors.New("the second part comes before the first")
					}
					_, err = r.Bytes("padding")
					return err
				}
				order = kind
				n, err1 := r.Uvarint("number")
				m, err2 := r.Uint64("number")
				raw, err3 := r.Raw(3, "text")
				if n != 300 || m != 1<<40 || string(raw) != "raw" {
					return errors.Join(fmt.Errorf("%d, %d, %q", n, m, raw), err1, err2, err3)
				}
				return nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(seen) != "map[2:5 A:100 B:100 C:100]" || frames < 150 {
		t.Errorf("%v in %d frames", seen, frames)
	}
	if err := snap.Write(8, &bytes.Buffer{}); !errors.Is(err, op.ErrInvalid) {
		t.Errorf("a key group that is not there: %v", err)
	}
}

// A key group without entries is no stream at all, and a stream that can't be written to says so.
func TestStreams(t *testing.T) {
	one := table(t, 1)
	s := snapshot.State{Operator: "test", Identity: []byte("{}"), Groups: groups}
	snap, err := s.Take(groups, snapshot.Part{Table: one, Write: func(_ rowstate.Ref, w *snapshot.Writer) { w.Bytes(make([]byte, 10_000)) }})
	if err != nil {
		t.Fatal(err)
	}
	written := 0
	for g := range groups.Max {
		var b bytes.Buffer
		if err := snap.Write(g, &b); err != nil {
			t.Fatal(err)
		}
		if b.Len() == 0 {
			continue
		}
		written++
		for _, n := range []int{0, 20, 5000, b.Len() - 1} {
			if err := snap.Write(g, &full{n}); err == nil {
				t.Errorf("no error of a stream that takes %d of %d bytes", n, b.Len())
			}
		}
	}
	if written != 1 {
		t.Errorf("%d key groups have something of one key", written)
	}
	if _, err := s.Take(op.KeyGroups{First: 0, Last: 0, Max: 1 << 14}, snapshot.Part{Table: table(t, 50)}); !errors.Is(err, op.ErrCorrupt) {
		t.Errorf("keys of other subtasks: %v", err)
	}
}

type full struct{ n int }

func (f *full) Write(b []byte) (int, error) {
	if len(b) > f.n {
		return 0, errors.New("full")
	}
	f.n -= len(b)
	return len(b), nil
}

// Errors of the items tell where, and an exhausted budget is told from a bad stream.
func TestErrorsOfItems(t *testing.T) {
	one := table(t, 1)
	s := snapshot.State{Operator: "test", Identity: []byte("{}"), Groups: groups}
	snap, err := s.Take(groups, snapshot.Part{Table: one, Write: func(_ rowstate.Ref, w *snapshot.Writer) { w.Raw([]byte{1, 2, 200, 0xff, 0xff}) }})
	if err != nil {
		t.Fatal(err)
	}
	group := keygroup.Of(make([]byte, 16), groups.Max)
	var b bytes.Buffer
	if err := snap.Write(group, &b); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		want string
		read func(r *snapshot.Reader) error
	}{
		{"offset 0: a row of 9 bytes, 5 are left", func(r *snapshot.Reader) error { _, err := r.Raw(9, "row"); return err }},
		{"offset 2: an item 200", func(r *snapshot.Reader) error {
			b, err := r.Byte()
			if b == 200 {
				err = errors.New("an item 200")
			}
			return err
		}},
		{"a key of 5 bytes, 4 are left", func(r *snapshot.Reader) error {
			n, err := r.Uvarint("length")
			if err == nil && n == 1 {
				_, err = r.Raw(5, "key")
			}
			return err
		}},
		{"a number whose length can't be read", func(r *snapshot.Reader) error {
			if _, err := r.Raw(3, "rest"); err != nil {
				return err
			}
			_, err := r.Uvarint("number")
			return err
		}},
	} {
		err := s.Restore(group, bytes.NewReader(b.Bytes()), func(r *snapshot.Reader) error {
			return r.Each(func() error { return test.read(r) })
		})
		if !errors.Is(err, op.ErrCorrupt) || !strings.Contains(fmt.Sprint(err), "test: key group "+fmt.Sprint(group)+": frame 1: ") ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
	err = s.Restore(group, bytes.NewReader(b.Bytes()), func(*snapshot.Reader) error {
		return rowstate.NewArena(rowstate.NewBudget(1), "rows").Reserve(1 << 20)
	})
	var budget *rowstate.BudgetError
	if !errors.As(err, &budget) || errors.Is(err, op.ErrCorrupt) {
		t.Errorf("an exhausted budget is %v", err)
	}
}
