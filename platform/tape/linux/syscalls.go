package linux

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// syscalls is what the package needs of the kernel. Tests put a kernel in memory here. Errors are numbers of the system.
type syscalls interface {
	Open(path string, flags int) (fd int, err error)
	Close(fd int) error
	Read(fd int, b []byte) (int, error)
	Write(fd int, b []byte) (int, error)
	// Ioctl passes a pointer to the structure that the request takes.
	Ioctl(fd int, request uint, arg unsafe.Pointer) error
}

// kernel is the real one.
type kernel struct{}

func (kernel) Open(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func (kernel) Close(fd int) error { return unix.Close(fd) }

// Read and Write are not repeated after EINTR: st returns it before it has sent a command only in part of its versions.
func (kernel) Read(fd int, b []byte) (int, error)  { return unix.Read(fd, b) }
func (kernel) Write(fd int, b []byte) (int, error) { return unix.Write(fd, b) }

func (kernel) Ioctl(fd int, request uint, arg unsafe.Pointer) error {
	_, _, number := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(arg))
	if number != 0 {
		return number
	}
	return nil
}

// The requests, of linux/mtio.h and scsi/sg.h. They hold the size of their structure, which is the same on amd64 and arm64.
const (
	requestOperation = 0x40086D01 // MTIOCTOP
	requestStatus    = 0x80306D02 // MTIOCGET
	requestSCSI      = 0x2285     // SG_IO
)

// Operations of MTIOCTOP, of linux/mtio.h.
const (
	opMarks          = 5  // MTWEOF: filemarks, and all that is buffered
	opRewind         = 6  // MTREW
	opSpaceBlocks    = 3  // MTFSR
	opSetBlock       = 20 // MTSETBLK
	opMarksImmediate = 35 // MTWEOFI: filemarks that may stay in the buffer
)

// operation is struct mtop.
type operation struct {
	Op    int16
	_     int16
	Count int32
}

// driverStatus is struct mtget.
type driverStatus struct {
	Type, Residual int64
	Density        int64 // density in the top 8 of 32 bits, block size below
	General, Error int64
	File, Block    int32
}

// blockSize is the length of blocks that st uses, 0 for any.
func (s driverStatus) blockSize() int { return int(s.Density & 0xFFFFFF) }

// header is struct sg_io_hdr.
type header struct {
	Interface      int32 // always 'S'
	Direction      int32
	CommandSize    uint8
	SenseMax       uint8
	Vectors        uint16
	Size           uint32
	Data           unsafe.Pointer
	Command        unsafe.Pointer
	Sense          unsafe.Pointer
	Timeout        uint32 // milliseconds
	Flags          uint32
	Pack           int32
	User           unsafe.Pointer
	Status         uint8
	MaskedStatus   uint8
	MessageStatus  uint8
	SenseSize      uint8
	HostStatus     uint16
	DriverStatus   uint16
	Rest           int32
	Duration, Info uint32
}
