package agg

import (
	"bytes"

	"drey/native/changelog"
)

// hasText tells that rows that go out are not simply the beginning of a value.
func (p *plan) hasText() bool { return len(p.texts)+len(p.lists)+len(p.nested)+p.maps > 0 }

// appendRow appends the row of a value.
func (g *groups) appendRow(dst, value []byte) []byte {
	p := g.plan
	start := len(dst)
	dst = g.appendFields(dst, value)
	for _, v := range p.views[:p.maps] {
		at := len(dst)
		dst = v.appendMap(dst, value, p)
		putUint64(dst[start:], v.out.slot, uint64(at-start)<<32|uint64(len(dst)-at))
		for (len(dst)-start)&7 != 0 {
			dst = append(dst, 0)
		}
	}
	return dst
}

// appendFields appends the row of a value without its maps of distinct values.
func (g *groups) appendFields(dst, value []byte) []byte {
	p := g.plan
	start := len(dst)
	dst = append(dst, value[:p.rowSize]...)
	dst[start] = 0
	for i := range p.texts {
		c := &p.texts[i]
		if v := getUint64(value, c.slot); !c.isNull(value) && v>>63 == 0 {
			at := len(dst)
			dst = append(dst, g.text(c, value)...)
			dst = g.finishText(dst, start, at, c)
		}
	}
	for i := range p.lists {
		l := &p.lists[i]
		at := len(dst)
		var ok bool
		if dst, ok = g.appendList(l.call, dst, value); !ok {
			dst[start+int(l.out.nullAt)] |= l.out.nullMask
			putUint64(dst[start:], l.out.slot, 0)
			continue
		}
		dst[start+int(l.out.nullAt)] &^= l.out.nullMask
		dst = g.finishText(dst, start, at, &l.out)
	}
	for i := range p.nested {
		c, at := &p.nested[i], len(dst)
		dst = g.appendNested(c.call, dst, value)
		putUint64(dst[start:], c.out.slot, uint64(at-start)<<32|uint64(len(dst)-at))
	}
	return dst
}

// finishText pads a text that was appended at at, or moves it into its slot, and says in the slot where it is.
func (g *groups) finishText(dst []byte, start, at int, c *cell) []byte {
	n := len(dst) - at
	if n <= 7 {
		var word [8]byte
		copy(word[:], dst[at:])
		word[7] = 0x80 | byte(n)
		copy(dst[start+int(c.slot):], word[:])
		return dst[:at]
	}
	putUint64(dst[start:], c.slot, uint64(at-start)<<32|uint64(n))
	for (len(dst)-start)&7 != 0 {
		dst = append(dst, 0)
	}
	return dst
}

// equal is the equaliser that Flink generates for results: floats are equal if == says so, all else by value. Nulls are equal.
func (p *plan) equal(a, b []byte) bool {
	if len(p.floats) == 0 {
		return bytes.Equal(a, b)
	}
	if len(a) != len(b) {
		return false
	}
	from := int32(0)
	for i := range p.floats {
		c := &p.floats[i]
		if !bytes.Equal(a[from:c.slot], b[from:c.slot]) {
			return false
		}
		from = c.slot + 8
		// The null bits have been compared.
		if c.isNull(a) {
			continue
		}
		if c.kind == kindFloat32 && c.float32(a) != c.float32(b) || c.kind == kindFloat64 && c.float64(a) != c.float64(b) {
			return false
		}
	}
	return bytes.Equal(a[from:], b[from:])
}

// emitter makes the messages of a group: its key and its results.
type emitter struct {
	updateBefore bool
	key          changelog.Payload
	next         changelog.Payload
	rows         [2][]byte // memory of the results
}

// before remembers the results of a group before it changes.
func (e *emitter) before(g *groups, value []byte) {
	if !g.plan.hasText() {
		e.rows[0] = append(e.rows[0][:0], value[:g.plan.rowSize]...)
		e.rows[0][0] = 0
	} else {
		e.rows[0] = g.appendRow(e.rows[0][:0], value)
	}
}

// after is the row of a group's results, valid until the value changes.
func (e *emitter) after(g *groups, value []byte) []byte {
	if !g.plan.hasText() {
		return value[:g.plan.rowSize]
	}
	e.rows[1] = g.appendRow(e.rows[1][:0], value)
	return e.rows[1]
}

func (e *emitter) insert(key, row []byte, source int, out *changelog.Builder) {
	e.one(changelog.Insert, key, row, source, out)
}

// remove emits the results that were there before.
func (e *emitter) remove(key []byte, source int, out *changelog.Builder) {
	e.one(changelog.Delete, key, e.rows[0], source, out)
}

func (e *emitter) one(kind changelog.RowKind, key, row []byte, source int, out *changelog.Builder) {
	e.key = changelog.Payload{Bytes: key}
	e.next = changelog.Payload{Bytes: row}
	out.AppendJoined(kind, &e.key, &e.next, source)
}

func (e *emitter) update(key, row []byte, source int, out *changelog.Builder) {
	if e.updateBefore {
		out.AppendUpdate(key, e.rows[0], row, source)
		return
	}
	e.key = changelog.Payload{Bytes: key}
	e.next = changelog.Payload{Bytes: row}
	out.AppendJoined(changelog.UpdateAfter, &e.key, &e.next, source)
}
