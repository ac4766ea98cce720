// Package rowstate keeps rows as bytes, and finds them again: an arena for blocks of bytes, a swiss table from keys to
// values, and the framing of snapshots. It depends on no operator. Nothing it stores is seen by the garbage collector.
//
// # Terms
//
//	Ref       address of a block in an arena, a 32-bit number of 8-byte units: 32 GiB are in reach
//	region    addresses reserved at once, made usable slab by slab; blocks never move
//	entry     key and value of a table, in one block of the table's arena
//	chunk     one cache line of the index: tags and refs of up to 12 entries
//	segment   64 chunks, a small swiss table of its own
//	directory picks the segment by hash bits; the table grows by splitting one segment at a time
//	tag       8 hash bits kept beside the ref, so that most wrong entries are never looked at
//
// # Layout of a table
//
// The bits of a table hash:
//
//	63      56 55                        22 21      16 15             0
//	+---------+----------------------------+----------+---------------+
//	|   tag   |  directory, low bits first |  chunk   |    not used   |
//	+---------+----------------------------+----------+---------------+
//
// A tag of 0 is made 1, as 0 marks an empty slot. A chunk:
//
//	 0                    12  13      16                                                  64
//	+---------------------+---+-------+---------------------------------------------------+
//	| 12 tags             |ovf| spare | 12 refs of 4 bytes, little-endian                 |
//	+---------------------+---+-------+---------------------------------------------------+
//
// ovf counts the entries that went past the chunk because it was full; they are in the chunk 2*tag+1 on, modulo 64, or
// further. A lookup ends at the first chunk with ovf 0. Deleting takes the counts back, so there are no tombstones and
// nothing rots; a count that reached 255 stays (only hashes without any entropy get there).
//
// An entry of a table whose keys have one width n has nothing but them; a bit per entry, kept apart, tells which are live.
// A split hashes their keys again, which costs less than 8 more bytes in every entry:
//
//	 0                                   pad8(n)
//	+-----------------------------------+----------------------+
//	| key, n bytes, zeros up to pad8(n) | value, mutable       |
//	+-----------------------------------+----------------------+
//
// The key 01 02 03 04 05 with an 8-byte value 7:
//
//	01 02 03 04 05 00 00 00   07 00 00 00 00 00 00 00
//
// An entry of a table whose keys vary in length starts with a header:
//
//	 0      2              8                                   8+pad8(n)
//	+------+--------------+-----------------------------------+----------------------+
//	|  n   | hash 16..63  | key, n bytes, zeros up to pad8(n) | value, mutable       |
//	+------+--------------+-----------------------------------+----------------------+
//
// With n = 65535 the key's true length follows in 8 bytes, and the key starts at 16. The same key and value with the hash
// 0xAABBCCDDEEFF0011:
//
//	05 00 FF EE DD CC BB AA   01 02 03 04 05 00 00 00   07 00 00 00 00 00 00 00
//
// A free block starts with the ref of the next one of its size class (4 bytes) and its class (4 bytes, of which the last
// is 0, where a header has its tag): the arena can be read from its start, entry by entry, which is the order of iteration.
//
// # A batch
//
// Lookups come as batches with their hashes. A small table is searched in one sweep. Otherwise, in sub-batches of 256 rows,
// a first sweep fetches the home chunks and the
// entries of matching tags, far enough ahead that the cache misses of many rows overlap; a second one compares the keys.
// Insertions are made in row order: a key that is new in row 3 is found by row 5.
//
// # Growth
//
// A segment that holds 640 entries is split in two by its next directory bit. That moves at most 640 refs, whatever the
// size of the table. Entries never move. Hashes that a split cannot tell apart, of which honest keys have none, go to
// segments chained behind the first.
//
// # Memory
//
// A Budget is asked before anything grows, and says no with a *BudgetError; Reserve asks for all that a batch may need,
// before the batch changes anything.
package rowstate
