// Package snapshot is what the snapshots of all keyed operators have in common: state is written and read key group by key
// group, so that rescaling is Flink's own redistribution.
//
// A key group with entries is one frame stream (see rowstate). The first frame is the identity of the state, as canonical
// JSON: what two specifications must have in common so that the state of one is of use to the other. The header's
// fingerprint is that of the identity. Each of the other frames holds whole items, one behind the other; what an item is,
// is the operator's. A key group without entries is an empty stream.
//
//	header    magic, version, fingerprint of the identity
//	frame 0   {"function":"AppendOnlyTopN","operator":"rank",...}
//	frame 1   item item item ...      no item more once it has 32 KiB
//	frame 2   item ...
//	end       number of frames
//
// Within items, lengths are varints and numbers 8 bytes, little-endian.
//
// An operator has a State. To take a snapshot it names the tables whose entries belong to it, and what to write of an entry;
// to restore one it reads the items of a frame:
//
//	o.state.Take(groups, snapshot.Part{Table: o.table, Write: func(ref rowstate.Ref, w *snapshot.Writer) {
//		w.Bytes(o.table.Key(ref))
//		w.Uint64(o.count(ref))
//	}})
//
//	o.state.Restore(group, r, func(r *snapshot.Reader) error {
//		return r.Each(func() error {
//			key, err := r.Key(o.projector)
//			...
//		})
//	})
//
// Nothing is copied when a snapshot is taken: the state must not change before its last key group has been written.
package snapshot
