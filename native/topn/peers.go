package topn

import (
	"encoding/binary"

	"drey/rowstate"
)

// Retracting a row means finding the first equal one in its group of equal sort keys. Groups are mostly small, and looked
// through. Once a partition has one that isn't, all its rows are in an index by their bytes, until it is empty. Where the
// budget has no room for the index, groups are looked through after all.

// purposePeers is what the index takes memory for.
const purposePeers = "rank index of equal sort keys"

func indexed(p *partition) bool { return binary.LittleEndian.Uint32(p.value[indexedAt:]) != 0 }

func setIndexed(p *partition, to bool) {
	v := uint32(0)
	if to {
		v = 1
	}
	binary.LittleEndian.PutUint32(p.value[indexedAt:], v)
}

// watch makes the index of a partition when a large group has grown in it, before a retraction has to: of every so many
// rows that come to a partition one is looked at.
func (s *retract) watch(p *partition, e element, rank int64) {
	if mainOf(p).Len()%(2*scanAtMost) != 0 || indexed(p) {
		return
	}
	if other := s.o.held.at(mainOf(p), rank-scanAtMost); other != 0 && s.o.held.sameGroup(other, e) {
		s.indexAll(p)
	}
}

// index enters a row that has come to an indexed partition.
func (s *retract) index(p *partition, e element) {
	if !s.peers.Add(uint64(p.ref), rowstate.Ref(e), 0) {
		s.unindex(p, e)
	}
}

// indexAll enters all rows of a partition, equal ones in the order of their arrival; false if there is no room.
func (s *retract) indexAll(p *partition) bool {
	setIndexed(p, true)
	for _, set := range []*rowstate.OrderedSet{mainOf(p), hiddenOf(p)} {
		for _, e := range s.o.held.from(set, 1) {
			if s.o.held.isGhost(e) {
				continue
			}
			if !s.peers.Add(uint64(p.ref), rowstate.Ref(e), 0) {
				s.unindex(p, e)
				return false
			}
		}
	}
	return true
}

// unindex gives the index of a partition up, in which all rows are that come before one; of those behind none need be in it.
func (s *retract) unindex(p *partition, before element) {
	for _, set := range []*rowstate.OrderedSet{mainOf(p), hiddenOf(p)} {
		for _, e := range s.o.held.from(set, 1) {
			if e != before && !s.o.held.isGhost(e) {
				s.peers.Remove(uint64(p.ref), rowstate.Ref(e))
			}
		}
	}
	setIndexed(p, false)
}
