package topn

import (
	"encoding/binary"
	"math"

	"drey/native/changelog"
	"drey/native/spec"
)

// output emits rows, within the rank range. With the rank as a column they go out as Flink's JoinedRowData: the row that
// came in, and a row of the rank. A row whose rank changes goes out twice or more often, but its bytes once
// (changelog.Payload).
type output struct {
	numbered     bool // the rank is a column
	withNumber   bool // the rank matters
	updateBefore bool
	start        int64
	ranks        []changelog.Payload // of the first ranks
	far          changelog.Payload   // of a rank beyond
}

// keptRanks is for how many ranks the row of the rank is kept ready.
const keptRanks = 1024

func newOutput(s *spec.Rank) output {
	u := output{numbered: s.OutputRowNumber, updateBefore: s.GenerateUpdateBefore, start: math.MinInt64}
	if s.RankRange.Type == "Constant" {
		u.start = *s.RankRange.Start
	}
	u.withNumber = u.numbered || u.start > 1
	if u.numbered {
		u.ranks = make([]changelog.Payload, keptRanks)
	}
	return u
}

// rankRow is the row of a rank: one BIGINT.
func (u *output) rankRow(rank int64) *changelog.Payload {
	p := &u.far
	if rank >= 0 && rank < keptRanks {
		if p = &u.ranks[rank]; p.Bytes != nil {
			return p
		}
	}
	b := make([]byte, 16)
	if p == &u.far && p.Bytes != nil {
		b = p.Bytes
	}
	binary.LittleEndian.PutUint64(b[8:], uint64(rank))
	*p = changelog.Payload{Bytes: b}
	return p
}

// emit emits a row at a rank.
func (u *output) emit(out *changelog.Builder, kind changelog.RowKind, row *changelog.Payload, rank, end int64, source int) {
	if rank < u.start || rank > end || kind == changelog.UpdateBefore && !u.updateBefore {
		return
	}
	if u.numbered {
		out.AppendJoined(kind, row, u.rankRow(rank), source)
	} else {
		out.Append(kind, row.Bytes, source)
	}
}

// plain emits a row without regard to ranks.
func (u *output) plain(out *changelog.Builder, kind changelog.RowKind, row []byte, source int) {
	if kind != changelog.UpdateBefore || u.updateBefore {
		out.Append(kind, row, source)
	}
}

// cascade tells, rank by rank, that each row takes the place of the one behind it: a row goes in, or one goes out, at a
// rank, and all rows behind change theirs.
type cascade struct {
	u      *output
	out    *changelog.Builder
	source int
	end    int64
	rank   int64             // of the row that comes next
	carry  changelog.Payload // the row that takes the next one's place, or whose place the next one takes
}

// pushed tells that row made place for the carry.
func (c *cascade) pushed(row []byte) {
	next := changelog.Payload{Bytes: row}
	c.u.emit(c.out, changelog.UpdateBefore, &next, c.rank, c.end, c.source)
	c.u.emit(c.out, changelog.UpdateAfter, &c.carry, c.rank, c.end, c.source)
	c.carry = next
	c.rank++
}

// risen tells that row came to the place of the carry.
func (c *cascade) risen(row []byte) {
	next := changelog.Payload{Bytes: row}
	c.u.emit(c.out, changelog.UpdateBefore, &c.carry, c.rank, c.end, c.source)
	c.u.emit(c.out, changelog.UpdateAfter, &next, c.rank, c.end, c.source)
	c.carry = next
	c.rank++
}

// last tells that the carry appears, or disappears, at the last rank.
func (c *cascade) last(kind changelog.RowKind) {
	c.u.emit(c.out, kind, &c.carry, c.rank, c.end, c.source)
}

// over tells that there are no ranks left.
func (c *cascade) over() bool { return c.rank > c.end }
