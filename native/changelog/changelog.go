// Package changelog has the words every operator speaks: row kinds, batches of rows coming in, and the builder of the
// rows going out. Rows are the bytes of Flink's BinaryRowData (see package binrow); the kind in a row's header byte is
// ignored everywhere, the kinds column is what counts.
package changelog

// RowKind is Flink's RowKind byte.
type RowKind int8

// The four row kinds, with the values of org.apache.flink.types.RowKind.
const (
	Insert       RowKind = 0 // +I
	UpdateBefore RowKind = 1 // -U
	UpdateAfter  RowKind = 2 // +U
	Delete       RowKind = 3 // -D
)

// String gives Flink's short form.
func (k RowKind) String() string { return [...]string{"+I", "-U", "+U", "-D"}[k] }

// IsAccumulate tells +I and +U from -U and -D.
func (k RowKind) IsAccumulate() bool { return k == Insert || k == UpdateAfter }

// Batch is a borrowed view of one input batch in row form. In order of arrival it holds rows of one input, or of both.
type Batch struct {
	Kinds   []RowKind // one per row
	Inputs  []uint8   // one per row, 0 or 1: which input it came on; nil in a batch of one input
	Offsets []int32   // len(Kinds)+1 offsets into Data
	Data    []byte    // the rows' bytes, at least 64 readable bytes of padding behind the last row are NOT guaranteed
	Now     int64     // the host's processing time for every row of the batch, epoch milliseconds
}

// Len is the number of rows.
func (b *Batch) Len() int { return len(b.Kinds) }

// Row is row i's bytes, borrowed.
func (b *Batch) Row(i int) []byte { return b.Data[b.Offsets[i]:b.Offsets[i+1]:b.Offsets[i+1]] }

// Slice is the batch of rows from to end, which all are of one input.
func (b *Batch) Slice(from, end int) Batch {
	return Batch{Kinds: b.Kinds[from:end], Offsets: b.Offsets[from : end+1], Data: b.Data, Now: b.Now}
}

// Run is where the run of rows of one input ends that begins at a row.
func (b *Batch) Run(from int) int {
	if b.Inputs == nil {
		return len(b.Kinds)
	}
	end := from + 1
	for end < len(b.Inputs) && b.Inputs[end] == b.Inputs[from] {
		end++
	}
	return end
}
