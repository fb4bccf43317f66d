//go:build !linux

package client

import (
	"syscall"
	"time"
)

// userTimeout does nothing where the kernel has no such limit; the stall timeout still holds.
func userTimeout(time.Duration) func(network, address string, c syscall.RawConn) error { return nil }
