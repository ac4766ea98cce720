package simd

import (
	"encoding/binary"
	"unsafe"
)

// This file is the specification of the hash function aes; only tests and doc readers run it. With K0..K3 the four
// 16-byte keys of the seed, L the row's length as a 16-byte little-endian number and round(x, k) one AES encryption round
// (SubBytes, ShiftRows, MixColumns, then xor k; the instruction AESENC):
//
//	n <= 16   a = row padded with zeros ^ K0 ^ L;  a = round(round(round(a, K1), K2), K3)
//	n > 16    a = K0 ^ L, b = K1 ^ L; for every 32-byte step, (first, second) its halves:
//	              a = round(round(a ^ first, K1), K2),  b = round(round(b ^ second, K2), K3)
//	          the last step is the row's last 32 bytes, overlapping the one before as needed;
//	          a row of less than 32 bytes has one step, made of its first and its last 16 bytes;
//	          then a = round(a ^ b, K3)
//	hash      low ^ high half of a
//
// Two rounds follow every absorbed block, so that no chosen difference between two blocks cancels with a probability
// above 2^-30: after one round it would be 2^-6.
func aesOne(s *Seed, row []byte) uint64 {
	n := len(row)
	k := [4]block{load(s[0:]), load(s[16:]), load(s[32:]), load(s[48:])}
	var length block
	binary.LittleEndian.PutUint64(length[:], uint64(n))
	if n <= 16 {
		var a block
		copy(a[:], row)
		return a.xor(k[0]).xor(length).round(k[1]).round(k[2]).round(k[3]).fold()
	}
	a, b := k[0].xor(length), k[1].xor(length)
	step := func(first, second block) {
		a = a.xor(first).round(k[1]).round(k[2])
		b = b.xor(second).round(k[2]).round(k[3])
	}
	if n < 32 {
		step(load(row), load(row[n-16:]))
	} else {
		for at := 0; at < n-32; at += 32 {
			step(load(row[at:]), load(row[at+16:]))
		}
		step(load(row[n-32:]), load(row[n-16:]))
	}
	return a.xor(b).round(k[3]).fold()
}

func aesFixedPortable(s *Seed, dst []uint64, p unsafe.Pointer, width int) {
	for i := range dst {
		dst[i] = aesOne(s, unsafe.Slice((*byte)(unsafe.Add(p, i*width)), width))
	}
}

func aesOffsetsPortable(s *Seed, dst []uint64, p unsafe.Pointer, offsets []uint32) {
	for i := range dst {
		dst[i] = aesOne(s, unsafe.Slice((*byte)(unsafe.Add(p, offsets[i])), offsets[i+1]-offsets[i]))
	}
}

type block [16]byte

func load(b []byte) block { return block(b[:16]) }

func (x block) xor(y block) block {
	for i := range x {
		x[i] ^= y[i]
	}
	return x
}

func (x block) fold() uint64 {
	return binary.LittleEndian.Uint64(x[:8]) ^ binary.LittleEndian.Uint64(x[8:])
}

// round is FIPS 197's round on a column-major state: byte 4c+r is row r, column c.
func (x block) round(k block) block {
	var t, out block
	for c := range 4 {
		for r := range 4 {
			t[4*c+r] = sbox[x[4*((c+r)%4)+r]]
		}
	}
	for c := range 4 {
		a, b, d, e := t[4*c], t[4*c+1], t[4*c+2], t[4*c+3]
		out[4*c] = double(a) ^ double(b) ^ b ^ d ^ e
		out[4*c+1] = a ^ double(b) ^ double(d) ^ d ^ e
		out[4*c+2] = a ^ b ^ double(d) ^ double(e) ^ e
		out[4*c+3] = double(a) ^ a ^ b ^ d ^ double(e)
	}
	return out.xor(k)
}

// double multiplies by x in AES's field.
func double(b byte) byte { return b<<1 ^ 0x1b&-(b>>7) }

// sbox is computed from its definition: the inverse in the field, then the affine map.
var sbox = func() (box [256]byte) {
	p, q := byte(1), byte(1)
	for {
		p ^= double(p) // times 3, a generator
		q ^= q << 1    // divided by 3
		q ^= q << 2
		q ^= q << 4
		if q&0x80 != 0 {
			q ^= 0x09
		}
		box[p] = q ^ (q<<1 | q>>7) ^ (q<<2 | q>>6) ^ (q<<3 | q>>5) ^ (q<<4 | q>>4) ^ 0x63
		if p == 1 {
			break
		}
	}
	box[0] = 0x63
	return box
}()
