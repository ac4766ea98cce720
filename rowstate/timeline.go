package rowstate

import (
	"iter"
	"sort"
	"unsafe"
)

// Timeline is the handle of elements in the order of their times, equal times in the order they came: 16 bytes that its
// owner keeps, usually inside a table's value, where TimelineIn finds it. The zero handle is the empty timeline.
type Timeline struct {
	ring     Ref    // circular array of segments
	count    uint32 // elements
	first    uint16 // place of the first segment in the ring
	segments uint16
	capacity uint16 // of the ring
	_        uint16
}

// TimelineSize is the number of bytes of a handle.
const TimelineSize = int(unsafe.Sizeof(Timeline{}))

// TimelineIn is the handle in the first TimelineSize bytes of a table's value, which must be at a multiple of 8 of it.
func TimelineIn(value []byte) *Timeline {
	// A table's value is outside the Go heap and 8-aligned; it stays in place as long as its entry.
	_ = value[TimelineSize-1]
	return (*Timeline)(unsafe.Pointer(unsafe.SliceData(value)))
}

// Len is the number of elements.
func (t *Timeline) Len() int { return int(t.count) }

// Timelines keeps any number of timelines in one arena, for joins that are bounded in time. A timeline is a ring of segments
// of up to 64 elements, whose first times the ring has: a range is found by binary search, what is too old goes a segment
// at a time from the front, and nothing is ever copied together.
//
//	ring:     per segment: first time (8) | ref (4) | elements (2) | elements dropped from its front (2)
//	segment:  times, 8 bytes each | elements, 4 bytes each
type Timelines struct {
	arena *Arena
}

const (
	timeCap     = 64
	timeBytes   = timeCap * 12
	maxSegments = 1 << 15
)

type timeSegment struct {
	min     int64 // of its first element
	ref     Ref
	count   uint16 // elements, those that are dropped included
	dropped uint16
}

type timeData struct {
	times    [timeCap]int64
	elements [timeCap]uint32
}

// TimelineBytes is what one insertion may take of the arena at most: enough for Arena.Reserve.
const TimelineBytes = timeBytes + maxSegments*int(unsafe.Sizeof(timeSegment{}))

// NewTimelines returns a keeper of timelines whose segments live in the arena.
func NewTimelines(arena *Arena) *Timelines { return &Timelines{arena: arena} }

func ringBytes(capacity int) int { return capacity * int(unsafe.Sizeof(timeSegment{})) }

// segment is segment i of the timeline, in the order of time.
func (k *Timelines) segment(t *Timeline, i int) *timeSegment {
	at := (int(t.first) + i) % int(t.capacity)
	ring := k.arena.block(t.ring, int64(ringBytes(int(t.capacity))))
	return (*timeSegment)(unsafe.Add(ring, ringBytes(at)))
}

func (k *Timelines) data(s *timeSegment) *timeData {
	return (*timeData)(k.arena.block(s.ref, timeBytes))
}

// Insert adds an element behind all others whose times are not later. It panics if the timeline has some two million.
func (k *Timelines) Insert(t *Timeline, time int64, element uint32) {
	if t.segments == 0 {
		k.addSegment(t, 0, time)
	}
	// The last segment that starts no later; the first one if none does.
	i := max(0, sort.Search(int(t.segments), func(i int) bool { return k.segment(t, i).min > time })-1)
	s := k.segment(t, i)
	if s.count == timeCap && s.dropped > 0 {
		k.shift(s)
	}
	if s.count == timeCap {
		s = k.split(t, i, time)
	}
	d := k.data(s)
	at := int(s.dropped) + sort.Search(int(s.count-s.dropped), func(j int) bool { return d.times[int(s.dropped)+j] > time })
	copy(d.times[at+1:s.count+1], d.times[at:s.count])
	copy(d.elements[at+1:s.count+1], d.elements[at:s.count])
	d.times[at], d.elements[at] = time, element
	s.count++
	s.min = d.times[s.dropped]
	t.count++
}

// shift moves a segment's elements to its front, over dropped ones.
func (k *Timelines) shift(s *timeSegment) {
	d := k.data(s)
	copy(d.times[:], d.times[s.dropped:s.count])
	copy(d.elements[:], d.elements[s.dropped:s.count])
	s.count, s.dropped = s.count-s.dropped, 0
}

// split makes room in a full segment: a new one behind it takes its later half or, if the time is later than all, nothing,
// so that what comes in order fills its segments. It returns the segment that the time belongs to.
func (k *Timelines) split(t *Timeline, i int, time int64) *timeSegment {
	k.addSegment(t, i+1, time)
	s, next := k.segment(t, i), k.segment(t, i+1)
	from, to := k.data(s), k.data(next)
	if time >= from.times[timeCap-1] {
		return next
	}
	const half = timeCap / 2
	copy(to.times[:], from.times[half:])
	copy(to.elements[:], from.elements[half:])
	s.count, next.count, next.min = half, timeCap-half, to.times[0]
	if time >= next.min {
		return next
	}
	return s
}

// addSegment puts an empty segment at place i of the ring.
func (k *Timelines) addSegment(t *Timeline, i int, min int64) {
	if t.segments == t.capacity {
		k.enlarge(t)
	}
	t.segments++
	for j := int(t.segments) - 1; j > i; j-- {
		*k.segment(t, j) = *k.segment(t, j-1)
	}
	*k.segment(t, i) = timeSegment{min: min, ref: k.arena.Alloc(timeBytes)}
}

func (k *Timelines) enlarge(t *Timeline) {
	capacity := max(2, 2*int(t.capacity))
	if capacity > maxSegments {
		panic("rowstate: too many elements in one timeline")
	}
	ring := k.arena.Alloc(ringBytes(capacity))
	to := unsafe.Slice((*timeSegment)(k.arena.block(ring, int64(ringBytes(capacity)))), capacity)
	for i := range int(t.segments) {
		to[i] = *k.segment(t, i)
	}
	if t.capacity > 0 {
		k.arena.Free(t.ring, ringBytes(int(t.capacity)))
	}
	t.ring, t.first, t.capacity = ring, 0, uint16(capacity)
}

// Range visits the elements with from <= time <= to, in order. The timeline must not change meanwhile.
func (k *Timelines) Range(t *Timeline, from, to int64) iter.Seq2[int64, uint32] {
	return func(yield func(int64, uint32) bool) {
		// The last segment that starts before from may still have elements of the range.
		i := max(0, sort.Search(int(t.segments), func(i int) bool { return k.segment(t, i).min >= from })-1)
		for ; i < int(t.segments); i++ {
			s := k.segment(t, i)
			if s.min > to {
				return
			}
			d := k.data(s)
			j := int(s.dropped)
			if s.min < from {
				j += sort.Search(int(s.count-s.dropped), func(j int) bool { return d.times[int(s.dropped)+j] >= from })
			}
			for ; j < int(s.count); j++ {
				if d.times[j] > to || !yield(d.times[j], d.elements[j]) {
					return
				}
			}
		}
	}
}

// Prune drops the elements with times before a bound and hands each to drop, in order.
func (k *Timelines) Prune(t *Timeline, before int64, drop func(time int64, element uint32)) {
	if t.segments == 0 {
		return
	}
	for t.segments > 0 {
		s := k.segment(t, 0)
		d := k.data(s)
		for ; s.dropped < s.count && d.times[s.dropped] < before; s.dropped++ {
			drop(d.times[s.dropped], d.elements[s.dropped])
			t.count--
		}
		if s.dropped < s.count {
			s.min = d.times[s.dropped]
			return
		}
		k.arena.Free(s.ref, timeBytes)
		t.first = uint16((int(t.first) + 1) % int(t.capacity))
		t.segments--
	}
	k.arena.Free(t.ring, ringBytes(int(t.capacity)))
	*t = Timeline{}
}

// Remove takes one element with that time out; it returns false if there is none.
func (k *Timelines) Remove(t *Timeline, time int64, element uint32) bool {
	i := max(0, sort.Search(int(t.segments), func(i int) bool { return k.segment(t, i).min >= time })-1)
	for ; i < int(t.segments); i++ {
		s := k.segment(t, i)
		if s.min > time {
			return false
		}
		d := k.data(s)
		for j := int(s.dropped); j < int(s.count); j++ {
			if d.times[j] != time || d.elements[j] != element {
				continue
			}
			copy(d.times[j:s.count-1], d.times[j+1:s.count])
			copy(d.elements[j:s.count-1], d.elements[j+1:s.count])
			s.count--
			t.count--
			if s.count > s.dropped {
				s.min = d.times[s.dropped]
			} else {
				k.removeSegment(t, i)
			}
			return true
		}
	}
	return false
}

func (k *Timelines) removeSegment(t *Timeline, i int) {
	k.arena.Free(k.segment(t, i).ref, timeBytes)
	for j := i; j+1 < int(t.segments); j++ {
		*k.segment(t, j) = *k.segment(t, j+1)
	}
	if t.segments--; t.segments == 0 {
		k.arena.Free(t.ring, ringBytes(int(t.capacity)))
		*t = Timeline{}
	}
}
