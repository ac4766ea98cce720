package rowstate

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// orderedModel keeps the same elements in a sorted slice.
type orderedModel struct {
	t     *testing.T
	arena *Arena
	o     *Ordered
	set   OrderedSet
	keys  [][]byte // of element i+1
	want  []uint32
	less  func(a, b uint32) int
}

func newOrderedModel(t *testing.T) *orderedModel {
	m := &orderedModel{t: t, arena: NewArena(NewBudget(0), "sets")}
	t.Cleanup(m.arena.Close)
	key := func(e uint32) []byte { return m.keys[e-1] }
	m.o = NewOrdered(m.arena, key)
	m.less = func(a, b uint32) int { return bytes.Compare(key(a), key(b)) }
	return m
}

func (m *orderedModel) insert(key []byte) {
	m.t.Helper()
	m.keys = append(m.keys, key)
	e := uint32(len(m.keys))
	at, found := slices.BinarySearchFunc(m.want, e, m.less)
	position, added := m.o.Insert(&m.set, e)
	if position != at || added == found {
		m.t.Fatalf("insert %x: position %d added %t, want %d %t", key, position, added, at, !found)
	}
	if !found {
		m.want = slices.Insert(m.want, at, e)
	}
}

func (m *orderedModel) remove(key []byte) {
	m.t.Helper()
	m.keys = append(m.keys, key)
	at, found := slices.BinarySearchFunc(m.want, uint32(len(m.keys)), m.less)
	m.keys = m.keys[:len(m.keys)-1]
	want := uint32(0)
	if found {
		want = m.want[at]
		m.want = slices.Delete(m.want, at, at+1)
	}
	position, element := 0, uint32(0)
	if len(m.want)%2 == 0 {
		position, element = m.o.Delete(&m.set, key)
	} else {
		next := uint32(0)
		if found {
			next = want
		} else if at < len(m.want) {
			next = m.want[at]
		}
		if position, element = m.o.Seek(&m.set, key); element != next {
			m.t.Fatalf("seek %x: element %d, want %d", key, element, next)
		}
		if element = 0; found {
			element = m.o.DeleteSought(&m.set)
		}
	}
	if position != at || element != want {
		m.t.Fatalf("delete %x: position %d element %d, want %d %d", key, position, element, at, want)
	}
}

func (m *orderedModel) check(rng *rand.Rand) {
	m.t.Helper()
	if m.set.Len() != len(m.want) {
		m.t.Fatalf("%d elements, want %d", m.set.Len(), len(m.want))
	}
	from := 0
	if len(m.want) > 0 {
		from = rng.IntN(len(m.want))
	}
	at := from
	for position, e := range m.o.From(&m.set, from) {
		if position != at || e != m.want[at] {
			m.t.Fatalf("visit %d: element %d, want %d", position, e, m.want[at])
		}
		at++
	}
	if at != len(m.want) {
		m.t.Fatalf("visited up to %d of %d", at, len(m.want))
	}
	for range 10 {
		if len(m.want) == 0 {
			break
		}
		i := rng.IntN(len(m.want))
		key := m.keys[m.want[i]-1]
		rank, found := m.o.Rank(&m.set, key)
		if e := m.o.At(&m.set, i); e != m.want[i] || rank != i || !found || m.o.Find(&m.set, key) != e {
			m.t.Fatalf("position %d: element %d, rank %d %t, want element %d", i, e, rank, found, m.want[i])
		}
		next := append(bytes.Clone(key), 0)
		there := i+1 < len(m.want) && bytes.Equal(m.keys[m.want[i+1]-1], next)
		if rank, found = m.o.Rank(&m.set, next); found != there || rank != i+1 || (m.o.Find(&m.set, next) != 0) != there {
			m.t.Fatalf("rank of the key behind position %d: %d %t, want %t", i, rank, found, there)
		}
	}

}

func TestOrderedAgainstSortedSlice(t *testing.T) {
	shapes := map[string]func(rng *rand.Rand, i int) []byte{
		"random":      func(rng *rand.Rand, _ int) []byte { return binary.BigEndian.AppendUint64(nil, rng.Uint64()) },
		"same prefix": func(rng *rand.Rand, _ int) []byte { return fmt.Appendf(nil, "a long common start %d", rng.IntN(5000)) },
		"short": func(rng *rand.Rand, _ int) []byte {
			return binary.BigEndian.AppendUint64(nil, rng.Uint64())[:rng.IntN(4)]
		},
		"varied length": func(rng *rand.Rand, _ int) []byte { return bytes.Repeat([]byte{byte(rng.IntN(3))}, rng.IntN(60)) },
		"marked": func(rng *rand.Rand, _ int) []byte {
			key := append([]byte{0, valid, valid, valid, valid, 0xFF}[rng.IntN(6):][:1:1], make([]byte, rng.IntN(3))...)
			return binary.BigEndian.AppendUint64(key, []uint64{0, 1, 2, math.MaxUint64 - 1, math.MaxUint64, rng.Uint64()}[rng.IntN(6)])
		},
		"rising":  func(_ *rand.Rand, i int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(i)) },
		"falling": func(_ *rand.Rand, i int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(1<<30-i)) },
	}
	for name, shape := range shapes {
		for _, most := range []int{3, 5, 40, 300, 6000} {
			t.Run(fmt.Sprint(name, " ", most), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(most), 1))
				m := newOrderedModel(t)
				if name == "marked" {
					m.o.Marked()
				}
				i := 0
				// Up to most elements, down to none, twice; a quarter of the steps go the other way.
				for _, up := range []bool{true, false, true, false} {
					for steps := 0; steps < 4*most && (up && len(m.want) < most || !up && len(m.want) > 0); steps++ {
						if up == (rng.IntN(4) > 0) {
							m.insert(shape(rng, i))
							i++
						} else if len(m.want) > 0 {
							m.remove(m.keys[m.want[rng.IntN(len(m.want))]-1])
							m.remove([]byte("absent"))
						}
						if i%97 == 0 || most < 50 {
							m.check(rng)
						}
					}
					m.check(rng)
				}
				for m.set.Len() > 0 {
					if e := m.o.DeleteAt(&m.set, m.set.Len()-1); e != m.want[len(m.want)-1] {
						t.Fatal("last element", e)
					}
					m.want = m.want[:len(m.want)-1]
				}
				if s := m.arena.Stats(); s.Held != 0 {
					t.Fatalf("an empty set holds %d bytes", s.Held)
				}
			})
		}
	}
}

func TestOrderedClearFreesAll(t *testing.T) {
	m := newOrderedModel(t)
	rng := rand.New(rand.NewPCG(2, 2))
	for n := 1; n < 3000; n = n*3/2 + 1 {
		for range n {
			m.insert(binary.BigEndian.AppendUint64(nil, rng.Uint64()))
		}
		before := m.arena.Stats()
		if before.Held == 0 {
			t.Fatal("a set without nodes")
		}
		m.o.Clear(&m.set)
		m.want = nil
		m.check(rng)
		if s := m.arena.Stats(); s.Held != 0 {
			t.Fatalf("%d elements: %d bytes left", n, s.Held)
		}
	}
}

// TestOrderedInsertBytes: with InsertBytes reserved, no insertion fails.
func TestOrderedInsertBytes(t *testing.T) {
	budget := NewBudget(1 << 20)
	m := newOrderedModel(t)
	m.arena = NewArena(budget, "sets")
	defer m.arena.Close()
	m.o = NewOrdered(m.arena, func(e uint32) []byte { return m.keys[e-1] })
	rng := rand.New(rand.NewPCG(2, 3))
	for m.arena.Reserve(InsertBytes) == nil {
		used := budget.Used()
		m.insert(binary.BigEndian.AppendUint64(nil, rng.Uint64()))
		if budget.Used() != used {
			t.Fatal("an insertion took more than InsertBytes")
		}
	}
	if m.set.Len() < 10000 {
		t.Fatalf("only %d elements in 1 MiB", m.set.Len())
	}
}

func TestSetInValue(t *testing.T) {
	table := NewTable(NewBudget(0), TableOptions{KeyWidth: 8, ValueSize: SetSize + 8, Purpose: "rows"})
	defer table.Close()
	var keys Rows
	keys.Reset(8)
	keys.Append([]byte("12345678"))
	hash, ref := make([]uint64, 1), make([]Ref, 1)
	table.Hash(&keys, hash)
	table.FindOrInsert(&keys, hash, ref, make([]bool, 1))
	m := newOrderedModel(t)
	m.keys = [][]byte{{1}, {2}}
	if _, added := m.o.Insert(SetIn(table.Value(ref[0])), 2); !added {
		t.Fatal("not added")
	}
	m.o.Insert(SetIn(table.Value(ref[0])), 1)
	if s := SetIn(table.Value(ref[0])); s.Len() != 2 || m.o.At(s, 0) != 1 {
		t.Fatal("the handle in the value was not updated")
	}
}

// Weights: positions and counts are those of a list that has each element as often as it weighs.
func TestOrderedWeights(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 7))
		arena := NewArena(NewBudget(0), "sets")
		key := func(e uint32) []byte { return binary.BigEndian.AppendUint32(nil, e) }
		weight := func(e uint32) int { // most weigh 1
			if e%5 == 0 {
				return int(1 + e%7)
			}
			return 1
		}
		o := NewOrdered(arena, key)
		o.Weigh(weight)
		var set OrderedSet
		var want []uint32 // each element as often as it weighs
		for step := range 3000 {
			e := uint32(1 + rng.IntN(700))
			at, found := slices.BinarySearch(want, e)
			if grow := step%1000 < 600; rng.IntN(3) == 0 != grow {
				if position, added := o.Insert(&set, e); position != at || added == found {
					t.Fatalf("seed %d: insert %d: position %d, %t, want %d, %t", seed, e, position, added, at, !found)
				}
				if !found {
					want = slices.Insert(want, at, slices.Repeat([]uint32{e}, weight(e))...)
				}
			} else {
				if position, got := o.Delete(&set, key(e)); position != at || found != (got == e) {
					t.Fatalf("seed %d: delete %d: position %d, element %d", seed, e, position, got)
				}
				if found {
					want = slices.Delete(want, at, at+weight(e))
				}
			}
			if set.Len() != len(want) {
				t.Fatalf("seed %d: weight %d, want %d", seed, set.Len(), len(want))
			}
			if rank, _ := o.Rank(&set, key(e)); rank != at {
				t.Fatalf("seed %d: rank of %d is %d, want %d", seed, e, rank, at)
			}
			if len(want) == 0 {
				continue
			}
			from := rng.IntN(len(want))
			if got := o.At(&set, from); got != want[from] {
				t.Fatalf("seed %d: element %d at %d, want %d", seed, got, from, want[from])
			}
			at = from
			for at > 0 && want[at-1] == want[from] {
				at--
			}
			for position, e := range o.From(&set, from) {
				if position != at || want[at] != e {
					t.Fatalf("seed %d: element %d at %d, want %d at %d", seed, e, position, want[at], at)
				}
				at += weight(e)
			}
			if at != len(want) {
				t.Fatalf("seed %d: visited up to %d of %d", seed, at, len(want))
			}
		}
		o.Clear(&set)
		arena.Close()
	}
}

// What comes ahead of a small set is what a search for the key would then look at: the element with the key, the next ones, and
// the last one.
func TestOrderedAhead(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, size := range []int{0, 1, 4, 5, 32, 33, 1000} {
		m := newOrderedModel(t)
		for range size {
			m.insert(binary.BigEndian.AppendUint64(nil, rng.Uint64()))
		}
		for at, e := range m.want {
			var want []uint32
			if size <= nodeCap {
				want = slices.Clone(m.want[at:min(at+3, size)])
				if at+3 < size {
					want = append(want, m.want[size-1])
				}
			}
			if got := m.o.Ahead([]Way{{&m.set, m.keys[e-1]}}, 3, nil); !slices.Equal(got, want) {
				t.Errorf("%d elements, position %d: %v, want %v", size, at, got, want)
			}
		}
		if got := m.o.Ahead([]Way{{&m.set, []byte{0}}, {&m.set, []byte{0}}}, 1, nil); len(got) > 0 != (size > 0 && size <= nodeCap) {
			t.Errorf("%d elements: %v", size, got)
		}
	}
}
