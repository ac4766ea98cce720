package dedup

import "drey/rowstate"

// vector is a growing array of fixed-size records in an arena of its own, so that its memory counts.
type vector struct {
	arena *rowstate.Arena
	size  int // of a record
	ref   rowstate.Ref
	data  []byte // the block; its length is the capacity
	n     int    // records in use
}

func newVector(budget *rowstate.Budget, purpose string, size int) vector {
	return vector{arena: rowstate.NewArena(budget, purpose), size: size}
}

// reserve makes room for n more records.
func (v *vector) reserve(n int) error {
	need := (v.n + n) * v.size
	if need <= len(v.data) {
		return nil
	}
	capacity := max(2*len(v.data), need, 64*v.size)
	if err := v.arena.Reserve(int64(capacity)); err != nil {
		return err
	}
	ref := v.arena.Alloc(capacity)
	data := v.arena.Bytes(ref, capacity)
	copy(data, v.data[:v.n*v.size])
	if v.ref != 0 {
		v.arena.Free(v.ref, len(v.data))
	}
	v.ref, v.data = ref, data
	return nil
}

// at is record i, to be read and written.
func (v *vector) at(i int) []byte {
	from := i * v.size
	return v.data[from : from+v.size : from+v.size]
}

// add adds a record, for which room was reserved.
func (v *vector) add() []byte {
	v.n++
	return v.at(v.n - 1)
}

func (v *vector) close() {
	v.arena.Close()
	v.data, v.n, v.ref = nil, 0, 0
}
