package main

import "encoding/binary"

const batch = 4096

// mix is splitmix64: key numbers become random-looking, the same in every language.
func mix(x uint64) uint64 {
	z := x + 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// put writes key number i: a constant start (2 bytes of an 18-byte key, 16 of a 40-byte one), as rows of one shape have
// it, the mixed and the plain number, and a constant end.
func put(key []byte, i uint64) {
	for j := range key {
		key[j] = 'k'
	}
	at := 2
	if len(key) >= 24 {
		at = 16
	}
	binary.LittleEndian.PutUint64(key[at:], mix(i))
	binary.LittleEndian.PutUint64(key[at+8:], i)
}

// fill writes keys of a width behind each other; 64 bytes of capacity are left behind them.
func fill(n, width int, number func() uint64) []byte {
	keys := make([]byte, n*width, n*width+64)
	for at := 0; at < len(keys); at += width {
		put(keys[at:at+width], number())
	}
	return keys
}

// draw gives the same numbers for the same start everywhere.
type draw uint64

func (d *draw) next(n uint64) uint64 {
	*d++
	return mix(uint64(*d)) % n
}
