//go:build race

package poll

import "syscall"

// The race detector learns from package syscall that a receive happened after its send, as for package net. Reading and
// writing zero bytes has no other effect.

// sent tells the race detector of a transfer to a socket, which must follow the call.
func sent(fd int) { _, _ = syscall.Write(fd, nil) }

// received tells the race detector of a transfer from a socket, which must precede the call.
func received(fd int) { _, _ = syscall.Read(fd, nil) }
