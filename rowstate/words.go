package rowstate

import "encoding/binary"

// Int64 reads a number that an owner keeps in a value or a block, which begins at b.
func Int64(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }

// PutInt64 writes one.
func PutInt64(b []byte, v int64) { binary.LittleEndian.PutUint64(b, uint64(v)) }
