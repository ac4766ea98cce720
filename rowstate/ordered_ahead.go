package rowstate

import "drey/simd"

// Way is a place in a set that is about to be looked at.
type Way struct {
	Set *OrderedSet
	Key []byte
}

// lineRefs is a cache line, in the units of a Ref.
const lineRefs = 64 / refUnit

// Ahead goes to the keys' places in small sets, those of a single node, side by side so that their misses overlap. It appends
// elements that will be compared or emitted: up to so many from the key's place on, and the last one. It goes by the first 8
// bytes of the keys alone, and looks at no element. Larger sets it leaves out: they are few, their upper nodes are in the cache,
// and going down twice costs more than the last miss. Nothing depends on it but speed.
func (o *Ordered) Ahead(ways []Way, span int, elements []uint32) []uint32 {
	var lines [64]uint32
	n := 0
	for i := range ways {
		s := ways[i].Set
		if s.count == 0 || s.level > 0 {
			continue
		}
		for at := 0; at < sizeOfNode(0, int(s.small)); at += 64 {
			if n == len(lines) {
				simd.Prefetch(o.arena.base, lines[:])
				n = 0
			}
			lines[n] = uint32(s.root) + uint32(at/refUnit)
			n++
		}
	}
	simd.Prefetch(o.arena.base, lines[:n])
	for i := range ways {
		s := ways[i].Set
		if s.count == 0 || s.level > 0 {
			continue
		}
		leaf := o.rootOf(s)
		count := leaf.count()
		at := leaf.lowest(count, o.prefixOf(ways[i].Key))
		end := min(at+span, count)
		elements = append(elements, leaf.refs()[at:end]...)
		if end < count {
			elements = append(elements, leaf.refs()[count-1])
		}
	}
	return elements
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
