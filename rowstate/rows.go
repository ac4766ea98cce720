package rowstate

import "drey/simd"

// Rows is a batch of byte strings, one behind the other. With Width > 0 every row has that many bytes and Offsets is not
// used; with Width 0 row i is Data[Offsets[i]:Offsets[i+1]].
//
// Kernels read up to 64 bytes behind a row. Append keeps that much capacity behind Data; a batch over memory of somebody
// else that lacks it is copied once when it is first used.
type Rows struct {
	Data    []byte
	Offsets []uint32
	Width   int
}

// Reset empties the batch and sets the width of its rows; 0 means that their lengths vary.
func (r *Rows) Reset(width int) {
	r.Data, r.Offsets, r.Width = r.Data[:0], r.Offsets[:0], width
}

// Len is the number of rows.
func (r *Rows) Len() int {
	if r.Width > 0 {
		return len(r.Data) / r.Width
	}
	return max(0, len(r.Offsets)-1)
}

// Row is row i's bytes, borrowed until the batch changes.
func (r *Rows) Row(i int) []byte {
	if r.Width > 0 {
		from, to := i*r.Width, (i+1)*r.Width
		return r.Data[from:to:to]
	}
	from, to := r.Offsets[i], r.Offsets[i+1]
	return r.Data[from:to:to]
}

// Slice is a view of the rows from..to-1, borrowed until the batch changes. A batch whose values are read or written for
// every row goes through a large table faster in slices of some hundred rows, each looked up and then worked on: what the
// lookup has fetched is still in the cache. The batch's hashes are cut likewise.
func (r *Rows) Slice(from, to int) Rows {
	if r.Width > 0 {
		return Rows{Data: r.Data[from*r.Width : to*r.Width], Width: r.Width}
	}
	return Rows{Data: r.Data, Offsets: r.Offsets[from : to+1]}
}

// Append copies a row to the end of the batch.
func (r *Rows) Append(row []byte) { copy(r.Extend(len(row)), row) }

// Extend adds a row of n bytes, of any content, and returns it to be written; it is valid until the batch changes.
func (r *Rows) Extend(n int) []byte {
	if r.Width > 0 && n != r.Width {
		panic("rowstate: row length differs from the width of its batch")
	}
	from := len(r.Data)
	if from+n+simd.Padding > cap(r.Data) {
		r.grow(from + n)
	}
	r.Data = r.Data[:from+n]
	if r.Width == 0 {
		if len(r.Offsets) == 0 {
			r.Offsets = append(r.Offsets, 0)
		}
		r.Offsets = append(r.Offsets, uint32(from+n))
	}
	return r.Data[from : from+n : from+n]
}

func (r *Rows) grow(need int) {
	data := make([]byte, len(r.Data), max(2*cap(r.Data), need+simd.Padding, 1024))
	copy(data, r.Data)
	r.Data = data
}

// pad makes sure that the padding is there.
func (r *Rows) pad() {
	if cap(r.Data)-len(r.Data) < simd.Padding {
		r.grow(len(r.Data))
	}
}
