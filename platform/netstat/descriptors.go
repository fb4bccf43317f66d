package netstat

import (
	"bytes"
	"errors"

	"golang.org/x/sys/unix"

	"hemera/words/errs"
)

// descriptorScan lists the descriptors of this process, so that sockets need not be registered.
type descriptorScan struct {
	buffer []byte
	err    error // of the last run of all
}

// all yields every number below the size of the process's table of descriptors. The numbers are dense, and asking about a
// closed one costs less than a list of the open ones: DESIGN.md has the measurement. It stores a failure in err.
func (s *descriptorScan) all(yield func(int) bool) {
	size, err := s.tableSize()
	if s.err = err; err != nil {
		return
	}
	for fd := range size { // the table doubles and never shrinks: half of it may be empty
		if !yield(fd) {
			return
		}
	}
}

// tableSize reads the size of the table of descriptors, FDSize of /proc/self/status. It is larger than the largest
// descriptor.
func (s *descriptorScan) tableSize() (int, error) {
	if s.buffer == nil {
		s.buffer = make([]byte, 4<<10) // FDSize is in the first ten lines
	}
	fd, err := unix.Open("/proc/self/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, s.buffer)
	for errors.Is(err, unix.EINTR) {
		n, err = unix.Read(fd, s.buffer)
	}
	if err != nil {
		return 0, err
	}
	return parseTableSize(s.buffer[:n])
}

// parseTableSize finds FDSize in the text of /proc/self/status.
func parseTableSize(status []byte) (int, error) {
	_, rest, found := bytes.Cut(status, []byte("\nFDSize:"))
	size := 0
	for _, c := range bytes.TrimLeft(rest, " \t") {
		if c < '0' || c > '9' || size > 1<<30/10 {
			break
		}
		size = 10*size + int(c-'0')
	}
	if !found || size == 0 {
		return 0, errs.New(errs.Internal, "netstat.Descriptors", "/proc/self/status", "it does not say FDSize")
	}
	return size, nil
}
