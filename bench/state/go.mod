module drey/bench/state

go 1.26.0

require (
	drey v0.0.0
	github.com/cockroachdb/swiss v0.0.0-20260820225851-333444432258
	github.com/dolthub/swiss v0.2.1
	golang.org/x/sys v0.50.0
)

require (
	github.com/dolthub/maphash v0.1.0 // indirect
	github.com/klauspost/cpuid/v2 v2.4.2 // indirect
)

replace drey => ../..
