package linux

import (
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"hemera/tape/device/scsi"
)

// fakeKernel is the kernel's side of the seam: the st and sg drivers over a library in memory. It keeps the rules of
// drivers/scsi/st.c that a program can see: one process opens a drive, a close after a write leaves a filemark, reads
// after the end of data are answered from memory, and behind the early warning every other write is refused.
type fakeKernel struct {
	mu      sync.Mutex
	library *fakeLibrary
	open    map[int]string
	next    int
	rawio   bool // the process has CAP_SYS_RAWIO
}

func newFakeKernel(l *fakeLibrary) *fakeKernel {
	return &fakeKernel{library: l, open: map[int]string{}, next: 3, rawio: true}
}

func (k *fakeKernel) Open(path string, flags int) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if flags&unix.O_NONBLOCK == 0 {
		return -1, unix.EIO // it would wait for a cartridge
	}
	if d := k.library.drives[path]; d != nil {
		for _, other := range k.open {
			if other == path {
				return -1, unix.EBUSY
			}
		}
		d.st = stState{ready: d.cartridge != nil && d.notReady == 0, blockSize: d.defaultBlockSize}
	} else if path != k.library.changer {
		return -1, unix.ENOENT
	}
	k.next++
	k.open[k.next] = path
	return k.next, nil
}

func (k *fakeKernel) Close(fd int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if d := k.library.drives[k.open[fd]]; d != nil && d.st.writing && d.cartridge != nil {
		d.marks(1) // what surprises programs that moved the tape by other ways
	}
	delete(k.open, fd)
	return nil
}

// stState is the memory of st about a drive that is open.
type stState struct {
	ready, writing bool
	blockSize      int
	// eof is 0, or what the last read met; from ended on reads do not go to the drive.
	eof     int
	refused bool // the early warning was told, so the next write is let through
	// behind is set when a write was begun behind the back of the caller and met the early warning: the next call fails with it.
	behind, toldEnd bool
}

const (
	metMark = 1
	ended   = 2 // the first read after the end of data returned 0
	endedIO = 3 // and all later ones EIO
)

func (k *fakeKernel) Read(fd int, b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	d := k.library.drives[k.open[fd]]
	if d == nil || !d.st.ready || d.attention() != nil {
		return -1, unix.EIO
	}
	if d.st.blockSize != 0 {
		return -1, unix.EINVAL // the program did not set variable blocks
	}
	if d.st.behind {
		d.st.behind = false
		return -1, unix.ENOSPC
	}
	d.st.writing = false
	switch d.st.eof {
	case ended:
		d.st.eof = endedIO
		return 0, nil
	case endedIO:
		return -1, unix.EIO
	}
	data, s := d.read(len(b))
	switch {
	case s.FileMark:
		d.st.eof = metMark
		return 0, nil
	case s.Key == scsi.BlankCheck && d.st.eof == metMark:
		d.st.eof = endedIO
		return 0, nil
	case s.WrongSize && s.Rest < 0:
		return -1, unix.ENOMEM
	case s.Key > scsi.Recovered:
		return -1, unix.EIO
	}
	d.st.eof = 0
	return copy(b, data), nil
}

func (k *fakeKernel) Write(fd int, b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	d := k.library.drives[k.open[fd]]
	switch {
	case d == nil || !d.st.ready || d.attention() != nil || d.st.blockSize != 0:
		return -1, unix.EIO
	case d.cartridge.protected:
		return -1, unix.EACCES
	}
	d.st.writing = true
	if d.early() && !d.st.refused {
		d.st.refused, d.st.behind, d.st.toldEnd = true, false, true
		return -1, unix.ENOSPC
	}
	d.st.refused = false
	if s := d.write(b); s.Key == scsi.VolumeOverflow {
		return -1, unix.ENOSPC
	} else if s.Key > scsi.Recovered {
		return -1, unix.EIO
	}
	d.st.eof = 0
	d.st.behind = d.writesBehind && !d.st.toldEnd && d.early()
	return len(b), nil
}

func (k *fakeKernel) Ioctl(fd int, request uint, arg unsafe.Pointer) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	path, ok := k.open[fd]
	if !ok {
		return unix.EBADF
	}
	if d := k.library.drives[path]; d != nil && d.st.behind {
		d.st.behind = false
		return unix.ENOSPC
	}
	if request == requestSCSI {
		if !k.rawio {
			return unix.EPERM
		}
		k.library.command(path, (*header)(arg))
		return nil
	}
	d := k.library.drives[path]
	if d == nil {
		return unix.ENOTTY
	}
	switch request {
	case requestOperation:
		return d.operate(*(*operation)(arg))
	case requestStatus:
		*(*driverStatus)(arg) = driverStatus{Density: int64(0x60)<<24 | int64(d.st.blockSize)}
		return nil
	}
	return unix.ENOTTY
}

// operate answers one MTIOCTOP.
func (d *fakeDrive) operate(o operation) error {
	if !d.st.ready {
		return unix.ENOMEDIUM
	}
	if d.attention() != nil {
		return unix.EIO
	}
	if d.st.writing && o.Op == opRewind {
		d.marks(1) // as st does before it rewinds
	}
	if o.Op != opSetBlock {
		d.st.writing = false
	}
	switch o.Op {
	case opMarks, opMarksImmediate:
		if d.cartridge.protected {
			return unix.EACCES
		}
		d.marks(int(o.Count))
		if o.Op == opMarks {
			d.buffered = 0
		}
	case opRewind:
		d.at = 0
	case opSpaceBlocks:
		if o.Count != 0 {
			return unix.EIO
		}
	case opSetBlock:
		if !d.fixedOnly {
			d.st.blockSize = int(o.Count)
		}
		return nil
	default:
		return unix.ENOSYS
	}
	d.st.toldEnd = false
	d.st.eof = 0
	return nil
}
