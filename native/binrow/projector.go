package binrow

import (
	"encoding/binary"
	"fmt"

	"drey/native/changelog"
	"drey/native/logical"
	"drey/rowstate"
)

// padding is how many bytes behind the last row of a batch of keys kernels may read (see rowstate.Rows).
const padding = 64

// Projector copies some columns of each row into a row of their own: the key. The bytes are those that the projections
// Flink generates (ProjectionCodeGenerator) would write, nulls included.
type Projector struct {
	in, out *Layout
	columns []int
	steps   []step
	width   int  // of every key, or 0 if lengths vary
	words   bool // every key column is a slot, and all null bits share the header's word
}

// step copies one key column in the fast path.
type step struct {
	from     int    // slot in the row
	nullByte int    // where its null bit is
	nullBit  uint8  // and which
	to       int    // slot in the key
	mask     uint64 // what of the slot belongs to the value
}

// NewProjector makes a projector of the columns of rows of the given types. A column may come twice.
func NewProjector(types []logical.Type, columns []int) (*Projector, error) {
	in, err := NewLayout(types)
	if err != nil {
		return nil, err
	}
	keyTypes := make([]logical.Type, len(columns))
	for i, c := range columns {
		if c < 0 || c >= len(types) {
			return nil, fmt.Errorf("column %d out of range [0,%d)", c, len(types))
		}
		keyTypes[i] = types[c]
	}
	out, err := NewLayout(keyTypes)
	if err != nil {
		return nil, err
	}
	p := &Projector{in: in, out: out, columns: columns, steps: make([]step, len(columns)), width: out.fixed}
	p.words = out.nullBytes == 8
	constant := true
	for i, c := range columns {
		p.steps[i] = step{from: in.Slot(c), nullByte: (c + 8) >> 3, nullBit: uint8(c & 7), to: out.Slot(i)}
		switch class := out.classes[i]; class {
		case byte1, byte2, byte4, byte8:
			p.steps[i].mask = ^uint64(0) >> (64 - 8<<class)
		case decimal16:
			p.words, p.width = false, p.width+16
		case time12:
			p.words, p.width = false, p.width+8
		default:
			p.words, constant = false, false
		}
	}
	if !constant {
		p.width = 0
	}
	return p, nil
}

// Width is the length of every key, or 0 if they vary.
func (p *Projector) Width() int { return p.width }

// Layout is the keys' layout.
func (p *Projector) Layout() *Layout { return p.out }

// Project writes the keys of a batch into dst, one per row. The batch has passed the input layout's CheckBatch. A key
// column that can't be read is an error, and dst is then of no use.
func (p *Projector) Project(b *changelog.Batch, dst *rowstate.Rows) error {
	dst.Reset(p.width)
	if p.words {
		p.projectWords(b, dst)
		return nil
	}
	for i := range b.Len() {
		row := b.Row(i)
		for _, c := range p.columns {
			if err := p.in.CheckField(row, c); err != nil {
				return fmt.Errorf("row %d: %w", i, err)
			}
		}
		p.fill(row, dst.Extend(p.size(row)))
	}
	return nil
}

// ProjectMixed is Project of a batch of rows of two inputs, each of which has its projector. Their keys have the same types.
// The columns of the keys are known to be readable.
func ProjectMixed(p [2]*Projector, b *changelog.Batch, dst *rowstate.Rows) {
	width := p[0].width
	dst.Reset(width)
	if !p[0].words || !p[1].words {
		for i, input := range b.Inputs {
			p[input].Append(b.Row(i), dst)
		}
		return
	}
	out := extend(dst, b.Len(), width)
	for i, input := range b.Inputs {
		p[input].word(b.Data[b.Offsets[i]:b.Offsets[i+1]], out[i*width:][:width:width])
	}
}

// extend makes an empty batch one of n rows of a width, of any content.
func extend(dst *rowstate.Rows, n, width int) []byte {
	if cap(dst.Data) < n*width+padding {
		dst.Data = make([]byte, n*width, 2*n*width+padding)
	}
	dst.Data = dst.Data[:n*width]
	return dst.Data
}

// projectWords is the fast path: no column points anywhere, so a key is its header and one masked word per column.
// BenchmarkProject has its time.
func (p *Projector) projectWords(b *changelog.Batch, dst *rowstate.Rows) {
	n, width := b.Len(), p.width
	out := extend(dst, n, width)
	if len(p.steps) == 1 {
		p.steps[0].project(b, out)
		return
	}
	for i := range n {
		p.word(b.Data[b.Offsets[i]:b.Offsets[i+1]], out[i*width:][:width:width])
	}
}

// project is projectWords for keys of one column, the usual ones.
func (s step) project(b *changelog.Batch, out []byte) {
	data, from, nullByte := b.Data, s.from, s.nullByte
	for _, at := range b.Offsets[:b.Len()] {
		row := data[at:]
		null := uint64(row[nullByte]>>(s.nullBit&7)) & 1
		binary.LittleEndian.PutUint64(out, null<<8)
		binary.LittleEndian.PutUint64(out[8:], binary.LittleEndian.Uint64(row[from:])&s.mask&(null-1))
		out = out[16:]
	}
}

func (p *Projector) word(row, key []byte) {
	header := uint64(0)
	for k := range p.steps {
		s := &p.steps[k]
		null := uint64(row[s.nullByte]>>(s.nullBit&7)) & 1
		header |= null << (uint(k+8) & 63)
		// A null's slot is 0, whatever the row has there.
		binary.LittleEndian.PutUint64(key[s.to:], binary.LittleEndian.Uint64(row[s.from:])&s.mask&(null-1))
	}
	binary.LittleEndian.PutUint64(key, header)
}

// Append adds the key of one row, which has passed Check or is known to be good, to dst.
func (p *Projector) Append(row []byte, dst *rowstate.Rows) {
	p.fill(row, dst.Extend(p.size(row)))
}

// size is the length of a row's key.
func (p *Projector) size(row []byte) int {
	if p.width > 0 {
		return p.width
	}
	n := p.out.fixed
	for i, c := range p.columns {
		switch p.out.classes[i] {
		case inlined:
			if m := len(p.value(row, c)); m > 7 {
				n += (m + 7) &^ 7
			}
		case variable:
			n += (len(p.value(row, c)) + 7) &^ 7
		case decimal16:
			n += 16
		case time12:
			n += 8
		}
	}
	return n
}

// value is a column's bytes, none if it is null.
func (p *Projector) value(row []byte, column int) []byte {
	if p.in.IsNull(row, column) {
		return nil
	}
	return p.in.Bytes(row, column)
}

// fill writes a row's key.
func (p *Projector) fill(row, key []byte) {
	clear(key)
	end := p.out.fixed // of the variable part written so far
	for i, c := range p.columns {
		slot := key[p.out.Slot(i):]
		null := p.in.IsNull(row, c)
		if null {
			key[(i+8)>>3] |= 1 << (uint(i) & 7)
		}
		word := uint64(end) << 32
		switch class := p.out.classes[i]; {
		case class == decimal16:
			if !null {
				word |= uint64(copy(key[end:end+16], p.in.Bytes(row, c)))
			}
			end += 16
		case class == time12:
			if !null {
				millis, nanos := p.in.Timestamp(row, c)
				binary.LittleEndian.PutUint64(key[end:], uint64(millis))
				word |= uint64(uint32(nanos))
			}
			end += 8
		case null:
			word = 0
		case class == inlined || class == variable:
			v := p.in.Bytes(row, c)
			if class == inlined && len(v) <= 7 {
				copy(slot, v)
				slot[7] = 0x80 | byte(len(v))
				continue
			}
			copy(key[end:], v)
			word |= uint64(len(v))
			end += (len(v) + 7) &^ 7
		default:
			word = binary.LittleEndian.Uint64(row[p.in.Slot(c):]) & p.steps[i].mask
		}
		binary.LittleEndian.PutUint64(slot, word)
	}
}
