package netstat

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// linkMode is the mode that the two ends of a cable have agreed on. The zero value means that the driver does not report
// it.
type linkMode struct {
	speed      int64 // bits per second
	halfDuplex bool
}

// ethtoolCommand is struct ethtool_cmd (linux/ethtool.h). It is the older of two interfaces. Every driver still supports
// it, and it needs one call of a fixed size.
type ethtoolCommand struct {
	command, supported, advertised uint32
	speed                          uint16 // the lower half, in Mbit/s
	duplex                         uint8
	_                              [5]uint8
	_                              [2]uint32
	speedHigh                      uint16
	_                              [2]uint8
	_                              [3]uint32
}

// interfaceRequest is struct ifreq with a pointer in it.
type interfaceRequest struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [16]byte // the rest of the union
}

// readMode asks the driver of an interface. A failure means unknown: virtual interfaces have no speed, and some
// containers forbid the call.
func readMode(control int, name string) linkMode {
	command := ethtoolCommand{command: unix.ETHTOOL_GSET}
	request := interfaceRequest{data: unsafe.Pointer(&command)}
	copy(request.name[:unix.IFNAMSIZ-1], name)
	_, _, failed := unix.Syscall(unix.SYS_IOCTL, uintptr(control), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	runtime.KeepAlive(&command) // the request has its address
	if failed != 0 {
		return linkMode{}
	}
	speed := int64(command.speedHigh)<<16 | int64(command.speed)
	// Drivers report all ones for unknown, in 16 or in 32 bits.
	if speed == 0xffff || speed == 0xffffffff {
		return linkMode{}
	}
	return linkMode{speed: speed * 1_000_000, halfDuplex: command.duplex == 0 && speed > 0}
}
