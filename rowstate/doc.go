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
//	 0                    12  13  14    16                                                64
//	+---------------------+---+---+-----+-------------------------------------------------+
//	| 12 tags             |ovf| - |past | 12 refs of 4 bytes, little-endian               |
//	+---------------------+---+---+-----+-------------------------------------------------+
//
// ovf counts the entries that went past the chunk because it was full; they are in the chunk 2*tag+1 on, modulo 64, or
// further. past has bit i set if an entry whose tag is i, modulo 16, may be among them: a lookup ends at the first chunk
// whose bit of its tag is not set. Deleting takes the counts back, and with the last one the bits, so there are no
// tombstones and nothing rots; a count that reached 255 stays (only hashes without any entropy get there).
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
// a first sweep fetches the home chunks and the entries of matching tags, far enough ahead that the cache misses of many
// rows overlap; a second one compares the keys.
// Of the few rows that are still not decided, as their entry went past its home chunk or another has their tag, what is to
// be looked at next is fetched for all of them together, too, and so is the next chunk of an entry whose home is full.
// Insertions are made in row order: a key that is new in row 3 is found by row 5.
//
// # Growth
//
// A segment that holds 672 entries, or 448 in a table of few segments, is split in two by its next directory bit. That
// moves at most 672 refs, whatever the size of the table. Entries never move. Hashes that a split cannot tell apart, of
// which honest keys have none, go to segments chained behind the first.
//
// # Sort keys
//
// KeyCodec and SortOrder write keys whose byte order is the order of rows: the Arrow row format, field behind field. A
// fixed-width field is 01 and its value, big-endian with the sign bit flipped; a null is 00, or FF if nulls come last, and
// zeros. Descending inverts the value, not the marker of nulls. Bytes come in blocks that say whether more follow:
//
//	INT 3                   01  80 00 00 03
//	INT -3                  01  7F FF FF FD
//	INT 3 DESC              01  7F FF FF FC
//	INT NULL                00  00 00 00 00
//	INT NULL, NULLS LAST    FF  00 00 00 00
//	DOUBLE -1.0             01  40 0F FF FF FF FF FF FF    negative: all bits inverted
//	DOUBLE -0.0, 0.0        01  80 00 00 00 00 00 00 00    equal, as in Flink's comparator
//	DOUBLE NaN              01  FF F8 00 00 00 00 00 00    the greatest; Flink's comparator has no order for it
//	TIMESTAMP(9), 1 ms and 999,999 ns   01  80 00 00 00 00 00 00 01  80 0F 42 3F
//	STRING ""               01
//	STRING "hello"          02  68 65 6C 6C 6F 00 00 00  05
//	STRING "hello" DESC     FD  97 9A 93 93 90 FF FF FF  FA
//	STRING "123456789"      02  31 32 33 34 35 36 37 38  FF  39 00 00 00 00 00 00 00  01
//
// The first four blocks have 8 bytes, later ones 32. What ends a block is its number of bytes, or FF if another follows: a
// string that is the start of another comes first.
//
// An exact field of a KeyCodec, as payloads have, keeps the bits of a floating point number instead: -0.0 is then
// 01 7F FF FF FF FF FF FF FF, and a NaN has its own sign and digits.
//
// Nested values have no sort keys. Flink's generated comparator does order rows and arrays (field by field or element by
// element, nulls first, the shorter array first, all of it turned round by DESC), so they could have: a mark before each
// element and one at the end. But a key may then take several times the bytes of its row (an array of TINYINT three for one),
// which whoever reserves room for keys would have to know; a plan that orders by such a column runs in Flink. MAP, MULTISET and
// VARIANT have no order in Flink either, and a RAW value's is that of its class.
//
// # What is built on it
//
//	Ordered     order-statistic sets: insert, delete, k-th, rank; one array, then a B+ tree that counts
//	Chains      the rows of one key, two in the handle, more in nodes
//	RowIndex    rows by their bytes, in groups too large to be searched one by one; Chains has one built in
//	Timelines   elements by time: a ring of segments, pruned from the front
//	Multiset    rows with counts
//	Clock       the host's time, and which values have expired by Flink's rule
//	Sweep       visits entries a few per call, as for those that have expired
//	Compact     moves a table's entries together
//	View        an arena or a table at one moment, for snapshots, by copying on write
//
// No operator needs Timelines, Multiset or Compact yet: they are for joins that are bounded in time, and for state that shrinks.
//
// The handles of sets, chains and timelines are 16 bytes of their owner's, usually of a table's value, so that a partition
// or join key costs no allocation of its own.
//
// # Memory
//
// A Budget is asked before anything grows, and says no with a *BudgetError; Reserve asks for all that a batch may need,
// before the batch changes anything.
package rowstate
