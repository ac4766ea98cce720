// Package keygroup answers, exactly as Flink does, which key group a key belongs to.
//
// This is the key-group hash: murmur over the key's BinaryRowData bytes, bit by bit Flink's. It decides where state lives,
// across restarts and beside operators of Flink's own, and has nothing to do with the table hash of package rowstate,
// which never leaves memory.
package keygroup

import (
	"encoding/binary"
	"math/bits"
)

const (
	c1 = 0xcc9e2d51
	c2 = 0x1b873593
	// seed is MurmurHashUtil.DEFAULT_SEED.
	seed = 42
)

// Hash is BinaryRowData.hashCode() of a row: murmur over its 4-byte words. The length of a row is a multiple of 8; bytes
// behind the last whole word are not looked at.
func Hash(row []byte) int32 {
	h := uint32(seed)
	b := row
	for len(b) >= 8 {
		w := binary.LittleEndian.Uint64(b)
		h = mix(h, uint32(w))
		h = mix(h, uint32(w>>32))
		b = b[8:]
	}
	if len(b) >= 4 {
		h = mix(h, binary.LittleEndian.Uint32(b))
	}
	return int32(finish(h ^ uint32(len(row))))
}

func mix(h, k uint32) uint32 {
	k = bits.RotateLeft32(k*c1, 15) * c2
	return bits.RotateLeft32(h^k, 13)*5 + 0xe6546b64
}

func finish(h uint32) uint32 {
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}

// OfHash is the key group, of max, of a key whose hashCode is hash: KeyGroupRangeAssignment.computeKeyGroupForKeyHash.
func OfHash(hash int32, max int) int {
	// MathUtils.murmurHash: a second round, over the one int, with seed 0.
	h := int32(finish(mix(0, uint32(hash)) ^ 4))
	if h < 0 {
		h = -h
		if h < 0 { // the most negative int has no counterpart
			h = 0
		}
	}
	return int(h) % max
}

// Of is the key group, of max, of a key: the bytes of its BinaryRowData in projection form (package binrow).
func Of(key []byte, max int) int { return OfHash(Hash(key), max) }
