// Package invariants tells whether the build checks itself (build tag invariants) and has what such builds need. Without
// the tag every use of it compiles to nothing.
package invariants

import "fmt"

// Poison is the byte that freed memory is overwritten with in invariants builds.
const Poison = 0xCC

// Failf panics: a broken invariant is a bug, and the caller's guard turns the panic into an error of the operator.
func Failf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}
