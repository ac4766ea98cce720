package simd

import (
	"math/bits"
	"unsafe"
)

// This file is the hash function mul. With s0..s7 the eight words of the seed, fold(a,b) = high ^ low half of a*b:
//
//	n <= 16      a, b = the row's first and last 8 bytes, overlapping as needed (n < 8: see short)
//	n > 16       s0 = fold(word ^ s1, word ^ s0) over 16-byte steps while more than 16 bytes are left;
//	             then a, b = the last 16 bytes
//	hash         fold(fold(a ^ s2, b ^ s0) ^ s3 ^ n, s4)
//
// The multipliers are secret, so nobody can aim at the zero of a multiplication.

func load64(p unsafe.Pointer, at uintptr) uint64 { return *(*uint64)(unsafe.Add(p, at)) }
func load32(p unsafe.Pointer, at uintptr) uint64 { return uint64(*(*uint32)(unsafe.Add(p, at))) }

func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

func (s *Seed) word(i int) uint64 { return *(*uint64)(unsafe.Pointer(&s[8*i])) }

// short gives the two words of a row of less than 8 bytes.
func short(p unsafe.Pointer, n uintptr) (a, b uint64) {
	if n >= 4 {
		return load32(p, 0), load32(p, n-4)
	}
	if n == 0 {
		return 0, 0
	}
	first, middle, last := *(*byte)(p), *(*byte)(unsafe.Add(p, n>>1)), *(*byte)(unsafe.Add(p, n-1))
	return uint64(first) | uint64(middle)<<8, uint64(last)
}

func mulOne(s *Seed, p unsafe.Pointer, n uintptr) uint64 {
	s0 := s.word(0)
	length := uint64(n)
	var a, b uint64
	switch {
	case n < 8:
		a, b = short(p, n)
	case n <= 16:
		a, b = load64(p, 0), load64(p, n-8)
	default:
		s1 := s.word(1)
		for ; n > 16; n -= 16 {
			s0 = fold(load64(p, 0)^s1, load64(p, 8)^s0)
			p = unsafe.Add(p, 16)
		}
		// p may be past the last 16 bytes: they are read again, from behind.
		p = unsafe.Add(p, int(n)-16)
		a, b = load64(p, 0), load64(p, 8)
	}
	return fold(fold(a^s.word(2), b^s0)^s.word(3)^length, s.word(4))
}

func mulFixed(s *Seed, dst []uint64, p unsafe.Pointer, width int) {
	w := uintptr(width)
	s0, s1, s2, s3, s4 := s.word(0), s.word(1), s.word(2), s.word(3)^uint64(w), s.word(4)
	switch {
	case w >= 8 && w <= 16:
		for i := range dst {
			dst[i] = fold(fold(load64(p, 0)^s2, load64(p, w-8)^s0)^s3, s4)
			p = unsafe.Add(p, w)
		}
	case w > 16 && w <= 32:
		for i := range dst {
			t := fold(load64(p, 0)^s1, load64(p, 8)^s0)
			dst[i] = fold(fold(load64(p, w-16)^s2, load64(p, w-8)^t)^s3, s4)
			p = unsafe.Add(p, w)
		}
	default:
		for i := range dst {
			dst[i] = mulOne(s, p, w)
			p = unsafe.Add(p, w)
		}
	}
}

func mulOffsets(s *Seed, dst []uint64, p unsafe.Pointer, offsets []uint32) {
	offsets = offsets[:len(dst)+1]
	from := offsets[0]
	for i := range dst {
		to := offsets[i+1]
		dst[i] = mulOne(s, unsafe.Add(p, from), uintptr(to-from))
		from = to
	}
}
