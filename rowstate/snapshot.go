package rowstate

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A frame stream is how state of one key group is written to a snapshot:
//
//	magic        8   'D' 'R' 'E' 'Y' FF FF FF, format version
//	fingerprint  8   of the operator's specification, little-endian
//	record*          length (4, little-endian), CRC-32C of the bytes (4), bytes
//	end              FFFFFFFF (4), CRC-32C of the next 8 bytes (4), number of records (8)
//
// The three FF make the first 8 bytes, read as a big-endian number, one that no writer of plain lengths or counts begins
// with, so a foreign stream is told from ours by its first bytes. Versions stay readable for ever; testdata has one of each.
const (
	frameMagic   = "DREY\xFF\xFF\xFF"
	endOfFrames  = ^uint32(0)
	maxRecord    = 1 << 30
	frameVersion = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// FrameHeader opens a frame stream.
type FrameHeader struct {
	// Version of the format of the records; 0 means the present one, 1.
	Version uint8
	// Fingerprint of the specification of the operator that the state belongs to.
	Fingerprint uint64
}

// FrameError tells why a stream cannot be read as frames.
type FrameError struct {
	Record int64 // records read before
	Reason string
}

func (e *FrameError) Error() string {
	return fmt.Sprintf("snapshot: %s (after %d records)", e.Reason, e.Record)
}

// FrameWriter writes a frame stream.
type FrameWriter struct {
	w     io.Writer
	count uint64
	head  [8]byte
	err   error
}

// NewFrameWriter writes the header of a stream to w. It writes in small pieces: hand it something buffered.
func NewFrameWriter(w io.Writer, header FrameHeader) (*FrameWriter, error) {
	if header.Version == 0 {
		header.Version = frameVersion
	}
	start := append([]byte(frameMagic), header.Version)
	start = binary.LittleEndian.AppendUint64(start, header.Fingerprint)
	if _, err := w.Write(start); err != nil {
		return nil, err
	}
	return &FrameWriter{w: w}, nil
}

// Write writes one record, which may be given in several parts. After an error every later call returns it again.
func (f *FrameWriter) Write(parts ...[]byte) error {
	length, crc := 0, uint32(0)
	for _, part := range parts {
		length += len(part)
		crc = crc32.Update(crc, castagnoli, part)
	}
	if length > maxRecord {
		return fmt.Errorf("snapshot: a record of %d bytes is too long", length)
	}
	binary.LittleEndian.PutUint32(f.head[0:], uint32(length))
	binary.LittleEndian.PutUint32(f.head[4:], crc)
	f.write(f.head[:])
	for _, part := range parts {
		f.write(part)
	}
	f.count++
	return f.err
}

func (f *FrameWriter) write(b []byte) {
	if f.err == nil {
		_, f.err = f.w.Write(b)
	}
}

// Close writes the end of the stream; it does not close the writer below.
func (f *FrameWriter) Close() error {
	var count [8]byte
	binary.LittleEndian.PutUint64(count[:], f.count)
	binary.LittleEndian.PutUint32(f.head[0:], endOfFrames)
	binary.LittleEndian.PutUint32(f.head[4:], crc32.Checksum(count[:], castagnoli))
	f.write(f.head[:])
	f.write(count[:])
	return f.err
}

// FrameReader reads a frame stream.
type FrameReader struct {
	r      *bufio.Reader
	header FrameHeader
	count  int64
	record []byte
	done   bool
}

// NewFrameReader reads the header of a stream. It may read ahead of what it hands out.
func NewFrameReader(r io.Reader) (*FrameReader, error) {
	f := &FrameReader{r: bufio.NewReader(r)}
	var start [16]byte
	if _, err := io.ReadFull(f.r, start[:]); err != nil {
		return nil, f.fail("the stream ends in its header", err)
	}
	if string(start[:7]) != frameMagic {
		return nil, f.fail(fmt.Sprintf("% x is not the start of a native snapshot", start[:8]), nil)
	}
	f.header = FrameHeader{Version: start[7], Fingerprint: binary.LittleEndian.Uint64(start[8:])}
	if f.header.Version == 0 || f.header.Version > frameVersion {
		return nil, f.fail(fmt.Sprintf("format version %d is not known here, %d is the newest", f.header.Version, frameVersion), nil)
	}
	return f, nil
}

func (f *FrameReader) fail(reason string, err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &FrameError{Record: f.count, Reason: reason}
	}
	return err
}

// Header is the header of the stream.
func (f *FrameReader) Header() FrameHeader { return f.header }

// Next returns the next record, valid until the call after, or io.EOF behind the last one of a complete stream.
func (f *FrameReader) Next() ([]byte, error) {
	if f.done {
		return nil, io.EOF
	}
	var head [8]byte
	if _, err := io.ReadFull(f.r, head[:]); err != nil {
		return nil, f.fail("the stream ends between two records", err)
	}
	length, crc := binary.LittleEndian.Uint32(head[0:]), binary.LittleEndian.Uint32(head[4:])
	if length == endOfFrames {
		return nil, f.end(crc)
	}
	if length > maxRecord {
		return nil, f.fail(fmt.Sprintf("a record of %d bytes is too long", length), nil)
	}
	if err := f.read(int(length)); err != nil {
		return nil, err
	}
	if crc32.Checksum(f.record, castagnoli) != crc {
		return nil, f.fail("the checksum of a record is wrong", nil)
	}
	f.count++
	return f.record, nil
}

// read reads a record in steps, so that a wrong length does not allocate what is not there.
func (f *FrameReader) read(length int) error {
	f.record = f.record[:0]
	for len(f.record) < length {
		from := len(f.record)
		step := min(length-from, 1<<16)
		f.record = append(f.record, make([]byte, step)...)
		if _, err := io.ReadFull(f.r, f.record[from:]); err != nil {
			return f.fail("the stream ends in a record", err)
		}
	}
	return nil
}

func (f *FrameReader) end(crc uint32) error {
	var count [8]byte
	if _, err := io.ReadFull(f.r, count[:]); err != nil {
		return f.fail("the stream ends in its last frame", err)
	}
	if crc32.Checksum(count[:], castagnoli) != crc {
		return f.fail("the checksum of the last frame is wrong", nil)
	}
	if n := binary.LittleEndian.Uint64(count[:]); n != uint64(f.count) {
		return f.fail(fmt.Sprintf("the last frame says %d records", n), nil)
	}
	f.done = true
	return io.EOF
}
