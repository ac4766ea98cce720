package rowstate

// An emulator of arm64 (qemu-aarch64) keeps a table of all pages that are reserved: 32 GiB per region take it minutes.
func init() { mostReserved = 256 << 20 }
