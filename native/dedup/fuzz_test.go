package dedup_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"drey/native/changelog"
	"drey/native/optest"
	"drey/native/spec"
)

// restorable are variants whose state looks different.
var restorable = []spec.Deduplicate{
	{KeepLastRow: true, GenerateInsert: true},
	{KeepLastRow: true, IsRowtime: true, GenerateInsert: true, StateTTLMillis: 100, UniqueKeys: []int{1, 0}},
	{OutputInsertOnly: true},
	{OutputInsertOnly: true, StateTTLMillis: 100},
	{IsRowtime: true, OutputInsertOnly: true},
	{IsRowtime: true, OutputInsertOnly: true, StateTTLMillis: 100},
}

// groupWithKeys is the only key group with anything in it.
func groupWithKeys(groups map[int][]byte) (int, []byte) {
	for g, b := range groups {
		if len(b) > 0 {
			return g, b
		}
	}
	return 0, nil
}

// FuzzRestore: whatever a snapshot holds, restoring it is an error or gives an operator that works.
func FuzzRestore(f *testing.F) {
	for variant, s := range restorable {
		x := open(f, s, 1<<24)
		x.push(`+I 1 "a string" 1`)
		group, b := groupWithKeys(optest.TakeSnapshot(f, x.op, optest.Groups))
		f.Add(variant, group, b)
		x.close()
	}
	f.Fuzz(func(t *testing.T, variant, group int, b []byte) {
		if variant < 0 || variant >= len(restorable) {
			return
		}
		x := open(t, restorable[variant], 1<<24)
		defer x.close()
		if x.op.Restore(group, bytes.NewReader(b)) != nil {
			return
		}
		use(x)
	})
}

// FuzzRestoreEntries does the same behind the frames' checksums.
func FuzzRestoreEntries(f *testing.F) {
	for variant, s := range restorable {
		x := open(f, s, 1<<24)
		x.push(`+I 1 "a string" 1`)
		group, b := groupWithKeys(optest.TakeSnapshot(f, x.op, optest.Groups))
		length := binary.LittleEndian.Uint32(b[16:])
		entries := b[16+8+length:]
		f.Add(variant, group, entries[8:8+binary.LittleEndian.Uint32(entries)])
		x.close()
	}
	f.Fuzz(func(t *testing.T, variant, group int, entries []byte) {
		if variant < 0 || variant >= len(restorable) {
			return
		}
		// The frames of an operator that has a key, with its entries replaced.
		y := open(t, restorable[variant], 1<<24)
		y.push(`+I 1 "a string" 1`)
		_, b := groupWithKeys(optest.TakeSnapshot(t, y.op, optest.Groups))
		y.close()
		b = b[:16+8+binary.LittleEndian.Uint32(b[16:])]
		b = binary.LittleEndian.AppendUint32(b, uint32(len(entries)))
		b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(entries, crc32.MakeTable(crc32.Castagnoli)))
		b = append(b, entries...)
		count := binary.LittleEndian.AppendUint64(nil, 2)
		b = binary.LittleEndian.AppendUint32(b, 1<<32-1)
		b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(count, crc32.MakeTable(crc32.Castagnoli)))
		b = append(b, count...)

		x := open(t, restorable[variant], 1<<24)
		defer x.close()
		if x.op.Restore(group, bytes.NewReader(b)) != nil {
			return
		}
		use(x)
		optest.TakeSnapshot(t, x.op, optest.Groups)
	})
}

// use plays a little with a restored operator.
func use(x *fixture) {
	x.now = 50
	x.push(`+I 1 "a string" 3`, `+I 1 "another" 0`, `+I NULL NULL NULL`)
	if err := x.op.Watermark(2, x.out); err != nil {
		x.t.Fatal(err)
	}
	if err := x.op.ProcessingTime(1<<40, x.out); err != nil {
		x.t.Fatal(err)
	}
	x.drain()
}

// FuzzPush: no bytes that come as a batch make the operator fail in another way than by an error.
func FuzzPush(f *testing.F) {
	x := open(f, restorable[1], 1<<24)
	b := x.batch(`+I 1 "a string of some length" 1`, `+I 2 "b" 2`)
	f.Add(0, b.Data, int32(0), b.Offsets[1], b.Offsets[2])
	f.Add(1, b.Data, int32(0), b.Offsets[1], b.Offsets[2])
	x.close()
	f.Fuzz(func(t *testing.T, variant int, data []byte, a, b, c int32) {
		if variant < 0 || variant >= len(restorable) {
			return
		}
		x := open(t, restorable[variant], 1<<24)
		defer x.close()
		in := &changelog.Batch{Kinds: make([]changelog.RowKind, 2), Offsets: []int32{a, b, c}, Data: data}
		if x.op.Push(0, in, x.out) != nil {
			return
		}
		use(x)
	})
}
