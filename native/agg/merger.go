package agg

import (
	"fmt"

	"drey/native/binrow"
	"drey/native/changelog"
	"drey/native/logical"
	"drey/native/op"
	"drey/rowstate"
)

// merger is the first half of the phases whose input is another phase's accumulators: it merges what comes for a key in a
// bundle. What it has is handed on when the bundle ends.
type merger struct {
	name       string
	layout     *binrow.Layout
	projector  *binrow.Projector
	needed     []int
	keys       rowstate.Rows
	dictionary *dictionary
	fromInput  []source
	maps       []cell     // columns of distinct values
	arrived    []incoming // distinct values of a batch
	at         []int      // how many of them have been merged
	bundle     bundle
	held       int64 // distinct values in the bundle
	heldBytes  int64
	nested     amount // what accumulators hold that are rows: of a batch
	elements   amount // and of the bundle
	batchBytes int64  // of the batch's keys and rows
}

// newMerger makes the merger of rows that begin with the grouping columns. r asks for partial accumulators.
func newMerger(name string, r request, grouping []int, input logical.Row, size int64, budget *rowstate.Budget) (*merger, error) {
	p, err := newPlan(r)
	if err != nil {
		return nil, err
	}
	types := input.Types()
	m := &merger{name: name, bundle: bundle{size: size}}
	if m.layout, err = layoutOf(types); err != nil {
		return nil, err
	}
	if m.projector, err = binrow.NewProjector(types, grouping); err != nil {
		return nil, op.Unsupportedf("grouping: %w", err)
	}
	if m.fromInput, err = newSources(p.calls, p.accumulators, types, len(grouping)); err != nil {
		return nil, err
	}
	at := len(grouping)
	for _, fields := range p.accumulators {
		at += len(fields)
	}
	if m.maps, err = mapSources(p, types, at); err != nil {
		return nil, err
	}
	m.arrived, m.at = make([]incoming, len(m.maps)), make([]int, len(m.maps))
	for i, t := range types[len(grouping):] {
		if phys, err := physicalOf(t); err != nil || phys.kind == kindBytes || phys.room() > 0 {
			m.needed = append(m.needed, len(grouping)+i)
		}
	}
	m.dictionary = newDictionary(p, m.projector.Width(), budget)
	return m, nil
}

// read reads a batch, before anything has changed.
func (m *merger) read(input int, in *changelog.Batch) error {
	if input != 0 {
		return op.Invalidf("%s: input %d, there is only input 0", m.name, input)
	}
	if err := check(m.layout, m.needed, in); err != nil {
		return op.Corruptf("%s: %w", m.name, err)
	}
	if err := m.projector.Project(in, &m.keys); err != nil {
		return op.Corruptf("%s: %w", m.name, err)
	}
	for i := range m.maps {
		if err := m.arrived[i].read(m.dictionary.groups.plan.views[i], in, &m.maps[i]); err != nil {
			return op.Corruptf("%s: %w", m.name, err)
		}
	}
	var err error
	if m.nested, err = m.dictionary.groups.readNested(m.fromInput, in); err != nil {
		return op.Corruptf("%s: %w", m.name, err)
	}
	return nil
}

// reserve makes room in the bundle for the batch that was read, and in a state for the keys and distinct values of the whole
// bundle.
func (m *merger) reserve(in *changelog.Batch, state *keyed) error {
	n, keyBytes, rowBytes := in.Len(), int64(len(m.keys.Data)), int64(len(in.Data))
	d := m.dictionary
	arrived := amount{rows: n, elements: n + m.nested.elements, bytes: rowBytes + m.nested.bytes}
	if err := d.reserve(keyBytes, arrived); err != nil {
		return err
	}
	for i, v := range d.groups.plan.views {
		values, bytes := len(m.arrived[i].rows), int64(len(m.arrived[i].contents.Data))
		if err := v.table.Reserve(values, bytes+4*int64(values)); err != nil {
			return err
		}
		m.held, m.heldBytes = m.held+int64(values), m.heldBytes+bytes+4*int64(values)
	}
	rows := n + len(d.touched.refs)
	m.bundle.bytes += keyBytes + rowBytes
	m.batchBytes = keyBytes + rowBytes
	if err := state.table.Reserve(rows, m.bundle.bytes); err != nil {
		return err
	}
	for _, v := range state.groups.plan.views {
		if err := v.table.Reserve(int(m.held), m.heldBytes); err != nil {
			return err
		}
	}
	m.elements = m.elements.plus(m.nested)
	return nil
}

// whole is what the bundle has with the batch for which room was made: to be reserved where its accumulators go.
func (m *merger) whole(in *changelog.Batch) amount {
	rows := in.Len() + len(m.dictionary.touched.refs)
	return amount{rows: rows, elements: rows + m.elements.elements, bytes: m.bundle.bytes + m.elements.bytes}
}

// take merges the batch that was read, and ends the bundle as often as it is full.
func (m *merger) take(in *changelog.Batch, finish func() error) error {
	n, d := in.Len(), m.dictionary
	clear(m.at)
	for from := 0; from < n; {
		rows, full := m.bundle.split(n - from)
		keys := part(&m.keys, from, from+rows)
		refs := d.find(&keys)
		for i, ref := range refs {
			d.groups.merge(m.fromInput, from+i, d.table.Value(ref), in.Row(from+i))
		}
		for i, v := range d.groups.plan.views {
			m.at[i] = v.mergeIncoming(d.groups, d.table, refs, &m.arrived[i], m.at[i], from, from+rows)
		}
		if d.groups.err != nil {
			return fmt.Errorf("%s: %w", m.name, d.groups.err)
		}
		m.bundle.elements += int64(rows)
		from += rows
		if full {
			if err := finish(); err != nil {
				return err
			}
			m.hold(n - from)
		}
	}
	return nil
}

// hold notes what the last rows of a batch, which are for the next bundle, bring at most.
func (m *merger) hold(rows int) {
	if rows == 0 {
		return
	}
	m.bundle.bytes, m.elements = m.batchBytes, m.nested
	for i := range m.arrived {
		values := int64(len(m.arrived[i].rows))
		m.held, m.heldBytes = m.held+values, m.heldBytes+int64(len(m.arrived[i].contents.Data))+4*values
	}
}

// clear ends the bundle.
func (m *merger) clear() {
	m.bundle.elements, m.bundle.bytes, m.held, m.heldBytes = 0, 0, 0, 0
	m.elements = amount{}
	m.dictionary.clear()
}

// mergingState is what an operator has that merges accumulators per bundle first, then with its state.
type mergingState struct {
	keyed
	*merger
}

// Snapshot is the state's. Rows in a bundle are no state: the host ends the bundle first.
func (o *mergingState) Snapshot(groups op.KeyGroups) (op.Snapshot, error) {
	if err := o.bundle.isEmpty(o.keyed.name); err != nil {
		return nil, err
	}
	return o.keyed.Snapshot(groups)
}

// Stats has Flink's metrics of a bundle, then what the state takes.
func (o *mergingState) Stats(dst []op.Stat) []op.Stat {
	return o.keyed.Stats(o.bundle.stats(dst, len(o.dictionary.touched.refs)))
}

// Close frees all memory.
func (o *mergingState) Close() {
	if !o.closed {
		o.closed = true
		o.close()
		o.dictionary.close()
	}
}
