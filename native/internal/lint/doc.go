// Package lint holds the house rules as tests: which package may import which, which calls are forbidden and what to use
// instead, how long a file may grow; and it runs vet and staticcheck, so that `go test ./...` is the whole gate for Go.
package lint
