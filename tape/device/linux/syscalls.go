package linux

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// syscalls has the calls of the package to the kernel. Tests put a kernel in memory here. Errors are numbers of the
// system.
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

// Open repeats what a signal has interrupted.
func (kernel) Open(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// Close may write a filemark, see settle.
func (kernel) Close(fd int) error { return unix.Close(fd) }

// Read and Write are not repeated after EINTR: st returns it before it has sent a command only in part of its versions.
func (kernel) Read(fd int, b []byte) (int, error)  { return unix.Read(fd, b) }
func (kernel) Write(fd int, b []byte) (int, error) { return unix.Write(fd, b) }

// Ioctl keeps arg alive until the kernel returns, because its conversion stands in the call.
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
	Op    int16 // one of the operations above
	_     int16 // the compiler of the kernel pads here
	Count int32 // how many, or a value
}

// driverStatus is struct mtget.
type driverStatus struct {
	Type     int64 // of the driver, not used
	Residual int64 // not used
	Density  int64 // density in the top 8 of 32 bits, block size below
	General  int64 // flags of what st believes of the position; the drive knows better
	Error    int64 // corrected errors where the driver counts them
	File     int32 // filemarks before the position, -1 after other ways of moving
	Block    int32 // blocks since the filemark
}

// blockSize returns the length of blocks that st uses, 0 for any.
func (s driverStatus) blockSize() int { return int(s.Density & 0xFFFFFF) }

// header is struct sg_io_hdr of scsi/sg.h. The pointers are to memory of this process; the kernel copies.
type header struct {
	Interface     int32          // always 'S'
	Direction     int32          // one of the directions below
	CommandSize   uint8          // bytes of the CDB, 6 to 16
	SenseMax      uint8          // room for sense data
	Vectors       uint16         // 0: the data is in one piece
	Size          uint32         // bytes of data, either way
	Data          unsafe.Pointer // nil without data
	Command       unsafe.Pointer // the CDB
	Sense         unsafe.Pointer // where sense data goes
	Timeout       uint32         // in milliseconds; then the adapter aborts the command and resets what has to be
	Flags         uint32         // 0: the kernel may copy
	Pack          int32          // not used
	User          unsafe.Pointer // not used
	Status        uint8          // of the device, see statusGood
	MaskedStatus  uint8          // the same, shifted
	MessageStatus uint8          // of parallel buses
	SenseSize     uint8          // bytes of sense data that came
	HostStatus    uint16         // of the adapter, 0 when the device has answered
	DriverStatus  uint16         // says again that there is sense data
	Rest          int32          // bytes of data that did not come
	Duration      uint32         // in milliseconds
	Info          uint32         // flags that repeat what the fields say
}
