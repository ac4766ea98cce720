// Package abitest drives libdrey from a plain C program: the library is built without a JDK, and abitest.c is compiled
// against abi.h and linked with it, as any C host would be.
package abitest
