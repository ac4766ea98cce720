package agg

import (
	"encoding/binary"
	"math"
)

// A key is a value as bytes in the order of Java's compareTo: NaN is the greatest number, -0.0 less than 0.0. Values that are equal
// in Java have equal keys. Ordered sets, sequences and distinct values are kept by them.

// keyBytes is the length of a type's keys, or 0 if it varies.
func (p physical) keyBytes() int {
	switch p.kind {
	case kindBytes:
		return 0
	case kindFloat32:
		return 4
	case kindWide:
		return 16
	case kindTime:
		return 12
	}
	return 8
}

// appendKey appends the key of a row's value.
func (c *cell) appendKey(dst, row []byte) []byte {
	switch c.kind {
	case kindInt:
		return binary.BigEndian.AppendUint64(dst, uint64(c.int(row))^1<<63)
	case kindFloat32:
		return binary.BigEndian.AppendUint32(dst, key32(c.float32(row)))
	case kindFloat64:
		return binary.BigEndian.AppendUint64(dst, key64(c.float64(row)))
	case kindWide:
		v := c.decimal(row)
		dst = binary.BigEndian.AppendUint64(dst, uint64(v.hi)^1<<63)
		return binary.BigEndian.AppendUint64(dst, v.lo)
	case kindTime:
		millis, nanos := c.time(row)
		return appendTimeKey(dst, millis, nanos)
	}
	return append(dst, c.bytes(row)...)
}

func appendTimeKey(dst []byte, millis int64, nanos int32) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(millis)^1<<63)
	return binary.BigEndian.AppendUint32(dst, uint32(nanos))
}

func key32(v float32) uint32 {
	b := math.Float32bits(v)
	switch {
	case v != v:
		b = 0x7fc00000
	case b>>31 != 0:
		return ^b
	}
	return b | 1<<31
}

func key64(v float64) uint64 {
	b := math.Float64bits(v)
	switch {
	case v != v:
		b = 0x7ff8000000000000
	case b>>63 != 0:
		return ^b
	}
	return b | 1<<63
}

// putKey writes the value of a key whose type fits a slot, in its own width.
func (p physical) putKey(dst, key []byte) {
	switch p.kind {
	case kindFloat32:
		b := binary.BigEndian.Uint32(key)
		if b>>31 == 0 {
			b = ^b
		} else {
			b &^= 1 << 31
		}
		binary.LittleEndian.PutUint32(dst, b)
	case kindFloat64:
		b := binary.BigEndian.Uint64(key)
		if b>>63 == 0 {
			b = ^b
		} else {
			b &^= 1 << 63
		}
		binary.LittleEndian.PutUint64(dst, b)
	default:
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], binary.BigEndian.Uint64(key)^1<<63)
		copy(dst[:p.elementSize()], word[:])
	}
}

func decimalOfKey(key []byte) int128 {
	return int128{int64(binary.BigEndian.Uint64(key) ^ 1<<63), binary.BigEndian.Uint64(key[8:])}
}

func timeOfKey(key []byte) (millis int64, nanos int32) {
	return int64(binary.BigEndian.Uint64(key) ^ 1<<63), int32(binary.BigEndian.Uint32(key[8:]))
}

// appendValue writes the value of a key into its place in a row or array that begins at start, or behind what is there.
func (p physical) appendValue(dst []byte, start, at int, key []byte) []byte {
	behind := len(dst)
	switch p.kind {
	case kindWide:
		dst = append(dst, make([]byte, 16)...)
		n := decimalOfKey(key).put(dst[behind:])
		binary.LittleEndian.PutUint64(dst[at:], uint64(behind-start)<<32|uint64(n))
	case kindTime:
		millis, nanos := timeOfKey(key)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(millis))
		binary.LittleEndian.PutUint64(dst[at:], uint64(behind-start)<<32|uint64(uint32(nanos)))
	case kindBytes:
		if len(key) <= 7 {
			copy(dst[at:], key)
			dst[at+7] = 0x80 | byte(len(key))
			break
		}
		dst = append(dst, key...)
		binary.LittleEndian.PutUint64(dst[at:], uint64(behind-start)<<32|uint64(len(key)))
		for (len(dst)-start)&7 != 0 {
			dst = append(dst, 0)
		}
	default:
		p.putKey(dst[at:], key)
	}
	return dst
}
