//go:build !linux

package xrd

import (
	"errors"
	"net"
	"os"
)

func canSendFile(*net.TCPConn) bool { return false }

func sendFile(*net.TCPConn, []byte, *os.File, int64, int64) error { return errors.ErrUnsupported }
