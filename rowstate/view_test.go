package rowstate

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// TestTableViewWhileChanging freezes a table, goes on inserting, writing and deleting, and checks that another goroutine
// reads what was there.
func TestTableViewWhileChanging(t *testing.T) {
	for _, width := range []int{0, 18, 100} {
		m := newModel(t, fmt.Sprint("view ", width), TableOptions{KeyWidth: width})
		rng := rand.New(rand.NewPCG(uint64(width), 12))
		rounds := 5
		if invariantsOn {
			rounds = 3
		}
		for round := range rounds {
			for range 4 {
				m.add(someKeys(rng, 1000, width, 1<<20))
			}
			m.remove(someKeys(rng, 100, width, 1<<20))
			if width == 0 && round == 1 {
				m.add([][]byte{bytes.Repeat([]byte{7}, 200_000), bytes.Repeat([]byte{8}, 65535)})
			}
			want := map[string]uint64{}
			var order []string
			for r := range m.table.All() {
				order = append(order, string(m.table.Key(r)))
				want[order[len(order)-1]] = binary.LittleEndian.Uint64(m.table.Value(r))
			}
			view := m.table.Freeze()
			var reader sync.WaitGroup
			reader.Add(1)
			go func() {
				defer reader.Done()
				for pass := range 2 {
					i := 0
					view.All(func(_ Ref, key, value []byte) bool {
						if i >= len(order) || string(key) != order[i] || binary.LittleEndian.Uint64(value) != want[string(key)] {
							t.Errorf("pass %d entry %d of %d: %x = %x", pass, i, len(order), key[:min(len(key), 20)], value)
							return false
						}
						i++
						return true
					})
					if i != len(order) || view.Len() != len(order) {
						t.Errorf("pass %d: visited %d of %d", pass, i, len(order))
					}
				}
			}()
			for range 3 {
				m.add(someKeys(rng, 700, width, 1<<20))
				m.remove(someKeys(rng, 50, width, 1<<20))
				for r := range m.table.All() {
					if m.table.Key(r) != nil && rng.IntN(10) == 0 {
						v := m.table.Value(r)
						v[3]++
						m.want[string(m.table.Key(r))] = binary.LittleEndian.Uint64(v)
					}
				}
			}
			reader.Wait()
			view.Close()
			view.Close()
			m.all()
		}
		if budget := m.table.arena.reg.budget; budget.ByPurpose()["test"] != m.table.arena.reg.taken {
			t.Fatalf("copies are still counted: %v", budget.ByPurpose())
		}
	}
}

// TestViewOutlivesItsTable: an operator may be closed while its snapshot is being written.
func TestViewOutlivesItsTable(t *testing.T) {
	budget := NewBudget(0)
	table := NewTable(budget, TableOptions{KeyWidth: 8, ValueSize: 8, Purpose: "rows"})
	var keys Rows
	keys.Reset(8)
	for i := range 5000 {
		binary.LittleEndian.PutUint64(keys.Extend(8), uint64(i))
	}
	hashes := make([]uint64, 5000)
	table.Hash(&keys, hashes)
	table.FindOrInsert(&keys, hashes, make([]Ref, 5000), make([]bool, 5000))
	view := table.Freeze()
	table.Close()
	n := uint64(0)
	view.All(func(_ Ref, key, _ []byte) bool {
		if binary.LittleEndian.Uint64(key) != n {
			t.Fatalf("entry %d has key %x", n, key)
		}
		n++
		return true
	})
	view.Close()
	if n != 5000 || budget.Used() != 0 {
		t.Fatalf("%d entries, %d bytes left", n, budget.Used())
	}
}

// TestArenaViewOfSetsAndChains: the nodes of sets and chains are protected as well.
func TestArenaViewOfSetsAndChains(t *testing.T) {
	arena := NewArena(NewBudget(0), "rows")
	defer arena.Close()
	chains := NewChains(arena)
	var chain RowChain
	rng := rand.New(rand.NewPCG(1, 12))
	var keys [][]byte
	o := NewOrdered(arena, func(e uint32) []byte { return keys[e-1] })
	var set OrderedSet
	add := func() {
		keys = append(keys, binary.BigEndian.AppendUint64(nil, rng.Uint64()))
		o.Insert(&set, uint32(len(keys)))
		chains.Append(&chain, keys[len(keys)-1])
	}
	for range 3000 {
		add()
	}
	before := bytes.Clone(arena.reg.bytes(0, arena.next))
	view := arena.Freeze()
	for range 3000 {
		add()
		o.DeleteAt(&set, rng.IntN(set.Len()))
		for r := range chains.All(&chain) {
			chains.Row(r)[0]++
			chains.Remove(&chain, r)
			break
		}
	}
	got := view.Read(nil, 0, len(before))
	if !bytes.Equal(got, before) {
		t.Fatal("the view changed")
	}
	if bytes.Equal(arena.reg.bytes(0, int64(len(before))), before) {
		t.Fatal("nothing changed: the test tests nothing")
	}
	view.Close()
}
