package topn

import (
	"bytes"
	"encoding/binary"

	"drey/native/changelog"
	"drey/rowstate"
)

// skews says of skewed groups how many rows their lists have more than their counts say. The table is made with the first.
type skews struct {
	table *rowstate.Table // partition key and sort key to int64
	key   rowstate.Rows
}

func (k *skews) init(o *Operator) {
	if k.table == nil {
		k.table = rowstate.NewTable(o.budget, rowstate.TableOptions{ValueSize: 8, Purpose: purposeKeys})
	}
}

// reserve makes room for the groups that a batch can skew: one per retraction, if there was one at all.
func (k *skews) reserve(o *Operator, in *changelog.Batch) error {
	retractions := 0
	for _, kind := range in.Kinds {
		if !kind.IsAccumulate() {
			retractions++
		}
	}
	if retractions == 0 {
		return nil
	}
	k.init(o)
	return k.table.Reserve(retractions, int64(len(o.keys.Data)+2*len(in.Data)+64*in.Len()))
}

func (k *skews) find(o *Operator, p partition, sortKey []byte, insert bool) (rowstate.Ref, bool) {
	partition := o.table.Key(p.ref)
	k.key.Reset(0)
	key := k.key.Extend(len(partition) + len(sortKey))
	copy(key[copy(key, partition):], sortKey)
	var hash [1]uint64
	var ref [1]rowstate.Ref
	var fresh [1]bool
	k.table.Hash(&k.key, hash[:])
	if insert {
		k.table.FindOrInsert(&k.key, hash[:], ref[:], fresh[:])
	} else {
		k.table.Find(&k.key, hash[:], ref[:])
	}
	return ref[0], fresh[0]
}

// left is how many rows a group's list has too many.
func (k *skews) left(o *Operator, p partition, sortKey []byte) int64 {
	ref, _ := k.find(o, p, sortKey, false)
	if ref == 0 {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(k.table.Value(ref)))
}

// add changes a group's skew, and the partition's number of skewed groups when one begins or ends.
func (k *skews) add(o *Operator, p partition, sortKey []byte, delta int64) {
	ref, fresh := k.find(o, p, sortKey, true)
	value := k.table.Value(ref)
	left := int64(binary.LittleEndian.Uint64(value)) + delta
	binary.LittleEndian.PutUint64(value, uint64(left))
	skewed := binary.LittleEndian.Uint32(p.value[skewedAt:])
	if fresh {
		skewed++
	}
	if left == 0 {
		skewed--
		k.table.Delete(ref)
	}
	binary.LittleEndian.PutUint32(p.value[skewedAt:], skewed)
}

func (k *skews) restore(o *Operator, p partition, sortKey []byte, left int64) error {
	k.init(o)
	if err := k.table.Reserve(1, int64(len(sortKey)+len(o.table.Key(p.ref)))); err != nil {
		return err
	}
	k.add(o, p, sortKey, left)
	return nil
}

func (k *skews) close() {
	if k.table != nil {
		k.table.Close()
	}
}

// group is stock's view of a group of equal sort keys.
type group struct {
	sortKey []byte
	rows    []element // the list
	count   int64     // 0: stock's sorted map has no such key
}

// groups is stock's view of a partition. It is made for skewed partitions only, where work is linear.
func (s *retract) groups(p partition, set *rowstate.OrderedSet) []group {
	h := &s.o.held
	var list []group
	for _, e := range h.from(set, 1) {
		key := h.sortKey(e)
		if n := len(list); n == 0 || !bytes.Equal(list[n-1].sortKey, key) {
			list = append(list, group{sortKey: key})
		}
		g := &list[len(list)-1]
		g.rows = append(g.rows, e)
	}
	for i := range list {
		g := &list[i]
		g.count = int64(len(g.rows)) - s.skews.left(s.o, p, g.sortKey)
	}
	return list
}

// addSkewed is emitRecordsWithRowNumber and emitRecordsWithoutRowNumber.
func (s *retract) addSkewed(p partition, set *rowstate.OrderedSet, row []byte, source int, out *changelog.Builder) {
	o, h := s.o, &s.o.held
	e := h.add(o.sortKey, row)
	h.insert(set, e)
	rank, found := int64(0), false
	carry := []byte(nil)
	var deleted element
	for _, g := range s.groups(p, set) {
		if rank > p.end {
			break
		}
		switch own := bytes.Equal(g.sortKey, o.sortKey); {
		case g.count == 0:
		case own:
			rank += g.count
			carry, found = h.row(e), true
		case !found:
			rank += g.count
		case o.out.withNumber:
			for _, other := range g.rows {
				if rank > p.end {
					break
				}
				o.out.emit(out, changelog.UpdateBefore, h.row(other), rank, p.end, source)
				o.out.emit(out, changelog.UpdateAfter, carry, rank, p.end, source)
				carry = h.row(other)
				rank++
			}
		case rank+g.count <= p.end:
			rank += g.count
		default:
			deleted = g.rows[p.end-rank]
			rank = p.end + 1
		}
		if own := bytes.Equal(g.sortKey, o.sortKey); own && !o.out.withNumber && rank > p.end {
			return // beyond the range: nothing goes in or out
		}
	}
	switch {
	case o.out.withNumber:
		o.out.emit(out, changelog.Insert, carry, rank, p.end, source)
	case found:
		if deleted != 0 {
			out.Append(changelog.Delete, h.row(deleted), source)
		}
		out.Append(changelog.Insert, h.row(e), source)
	}
}

// removeSkewed is retractRecordWithRowNumber and retractRecordWithoutRowNumber, and what comes behind them.
func (s *retract) removeSkewed(p partition, set *rowstate.OrderedSet, source int, out *changelog.Builder) {
	o, h := s.o, &s.o.held
	gone, _, _ := s.find(set)
	groups := s.groups(p, set)
	if o.out.withNumber {
		s.retractNumbered(p, groups, gone, source, out)
	} else {
		s.retractPlain(p, groups, gone, source, out)
	}
	// The count goes down if stock's sorted map has the key, whether or not there was a row to remove.
	for _, g := range groups {
		if !bytes.Equal(g.sortKey, o.sortKey) {
			continue
		}
		lowered, removed := g.count > 0, gone != 0
		switch {
		case lowered && !removed:
			s.skews.add(o, p, o.sortKey, 1)
		case !lowered && removed:
			s.skews.add(o, p, o.sortKey, -1)
		}
	}
	if gone != 0 {
		h.order.Delete(set, h.key(gone))
		h.free(gone)
	}
}

func (s *retract) retractNumbered(p partition, groups []group, gone element, source int, out *changelog.Builder) {
	o, h := s.o, &s.o.held
	rank, previous := int64(0), []byte(nil)
	for _, g := range groups {
		if rank > p.end {
			break
		}
		own := bytes.Equal(g.sortKey, o.sortKey)
		if g.count == 0 {
			continue
		}
		if !own && previous == nil {
			rank += g.count
			continue
		}
		for _, other := range g.rows {
			if rank > p.end {
				break
			}
			switch {
			case previous != nil:
				o.out.emit(out, changelog.UpdateBefore, previous, rank, p.end, source)
				o.out.emit(out, changelog.UpdateAfter, h.row(other), rank, p.end, source)
				previous = h.row(other)
			case other == gone:
				previous = h.row(other)
			}
			rank++
		}
	}
	if previous != nil {
		o.out.emit(out, changelog.Delete, previous, rank, p.end, source)
	}
}

func (s *retract) retractPlain(p partition, groups []group, gone element, source int, out *changelog.Builder) {
	o, h := s.o, &s.o.held
	next, found := int64(1), false
	for _, g := range groups {
		if next > p.end {
			return
		}
		switch own := bytes.Equal(g.sortKey, o.sortKey); {
		case g.count == 0:
		case own:
			for _, other := range g.rows {
				if next > p.end {
					break
				}
				switch {
				case !found && other == gone:
					o.out.emit(out, changelog.Delete, h.row(other), next, p.end, source)
					found = true
					continue
				case found && next == p.end:
					o.out.emit(out, changelog.Insert, h.row(other), next, p.end, source)
				}
				next++
			}
		case !found:
			next += g.count
		case next+g.count-1 < p.end:
			next += g.count
		default:
			out.Append(changelog.Insert, h.row(g.rows[p.end-next]), source)
			return
		}
	}
}
