//go:build !race

package optest

// Race tells that the race detector is on. It keeps calls from being inlined, so closures allocate that otherwise don't.
const Race = false
