package snapshot

import (
	"encoding/binary"
	"fmt"

	"drey/native/keygroup"
	"drey/native/op"
	"drey/rowstate"
)

// frameBytes is where a frame ends.
const frameBytes = 32 << 10

// Writer writes items. An error of the stream below comes out when the key group ends.
type Writer struct {
	frames *rowstate.FrameWriter
	buffer []byte
	err    error
}

func (w *Writer) begin(frames *rowstate.FrameWriter) {
	w.frames, w.buffer, w.err = frames, w.buffer[:0], nil
}

func (w *Writer) end() error {
	w.flush()
	return w.err
}

func (w *Writer) flush() {
	if len(w.buffer) > 0 && w.err == nil {
		w.err = w.frames.Write(w.buffer)
	}
	w.buffer = w.buffer[:0]
}

// Room begins a frame if the present one is full, and tells whether it did. It is called before each entry; an entry of many
// items calls it between them, and then says again, in an item of its own, which entry goes on.
func (w *Writer) Room() bool {
	if len(w.buffer) < frameBytes {
		return false
	}
	w.flush()
	return true
}

// Byte writes one byte.
func (w *Writer) Byte(b byte) { w.buffer = append(w.buffer, b) }

// Bytes writes a length and bytes.
func (w *Writer) Bytes(b []byte) {
	w.buffer = append(binary.AppendUvarint(w.buffer, uint64(len(b))), b...)
}

// Raw writes bytes whose number the reader knows.
func (w *Writer) Raw(b []byte) { w.buffer = append(w.buffer, b...) }

// Uvarint writes a number that is mostly small.
func (w *Writer) Uvarint(n uint64) { w.buffer = binary.AppendUvarint(w.buffer, n) }

// Uint64 writes a number.
func (w *Writer) Uint64(n uint64) { w.buffer = binary.LittleEndian.AppendUint64(w.buffer, n) }

// Reader reads the items of a frame. What it gives borrows from the frame.
type Reader struct {
	frame  []byte
	at     int
	group  int
	groups op.KeyGroups
}

// Each calls item until the frame has been read. Errors say where the item began.
func (r *Reader) Each(item func() error) error {
	for r.at < len(r.frame) {
		at := r.at
		if err := item(); err != nil {
			return fmt.Errorf("offset %d: %w", at, err)
		}
	}
	return nil
}

// Byte reads one byte.
func (r *Reader) Byte() (byte, error) {
	b, err := r.Raw(1, "item")
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

// Bytes reads a length and bytes; what says in an error what they are.
func (r *Reader) Bytes(what string) ([]byte, error) {
	n, err := r.Uvarint(what)
	if err != nil {
		return nil, err
	}
	if n > uint64(len(r.frame)-r.at) {
		return nil, fmt.Errorf("a %s of %d bytes, %d are left", what, n, len(r.frame)-r.at)
	}
	return r.Raw(int(n), what)
}

// Raw reads n bytes.
func (r *Reader) Raw(n int, what string) ([]byte, error) {
	if n > len(r.frame)-r.at {
		return nil, fmt.Errorf("a %s of %d bytes, %d are left", what, n, len(r.frame)-r.at)
	}
	b := r.frame[r.at : r.at+n : r.at+n]
	r.at += n
	return b, nil
}

// Uvarint reads a number that is mostly small.
func (r *Reader) Uvarint(what string) (uint64, error) {
	n, size := binary.Uvarint(r.frame[r.at:])
	if size <= 0 {
		return 0, fmt.Errorf("a %s whose length can't be read", what)
	}
	r.at += size
	return n, nil
}

// Uint64 reads a number.
func (r *Reader) Uint64(what string) (uint64, error) {
	b, err := r.Raw(8, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// Key reads a length and the bytes of a key, and checks it.
func (r *Reader) Key(keys Keys) ([]byte, error) {
	key, err := r.Bytes("key")
	if err != nil {
		return nil, err
	}
	if err := keys.Layout().Check(key); err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	if w := keys.Width(); w > 0 && len(key) != w {
		return nil, fmt.Errorf("key: %d bytes, needs %d", len(key), w)
	}
	return key, r.CheckGroup(key)
}

// CheckGroup makes sure that a key, of a row that was checked, belongs to the key group that is being read.
func (r *Reader) CheckGroup(key []byte) error {
	if own := keygroup.Of(key, r.groups.Max); own != r.group {
		return fmt.Errorf("the key is of key group %d", own)
	}
	return nil
}
