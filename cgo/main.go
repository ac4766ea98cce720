// Command cgo is libdrey: the operators of package native behind the C contract of abi.h, built with -buildmode=c-shared.
//
// An export (exports.go) is a few lines: the guard, the handle, one method of instance. The guard (guard.go) is the only
// place in the project that recovers panics. Handles (handles.go) carry a generation, so that a stale one is an error and
// never somebody else's operator. Batches (batch.go, export.go, columnar.go) are read and written where the host put them;
// memory the host reads after a call is never the Go heap's.
//
// With -tags jni the library is also a JNI library: jni.c binds the natives of drey.jni.NativeOperator, signals.c keeps
// the process's signal handlers fit for a Go runtime. Without the tag it needs no JDK and serves any C host.
package main

func main() {}

// build is what the library says of itself, "@(#)libdrey commit=...;": set at link time (-X main.build=...), found by the
// host in the file's bytes before it is loaded, and part of every panic's message.
var build string
