//go:build invariants

package invariants

// Enabled is true in builds with the tag invariants.
const Enabled = true

// Mangle overwrites memory that must not be read any more.
func Mangle(b []byte) {
	for i := range b {
		b[i] = Poison
	}
}

// CheckMangled panics if memory that was mangled has been written since.
func CheckMangled(b []byte) {
	for i, x := range b {
		if x != Poison {
			Failf("freed memory was written: byte %d of %d is %#x", i, len(b), x)
		}
	}
}
