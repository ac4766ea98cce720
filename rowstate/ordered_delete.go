package rowstate

// spot is a place in a set, and the way there.
type spot struct {
	steps    [maxLevel]turn // by level; that of the leaf is in none
	leaf     node
	at       int // in the leaf
	position int
}

type turn struct {
	n node
	i int // of the child
}

// Seek goes to a key: the number of elements with a key less than it, and the first one with another, or 0. DeleteSought takes
// that one out, if the set has not changed since.
func (o *Ordered) Seek(s *OrderedSet, key []byte) (position int, element uint32) {
	if s.count == 0 {
		return 0, 0
	}
	o.seek(s, key)
	p := &o.spot
	if p.at == p.leaf.count() && !o.nextLeaf(int(s.level)) {
		return p.position, 0
	}
	return p.position, p.leaf.refs()[p.at]
}

func (o *Ordered) seek(s *OrderedSet, key []byte) (found bool) {
	p, prefix := &o.spot, o.prefixOf(key)
	p.position = 0
	n := o.rootOf(s)
	for level := int(s.level); level > 0; level-- {
		i := o.child(n, prefix, key)
		for _, c := range n.counts()[:i] {
			p.position += int(c)
		}
		p.steps[level-1] = turn{n, i}
		n = o.childNode(n, i)
	}
	p.leaf = n
	p.at, found = o.before(n, prefix, key)
	p.position += o.leading(n, p.at)
	return found
}

// nextLeaf goes from behind the end of a leaf to the beginning of the next one; false if there is none.
func (o *Ordered) nextLeaf(top int) bool {
	p := &o.spot
	for level := range top {
		at := &p.steps[level]
		if at.i+1 == at.n.count() {
			continue
		}
		at.i++
		n := o.childNode(at.n, at.i)
		for ; level > 0; level-- {
			p.steps[level-1] = turn{n, 0}
			n = o.childNode(n, 0)
		}
		p.leaf, p.at = n, 0
		return true
	}
	return false
}

// Delete takes the element with that key out. It returns the element, or 0, and the position it had.
func (o *Ordered) Delete(s *OrderedSet, key []byte) (position int, element uint32) {
	if s.count == 0 {
		return 0, 0
	}
	if !o.seek(s, key) {
		return o.spot.position, 0
	}
	return o.spot.position, o.DeleteSought(s)
}

// DeleteAt takes the element at a position out and returns it.
func (o *Ordered) DeleteAt(s *OrderedSet, position int) uint32 {
	if uint(position) >= uint(s.count) {
		panic("rowstate: position outside an ordered set")
	}
	p := &o.spot
	p.leaf, p.at, _ = o.leafAt(s, position, &p.steps)
	return o.DeleteSought(s)
}

// DeleteSought takes the element out that Seek has found, and returns it.
func (o *Ordered) DeleteSought(s *OrderedSet) uint32 {
	p := &o.spot
	element := p.leaf.refs()[p.at]
	weight := o.weigh(element)
	p.leaf.setTotal(p.leaf.total() - weight)
	shut(p.leaf, p.at, 0)
	first := p.at == 0
	for level := range int(s.level) {
		at := &p.steps[level]
		at.n.counts()[at.i] -= uint32(weight)
		first = o.repair(at.n, at.i, level, first)
	}
	s.count -= uint32(weight)
	for s.level > 0 && o.rootOf(s).count() == 1 {
		old := s.root
		s.root = Ref(o.rootOf(s).children()[0])
		o.arena.Free(old, nodeBytes)
		s.level--
	}
	if s.count == 0 {
		o.arena.Free(s.root, sizeOfNode(0, int(s.small)))
		*s = OrderedSet{}
	}
	return element
}

// repair brings an inner node up to date after its child i, of the given level, lost an element, perhaps its first one: an
// empty child goes, a small one joins a neighbour. It tells whether the node's first element may be another one now.
func (o *Ordered) repair(n node, i, level int, first bool) bool {
	child := o.childNode(n, i)
	count := child.count()
	if count == 0 {
		o.arena.Free(Ref(n.children()[i]), sizeOfNode(level, 0))
		shut(n, i, level+1)
		return i == 0
	}
	if first {
		first = o.copyFirst(n, i)
	}
	// To look at the neighbours costs a cache miss each. Of those that together have just become few enough one is small, or is
	// found to be a little later.
	if count > mergeAt || count > mergeAt/2 && count%4 != 0 {
		return first
	}
	left := i
	switch {
	case i+1 < n.count() && count+o.childNode(n, i+1).count() <= mergeAt:
	case i > 0 && count+o.childNode(n, i-1).count() <= mergeAt:
		left = i - 1
	default:
		return first
	}
	a, b := o.childNode(n, left), o.childNode(n, left+1)
	from, count := a.count(), b.count()
	copy(a.prefixes()[from:], b.prefixes()[:count])
	copy(a.refs()[from:], b.refs()[:count])
	if level > 0 {
		copy(a.children()[from:], b.children()[:count])
		copy(a.counts()[from:], b.counts()[:count])
	} else {
		a.setTotal(a.total() + b.total())
	}
	a.setCount(from + count)
	n.counts()[left] += n.counts()[left+1]
	o.arena.Free(Ref(n.children()[left+1]), sizeOfNode(level, 0))
	shut(n, left+1, level+1)
	return first
}
