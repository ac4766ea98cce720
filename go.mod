module drey

go 1.26.0

require (
	github.com/apache/arrow-go/v18 v18.8.0 // indirect
	github.com/dolthub/maphash v0.1.0 // indirect
	github.com/dolthub/swiss v0.2.1 // indirect
	github.com/klauspost/cpuid/v2 v2.4.2
	golang.org/x/sys v0.50.0
)
