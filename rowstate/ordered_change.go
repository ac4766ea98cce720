package rowstate

// Insert adds an element, unless the set has one with the same key. It returns the position of the new, or of that,
// element.
func (o *Ordered) Insert(s *OrderedSet, element uint32) (position int, added bool) {
	key := o.key(element)
	c := change{o: o, key: key, prefix: o.prefixOf(key), element: element, weight: o.weigh(element)}
	if s.count == 0 {
		*s = OrderedSet{root: o.arena.Alloc(sizeOfNode(0, smallCap)), small: smallCap}
		o.rootOf(s).setCount(0)
		o.rootOf(s).setTotal(0)
	} else if s.small > 0 && o.rootOf(s).count() == int(s.small) {
		o.enlarge(s)
	}
	split := c.insert(o.rootOf(s), int(s.level))
	if split != 0 {
		// The root was split: a new one has both halves.
		root := o.arena.Alloc(nodeBytes)
		n := o.node(root, nodeCap)
		n.setCount(2)
		n.children()[0], n.children()[1] = uint32(s.root), uint32(split)
		s.root, s.level = root, s.level+1
		o.refresh(n, 0, int(s.level)-1)
		o.refresh(n, 1, int(s.level)-1)
	}
	if c.done {
		s.count += uint32(c.weight)
	}
	return c.position, c.done
}

// enlarge doubles the capacity of a small root.
func (o *Ordered) enlarge(s *OrderedSet) {
	small := int(s.small)
	capacity := 2 * small
	old := o.rootOf(s)
	root := o.arena.Alloc(8 + capacity*12)
	n := o.node(root, capacity)
	n.setCount(old.count())
	n.setTotal(old.total())
	copy(n.prefixes(), old.prefixes())
	copy(n.refs(), old.refs())
	o.arena.Free(s.root, sizeOfNode(0, small))
	s.root, s.small = root, uint8(capacity)
	if capacity == nodeCap {
		s.small = 0
	}
}

// change is one insertion or deletion on its way down and back up.
type change struct {
	o        *Ordered
	key      []byte
	prefix   uint64
	element  uint32
	weight   int
	position int
	done     bool
	first    bool // the element became the first below the node just done
}

// insert adds the element below n. If n was split it returns the new right neighbour.
func (c *change) insert(n node, level int) (split Ref) {
	if level == 0 {
		at, equal := c.o.before(n, c.prefix, c.key)
		c.position += c.o.leading(n, at)
		if equal {
			return 0
		}
		c.done, c.first = true, at == 0
		right := Ref(0)
		if n.count() == nodeCap {
			right, n, at = c.o.splitFor(n, 0, at)
		}
		open(n, at, 0)
		n.prefixes()[at], n.refs()[at] = c.prefix, c.element
		n.setTotal(n.total() + c.weight)
		return right
	}
	i := c.o.child(n, c.prefix, c.key)
	for _, count := range n.counts()[:i] {
		c.position += int(count)
	}
	below := c.insert(c.o.childNode(n, i), level-1)
	if !c.done {
		return 0
	}
	if below == 0 {
		n.counts()[i] += uint32(c.weight)
		c.first = c.first && c.o.copyFirst(n, i)
		return 0
	}
	c.o.refresh(n, i, level-1)
	c.first = i == 0
	right, at := Ref(0), i+1
	if n.count() == nodeCap {
		right, n, at = c.o.splitFor(n, level, at)
	}
	open(n, at, level)
	n.children()[at] = uint32(below)
	c.o.refresh(n, at, level-1)
	return right
}

// splitFor moves the upper half of a full node to a new right neighbour and says where position at is now. Appending at
// the end leaves the left node full, so that elements that arrive in order fill their nodes.
func (o *Ordered) splitFor(n node, level, at int) (right Ref, into node, position int) {
	right = o.arena.Alloc(sizeOfNode(level, 0))
	r := o.node(right, nodeCap)
	keep := nodeCap / 2
	if at == nodeCap {
		keep = nodeCap - 1
	}
	r.setCount(nodeCap - keep)
	copy(r.prefixes(), n.prefixes()[keep:])
	copy(r.refs(), n.refs()[keep:])
	if level > 0 {
		copy(r.children(), n.children()[keep:])
		copy(r.counts(), n.counts()[keep:])
	}
	if level == 0 {
		kept := o.leading(n, keep)
		r.setTotal(n.total() - kept)
		n.setTotal(kept)
	}
	n.setCount(keep)
	if at > keep {
		return right, r, at - keep
	}
	return right, n, at
}

// open makes room for one more at a position.
func open(n node, at, level int) {
	count := n.count()
	copy(n.prefixes()[at+1:count+1], n.prefixes()[at:count])
	copy(n.refs()[at+1:count+1], n.refs()[at:count])
	if level > 0 {
		copy(n.children()[at+1:count+1], n.children()[at:count])
		copy(n.counts()[at+1:count+1], n.counts()[at:count])
	}
	n.setCount(count + 1)
}

// shut closes the gap at a position.
func shut(n node, at, level int) {
	count := n.count()
	copy(n.prefixes()[at:count-1], n.prefixes()[at+1:count])
	copy(n.refs()[at:count-1], n.refs()[at+1:count])
	if level > 0 {
		copy(n.children()[at:count-1], n.children()[at+1:count])
		copy(n.counts()[at:count-1], n.counts()[at+1:count])
	}
	n.setCount(count - 1)
}

// refresh copies what an inner node keeps of its child i, of the given level, from there.
func (o *Ordered) refresh(n node, i, level int) {
	child := o.childNode(n, i)
	n.prefixes()[i], n.refs()[i] = child.prefixes()[0], child.refs()[0]
	total := uint32(child.total())
	if level > 0 {
		total = 0
		for _, count := range child.counts()[:child.count()] {
			total += count
		}
	}
	n.counts()[i] = total
}

// copyFirst copies what an inner node keeps of its child's first element, and tells whether that is the node's first, too.
func (o *Ordered) copyFirst(n node, i int) bool {
	child := o.childNode(n, i)
	n.prefixes()[i], n.refs()[i] = child.prefixes()[0], child.refs()[0]
	return i == 0
}
