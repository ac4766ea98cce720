package agg

import (
	"drey/native/changelog"
	"drey/rowstate"
)

// shortRun is up to how many rows a run is not worth its loops.
const shortRun = 2

// runSlots is how many groups a run tells apart. It takes some for the same that are not, and is the shorter.
const runSlots = 1 << 13

// run is rows of a batch in which no group comes twice. They can be applied call by call, as in a bundle, since nobody looks at a
// group in between, and the memory of one group is fetched while another is at work (BenchmarkPush). Where groups come so often
// that runs are short, rows are applied one by one.
type run struct {
	seen   [runSlots]uint32 // by hash of its ref, the run that has had the group
	number uint32
	refs   []rowstate.Ref // of the run's rows; 0 for those without effect
	first  []bool
	before []byte // the results before of each row
}

// appliesInRuns tells whether results are the beginning of a value, and no call can fail or has distinct values.
func (p *plan) appliesInRuns() bool {
	if p.hasText() || len(p.views) > 0 {
		return false
	}
	for _, k := range p.calls {
		if k.op == opSingle {
			return false
		}
	}
	return true
}

func runSlot(ref rowstate.Ref) uint32 { return uint32(ref) * 0x9e3779b1 >> (32 - 13) }

// runFrom is the end of the run of rows that begins at from.
func (o *Operator) runFrom(from int) int {
	r := &o.run
	if r.number++; r.number == 0 {
		clear(r.seen[:])
		r.number = 1
	}
	for i, ref := range o.refs[from:] {
		seen := &r.seen[runSlot(ref)]
		if *seen == r.number {
			return from + i
		}
		*seen = r.number
	}
	return len(o.refs)
}

func (o *Operator) applyRuns(in *changelog.Batch, out *changelog.Builder) {
	insertOnly := isInsertOnly(in)
	for from := 0; from < len(o.refs); {
		to := o.runFrom(from)
		if to-from > shortRun {
			o.applyRun(from, to, in, insertOnly, out)
		} else {
			for i := from; i < to; i++ {
				o.apply(i, in.Kinds[i].IsAccumulate(), o.refs[i], in.Row(i), out)
			}
		}
		from = to
	}
}

// applyRun is apply of rows that are of different groups.
func (o *Operator) applyRun(from, to int, in *changelog.Batch, insertOnly bool, out *changelog.Builder) {
	g, r := o.groups, &o.run
	p, table := g.plan, o.table
	n := to - from
	r.refs = append(r.refs[:0], o.refs[from:to]...)
	if cap(r.first) < n {
		r.first, r.before = make([]bool, n), make([]byte, n*p.rowSize)
	}
	first, before := r.first[:n], r.before[:cap(r.before)]
	for i, ref := range r.refs {
		value := table.Value(ref)
		first[i] = !o.visible(value)
		switch {
		case !first[i]:
			copy(before[i*p.rowSize:], value[:p.rowSize])
			before[i*p.rowSize] = 0
		case in.Kinds[from+i].IsAccumulate():
			o.begin(value)
		default:
			o.dead = append(o.dead, ref)
			r.refs[i] = 0
			insertOnly = false
		}
	}
	g.applyColumns(table, r.refs, in, from, insertOnly)
	kept := o.emit.rows[0]
	for i, ref := range r.refs {
		if ref == 0 {
			continue
		}
		value := table.Value(ref)
		p.derive(value)
		o.emit.rows[0] = before[i*p.rowSize : (i+1)*p.rowSize]
		o.answerRow(from+i, ref, value, first[i], out)
	}
	o.emit.rows[0] = kept
}
