package rowstate

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestSweepAndCompact(t *testing.T) {
	for _, width := range []int{0, 18, 90} {
		m := newModel(t, fmt.Sprint("sweep ", width), TableOptions{KeyWidth: width})
		rng := rand.New(rand.NewPCG(uint64(width), 3))
		rounds := 12
		if invariantsOn {
			rounds = 3
		}
		for range rounds {
			for range 5 {
				m.add(someKeys(rng, 1000, width, 1<<20))
			}
			visited := 0
			size := m.table.Len()
			for visited < size {
				n := 1 + rng.IntN(500)
				before := visited
				m.table.Sweep(n, func(r Ref) bool {
					visited++
					if binary.LittleEndian.Uint64(m.table.Value(r))%5 < 3 {
						delete(m.want, string(m.table.Key(r)))
						return true
					}
					return false
				})
				if visited-before > n {
					t.Fatalf("a sweep of %d visited %d", n, visited-before)
				}
				if visited == before && m.table.Len() > 0 && m.table.swept != 0 {
					t.Fatal("a sweep stands still")
				}
			}
			m.size()
			m.all()
			var order [][]byte
			for r := range m.table.All() {
				order = append(order, bytes.Clone(m.table.Key(r)))
			}
			waste := m.table.Waste()
			used := m.table.arena.reg.budget.Used()
			m.table.Compact()
			if waste == 0 || m.table.Waste() != 0 || m.table.arena.reg.budget.Used() > used {
				t.Fatalf("waste %.2f, then %.2f", waste, m.table.Waste())
			}
			m.all()
			m.find(someKeys(rng, 500, width, 1<<20))
			i := 0
			for r := range m.table.All() {
				if !bytes.Equal(order[i], m.table.Key(r)) {
					t.Fatal("compaction changed the order")
				}
				i++
			}
		}
	}
}

func TestCompactGivesMemoryBack(t *testing.T) {
	m := newModel(t, "compact", TableOptions{KeyWidth: 40})
	rng := rand.New(rand.NewPCG(8, 3))
	rounds := 200
	if invariantsOn {
		rounds = 10
	}
	for range rounds {
		m.add(someKeys(rng, 1000, 40, 1<<50))
	}
	full := m.table.Stats()
	for r := range m.table.All() {
		delete(m.want, string(m.table.Key(r)))
		m.table.Delete(r)
	}
	m.table.Compact()
	if s := m.table.Stats(); s.Entries.Held+s.Entries.Idle+s.Entries.Unused > full.Entries.Held/20+smallStep {
		t.Fatalf("an empty table keeps %+v of %+v", s.Entries, full.Entries)
	}
	m.add(someKeys(rng, 1000, 40, 1<<50))
	m.all()
}

// TestChurn lives through a day of state with a retention: every step inserts what is new, touches some and sweeps. After
// the first retention neither memory nor the length of probes may grow.
func TestChurn(t *testing.T) {
	const (
		minutes   = 24 * 60
		perMinute = 200
		retention = 30 // minutes
	)
	budget := NewBudget(0)
	table := NewTable(budget, TableOptions{KeyWidth: 18, ValueSize: 16, Purpose: "churn"})
	defer table.Close()
	clock := Clock{TTL: retention * 60_000}
	rng := rand.New(rand.NewPCG(8, 8))
	var keys Rows
	hashes, refs, fresh := make([]uint64, 2*perMinute), make([]Ref, 2*perMinute), make([]bool, 2*perMinute)
	var settled int64
	var probes [4]float64
	for minute := range int64(minutes) {
		clock.Tick(minute * 60_000)
		keys.Reset(18)
		for i := range int64(perMinute) {
			binary.LittleEndian.PutUint64(keys.Extend(18), uint64(minute*perMinute+i))
		}
		for range perMinute {
			old := minute*perMinute - rng.Int64N(retention*perMinute)
			binary.LittleEndian.PutUint64(keys.Extend(18), uint64(max(0, old)))
		}
		clearTails(&keys)
		table.Hash(&keys, hashes)
		table.FindOrInsert(&keys, hashes, refs, fresh)
		for _, r := range refs {
			binary.LittleEndian.PutUint64(table.Value(r)[8:], uint64(clock.Now))
		}
		table.Sweep(4*perMinute*retention/10, func(r Ref) bool {
			return clock.Expired(int64(binary.LittleEndian.Uint64(table.Value(r)[8:])))
		})
		if minute == 4*retention {
			settled, probes = budget.Used(), probeLengths(table)
		}
	}
	table.verify()
	if end := budget.Used(); end > settled+settled/10+smallStep {
		t.Errorf("memory grew from %d to %d bytes in a day of churn", settled, end)
	}
	end := probeLengths(table)
	t.Logf("chunks looked at, share of absent keys that take more than 0, 1, 2, 3: %.3f after four retentions, %.3f after a day", probes, end)
	// How keys are spread depends on the seed of the process: growth is 0.005 in the mean of many, and as much up or down.
	for n := range end {
		if end[n] > probes[n]+0.04 {
			t.Errorf("the share of absent keys that take more than %d chunks grew from %.3f to %.3f", n, probes[n], end[n])
		}
	}
	if most := 4 * retention * perMinute; table.Len() == 0 || table.Len() > most {
		t.Errorf("%d entries after a day, at most %d are alive", table.Len(), most)
	}
}

func clearTails(keys *Rows) {
	for i := range keys.Len() {
		clear(keys.Row(i)[8:])
	}
}

// probeLengths is the histogram of the chunks that looking for an absent key takes, over all homes and tags: the share of those
// that take more than 0, 1, 2 and 3. No key that is there takes more than an absent one of its home and tag.
func probeLengths(t *Table) (shares [4]float64) {
	homes := 0
	for s := range t.segments.used {
		for home := range uint64(chunksPerSegment) {
			for tag := range uint64(16) {
				homes++
				at := home
				for n := range shares {
					shares[n]++
					if !t.segments.chunk(s, at).past(tag) {
						break
					}
					at += step(tag)
				}
			}
		}
	}
	for n := range shares {
		shares[n] /= float64(homes)
	}
	return shares
}
