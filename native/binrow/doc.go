// Package binrow reads, checks, projects and writes rows in the bytes of Flink's BinaryRowData:
//
//	header byte   the row kind; ignored when read, 0 when written
//	null bits     one per field, from bit 8 on, least significant first; header and null bits fill whole 8-byte words
//	slots         8 bytes per field, little-endian
//	variable part values that don't fit a slot, each padded with zeros to whole 8-byte words
//
// so a row's length is a multiple of 8. A slot holds the value itself, zero-extended (BOOLEAN to BIGINT, FLOAT, DOUBLE,
// DATE, TIME, intervals, DECIMAL up to 18 digits, timestamps up to 3), or says where the value is:
//
//	CHAR, VARCHAR, BINARY, VARBINARY   up to 7 bytes inline, the top byte 0x80 + length; else offset<<32 | length
//	DECIMAL over 18 digits             offset<<32 | length of the big-endian unscaled value; 16 bytes are reserved
//	timestamps over 3                  offset<<32 | nanoseconds of the millisecond; 8 bytes of milliseconds
//	ARRAY, MAP, MULTISET, ROW, ...     offset<<32 | length
//
// Offsets count from the header byte.
//
// A null field has its null bit set and slot 0. There is one exception, and it decides where keys live: Flink's generated
// projections write a null DECIMAL over 18 digits, or a null timestamp over 3, with an offset in the slot and zeros in
// the variable part, as if a value could be put there later (BinaryWriter.writeDecimal, writeTimestamp). RowDataSerializer
// doesn't. Since equality and key group of a key are those of its bytes, Projector and Writer follow the projections;
// readers take both.
package binrow
