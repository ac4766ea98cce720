package agg

import (
	"encoding/binary"

	"drey/native/javamap"
	"drey/native/keygroup"
	"drey/rowstate"
)

// touched are the keys of a mini-batch bundle, in the order they came, and the order in which stock's bundle, a HashMap,
// would be walked.
type touched struct {
	refs  []rowstate.Ref
	codes []int32 // hashCodes of the keys
	order javamap.Order
	walk  []int32
}

func (t *touched) add(ref rowstate.Ref, code int32) {
	t.refs = append(t.refs, ref)
	t.codes = append(t.codes, code)
}

// inOrder are the keys' indices, in the order of the walk.
func (t *touched) inOrder() []int32 {
	t.walk = t.order.Walk(t.codes, t.walk)
	return t.walk
}

func (t *touched) clear() { t.refs, t.codes = t.refs[:0], t.codes[:0] }

// dictionary gives the keys of a bundle their partial accumulators. It keeps keys from one bundle to the next, since many
// come again: what belongs to an earlier bundle is told by its epoch. A value ends with
//
//	0  epoch, 4 bytes
//	4  hashCode of the key, 4 bytes
type dictionary struct {
	table   *rowstate.Table
	options rowstate.TableOptions
	budget  *rowstate.Budget
	groups  *groups
	epochAt int
	epoch   uint32
	touched touched
	hashes  []uint64
	refs    []rowstate.Ref
	fresh   []bool
}

// dictionaryKeeps is how many keys are kept at most, as a multiple of those of the bundle at its end, and anyhow.
const (
	dictionaryTimes = 4
	dictionaryKeeps = 1 << 16
)

const epochBytes = 8

func newDictionary(p *plan, keyWidth int, budget *rowstate.Budget) *dictionary {
	d := &dictionary{budget: budget, groups: newGroups(p, 0, budget), epochAt: p.size, epoch: 1}
	d.options = rowstate.TableOptions{KeyWidth: keyWidth, ValueSize: p.size + epochBytes, Purpose: purposeBundle}
	d.table = rowstate.NewTable(budget, d.options)
	return d
}

func (d *dictionary) reserve(keyBytes int64, a amount) error {
	if err := d.table.Reserve(a.rows, keyBytes); err != nil {
		return err
	}
	return d.groups.reserve(a)
}

// find finds the values of keys, and makes those new that the bundle has not had yet.
func (d *dictionary) find(keys *rowstate.Rows) []rowstate.Ref {
	n := keys.Len()
	if cap(d.refs) < n {
		d.hashes, d.refs, d.fresh = make([]uint64, n), make([]rowstate.Ref, n), make([]bool, n)
	}
	d.hashes, d.refs, d.fresh = d.hashes[:n], d.refs[:n], d.fresh[:n]
	d.table.Hash(keys, d.hashes)
	d.table.FindOrInsert(keys, d.hashes, d.refs, d.fresh)
	p := d.groups.plan
	for i, ref := range d.refs {
		value := d.table.Value(ref)
		mark := value[d.epochAt : d.epochAt+epochBytes]
		if binary.LittleEndian.Uint32(mark) == d.epoch {
			continue
		}
		copy(value, p.empty)
		if d.fresh[i] {
			binary.LittleEndian.PutUint32(mark[4:], uint32(keygroup.Hash(keys.Row(i))))
		}
		binary.LittleEndian.PutUint32(mark, d.epoch)
		d.touched.add(ref, int32(binary.LittleEndian.Uint32(mark[4:])))
	}
	return d.refs
}

// clear ends the bundle.
func (d *dictionary) clear() {
	for _, v := range d.groups.plan.views {
		v.forgetBundle(d.budget, d.groups.plan, d.table, d.touched.refs)
	}
	if d.groups.plan.hasArena {
		for _, ref := range d.touched.refs {
			d.groups.free(d.table.Value(ref))
		}
	}
	if n := d.table.Len(); n > max(dictionaryTimes*len(d.touched.refs), dictionaryKeeps) {
		d.table.Close()
		d.table = rowstate.NewTable(d.budget, d.options)
	}
	d.touched.clear()
	if d.epoch++; d.epoch == 0 { // after four billion bundles: no value may seem to be of this one
		d.epoch = 1
		d.table.Close()
		d.table = rowstate.NewTable(d.budget, d.options)
	}
}

func (d *dictionary) close() {
	d.table.Close()
	d.groups.close()
}

// part is rows from to to of a batch of keys.
func part(keys *rowstate.Rows, from, to int) rowstate.Rows {
	if keys.Width > 0 {
		return rowstate.Rows{Data: keys.Data[from*keys.Width : to*keys.Width], Width: keys.Width}
	}
	if len(keys.Offsets) == 0 {
		return rowstate.Rows{}
	}
	return rowstate.Rows{Data: keys.Data[:keys.Offsets[to]], Offsets: keys.Offsets[from : to+1]}
}
