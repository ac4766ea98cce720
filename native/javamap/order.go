// Package javamap is the order in which a java.util.HashMap is walked: Flink's mini-batch bundles are HashMaps whose keys are
// BinaryRowData, and are walked to emit.
//
// A HashMap has a power of two of bins, 16 at first. A key is in bin hash ^ hash>>>16, modulo the number of bins, behind
// the keys that came before it. When there are more than 3/4 as many keys as bins the bins are doubled, and again when a
// bin of at least 8 keys gets another while there are fewer than 64 bins; keys keep their order in doing so. Clearing the
// map leaves the number of bins. The walk goes from bin to bin.
//
// Not followed is what happens at 64 bins or more when a bin of at least 8 keys gets another: it becomes a tree, and its
// keys may change places among each other. With a hash like Flink's that takes keys made for the purpose.
package javamap

import "encoding/binary"

const (
	leastBins = 16
	treeBins  = 64 // from here on a long bin becomes a tree instead of doubling the bins
	longBin   = 8
)

// Order is the order of one map, which is filled and cleared any number of times. The zero Order is that of a new map.
type Order struct {
	bins   int
	counts []int32
}

// Walk writes to dst the indices of keys in the order of the walk; hashCodes are those of the keys, all different, in the
// order they were put into the map after it was last cleared.
func (o *Order) Walk(hashCodes []int32, dst []int32) []int32 {
	o.grow(hashCodes)
	mask := uint32(o.bins - 1)
	if cap(o.counts) < o.bins+1 {
		o.counts = make([]int32, o.bins+1)
	}
	o.counts = o.counts[:o.bins+1]
	clear(o.counts)
	for _, h := range hashCodes {
		o.counts[spread(h)&mask+1]++
	}
	for i := 1; i < len(o.counts); i++ {
		o.counts[i] += o.counts[i-1]
	}
	if cap(dst) < len(hashCodes) {
		dst = make([]int32, len(hashCodes))
	}
	dst = dst[:len(hashCodes)]
	for i, h := range hashCodes {
		at := &o.counts[spread(h)&mask]
		dst[*at] = int32(i)
		*at++
	}
	return dst
}

// WalkComputed is Walk of a new map that was filled by computeIfAbsent (see Map). The last call may have been one for a key that
// was there: again tells whether such calls came after the last new key.
func WalkComputed(hashCodes []int32, again bool, dst []int32) []int32 {
	var m Map[int32]
	var key [4]byte
	of := func(i int) *int32 {
		binary.LittleEndian.PutUint32(key[:], uint32(i))
		return m.Of(key[:], hashCodes[i])
	}
	for i := range hashCodes {
		*of(i) = int32(i)
	}
	if n := len(hashCodes); again && n > 0 {
		of(n - 1)
	}
	dst = dst[:0]
	m.All(func(_ []byte, i *int32) { dst = append(dst, *i) })
	return dst
}

// spread is HashMap.hash of an object with this hashCode.
func spread(hashCode int32) uint32 { return uint32(hashCode) ^ uint32(hashCode)>>16 }

// grow doubles the bins as often as putting the keys does.
func (o *Order) grow(hashCodes []int32) {
	o.bins = max(o.bins, leastBins)
	if o.bins < treeBins {
		var lengths [treeBins]int32
		for i, h := range hashCodes {
			at := &lengths[spread(h)&uint32(o.bins-1)]
			long := *at >= longBin
			*at++
			if long {
				o.double(&lengths, hashCodes[:i+1])
			}
			if i+1 > o.bins/4*3 && o.bins < treeBins {
				o.double(&lengths, hashCodes[:i+1])
			}
			if o.bins >= treeBins {
				break
			}
		}
	}
	for len(hashCodes) > o.bins/4*3 {
		o.bins *= 2
	}
}

func (o *Order) double(lengths *[treeBins]int32, hashCodes []int32) {
	o.bins *= 2
	if o.bins > treeBins {
		return
	}
	clear(lengths[:])
	for _, h := range hashCodes {
		lengths[spread(h)&uint32(o.bins-1)]++
	}
}
