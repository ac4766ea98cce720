package rowstate

import (
	"encoding/binary"

	"drey/simd"
)

// Multiset counts equal rows. Counts may be negative for a while, as those of retractions that overtake what they retract
// are in Flink; a row whose count is 0 is not there.
type Multiset struct {
	table  *Table
	hashes []uint64
	refs   []Ref
	fresh  []bool
}

// NewMultiset returns an empty multiset of rows of one width, or of any length if that is 0.
func NewMultiset(b *Budget, width int, purpose string) *Multiset {
	return &Multiset{table: NewTable(b, TableOptions{KeyWidth: width, ValueSize: 8, Purpose: purpose})}
}

// Add adds deltas[i] to the count of row i, in row order, and writes the count after that to counts[i]. On an error nothing
// has changed.
func (m *Multiset) Add(rows *Rows, deltas, counts []int64) error {
	n := rows.Len()
	if err := m.table.Reserve(n, int64(len(rows.Data))); err != nil {
		return err
	}
	m.room(n)
	m.table.Hash(rows, m.hashes)
	m.table.FindOrInsert(rows, m.hashes, m.refs, m.fresh)
	for i, r := range m.refs {
		counts[i] = m.add(r, deltas[i])
	}
	// A row may come to 0 and leave it again within the batch, so what is at 0 goes only now; the row's last mention in the
	// batch is where its count is final, and where its entry is deleted.
	for i := n - 1; i >= 0; i-- {
		if r := m.refs[i]; counts[i] == 0 && m.table.isLive(r) && m.add(r, 0) == 0 {
			m.table.Delete(r)
		}
	}
	return nil
}

func (m *Multiset) add(r Ref, delta int64) int64 {
	v := m.table.Value(r)
	n := int64(binary.LittleEndian.Uint64(v)) + delta
	if delta != 0 {
		binary.LittleEndian.PutUint64(v, uint64(n))
	}
	return n
}

func (m *Multiset) room(n int) {
	if cap(m.refs) < n {
		most := max(n, 1024)
		m.hashes, m.refs, m.fresh = make([]uint64, most), make([]Ref, most), make([]bool, most)
	}
	m.hashes, m.refs, m.fresh = m.hashes[:n], m.refs[:n], m.fresh[:n]
}

// Counts writes the count of every row to counts.
func (m *Multiset) Counts(rows *Rows, counts []int64) {
	m.room(rows.Len())
	m.table.Hash(rows, m.hashes)
	m.table.Find(rows, m.hashes, m.refs)
	for i, r := range m.refs {
		counts[i] = 0
		if r != simd.Absent {
			counts[i] = m.add(r, 0)
		}
	}
}

// Len is the number of different rows.
func (m *Multiset) Len() int { return m.table.Len() }

// All visits the rows and their counts, in the order of Table.All.
func (m *Multiset) All(yield func(row []byte, count int64) bool) {
	m.table.from(0, func(r Ref) bool { return yield(m.table.Key(r), m.add(r, 0)) })
}

// Close gives all memory back. It is idempotent.
func (m *Multiset) Close() { m.table.Close() }
