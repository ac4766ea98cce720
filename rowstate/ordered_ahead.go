package rowstate

import "drey/simd"

// Way is a place in a set that is about to be looked at.
type Way struct {
	Set *OrderedSet // not empty
	Key []byte

	node Ref // how far Ahead has come
}

// ways is how many ways are gone at once: as many misses as a core can have under way, and some more.
const ways = 32

// lineRefs is a cache line, in the units of a Ref.
const lineRefs = 64 / refUnit

// Ahead goes the ways down to the leaves, side by side, so that their misses overlap, and appends elements that will be
// compared or emitted: up to so many of each leaf from the key's place on, and the last one of a set that is a single leaf.
// It goes by the first 8 bytes of the keys alone, and looks at no element: where these are equal it may stop too early.
// Nothing depends on it but speed.
func (o *Ordered) Ahead(all []Way, span int, elements []uint32) []uint32 {
	for len(all) > 0 {
		n := min(len(all), ways)
		elements = o.ahead(all[:n], span, elements)
		all = all[n:]
	}
	return elements
}

func (o *Ordered) ahead(all []Way, span int, elements []uint32) []uint32 {
	highest := 0
	for i := range all {
		w := &all[i]
		w.node = w.Set.root
		highest = max(highest, int(w.Set.level))
	}
	for level := highest; level >= 0; level-- {
		o.fetch(all, level)
		for i := range all {
			w := &all[i]
			if int(w.Set.level) < level {
				continue
			}
			small := nodeCap
			if w.Set.small > 0 {
				small = int(w.Set.small)
			}
			n := o.node(w.node, small)
			count := n.count()
			prefix := prefixOf(w.Key)
			at := lowest(n.prefixes()[:count], prefix)
			if level > 0 {
				if at > 0 && (at == count || n.prefixes()[at] != prefix) {
					at--
				}
				w.node = Ref(n.children()[at])
				continue
			}
			refs := n.refs()[:count]
			end := min(at+span, count)
			elements = append(elements, refs[at:end]...)
			if w.Set.level == 0 && end < count {
				elements = append(elements, refs[count-1])
			}
		}
	}
	return elements
}

// fetch asks for the nodes that have been reached at a level.
func (o *Ordered) fetch(all []Way, level int) {
	const most = (nodeBytes + 63) / 64
	var lines [ways * most]uint32
	n := 0
	for i := range all {
		w := &all[i]
		if int(w.Set.level) < level {
			continue
		}
		size := nodeBytes
		switch {
		case w.Set.small > 0:
			size = sizeOfNode(0, int(w.Set.small))
		case level == 0:
			size = leafBytes
		}
		for line := 0; line < size; line += 64 {
			lines[n] = uint32(w.node) + uint32(line/refUnit)
			n++
		}
	}
	simd.Prefetch(o.arena.base, lines[:n])
}

// lowest is the number of prefixes that are less.
func lowest(prefixes []uint64, prefix uint64) int {
	low, high := 0, len(prefixes)
	for low < high {
		if middle := int(uint(low+high) / 2); prefixes[middle] < prefix {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// Prefetch asks for the first cache lines of blocks.
func (a *Arena) Prefetch(blocks []uint32, lines int) {
	var refs [64]uint32
	for len(blocks) > 0 {
		n := copy(refs[:], blocks)
		for range lines {
			simd.Prefetch(a.base, refs[:n])
			for i := range refs[:n] {
				refs[i] += lineRefs
			}
		}
		blocks = blocks[n:]
	}
}
