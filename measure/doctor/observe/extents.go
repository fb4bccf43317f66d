package observe

import (
	"encoding/binary"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// extent is a contiguous part of a file on its device.
type extent struct{ logical, physical, length uint64 } // in bytes

// Numbers of the request FIEMAP, from the kernel's include/uapi/linux/fiemap.h and fs.h.
const (
	fiemapRequest    = 0xC020660B // _IOWR('f', 11, struct fiemap)
	fiemapHead       = 32         // struct fiemap
	fiemapEntry      = 56         // struct fiemap_extent
	fiemapLast       = 0x1        // no more extents
	fiemapUnknown    = 0x2        // no place yet
	fiemapEncoded    = 0x8        // compressed or encrypted
	fiemapAtOnce     = 512
	fiemapExtentsMax = 1 << 16 // for a file of 256 MiB in blocks of 4 KiB
)

// extents returns the extents of a file with the size; adjacent ones are joined. It returns false if the file system does
// not report them.
func extents(f *os.File, size int64) (list []extent, ok bool) {
	buffer := make([]byte, fiemapHead+fiemapAtOnce*fiemapEntry)
	for start := uint64(0); start < uint64(size) && len(list) < fiemapExtentsMax; { // #nosec G115 -- sizes are positive
		// The fields of the head: start, length, flags, extents found, space for extents, 0.
		clear(buffer)
		binary.NativeEndian.PutUint64(buffer[0:], start)
		binary.NativeEndian.PutUint64(buffer[8:], uint64(size)-start) // #nosec G115 -- as above
		binary.NativeEndian.PutUint32(buffer[24:], fiemapAtOnce)
		// The request reads and fills the buffer, whose length is in it.
		if _, _, e := unix.Syscall(unix.SYS_IOCTL, f.Fd(), fiemapRequest, uintptr(unsafe.Pointer(&buffer[0]))); e != 0 { // #nosec G103 -- see above
			return nil, false
		}
		// An answer without extents means the end of the file, or a hole.
		got, last, known := parseExtents(buffer)
		if !known || len(got) == 0 {
			return list, known && len(list) > 0
		}
		list = join(list, got)
		if last {
			break
		}
		// The next request begins after the last extent.
		end := got[len(got)-1]
		start = end.logical + end.length
	}
	return list, len(list) > 0
}

// parseExtents parses the answer of FIEMAP. known is false if an extent has no place on the device.
func parseExtents(buffer []byte) (list []extent, last, known bool) {
	if len(buffer) < fiemapHead {
		return nil, false, false
	}
	count := int(binary.NativeEndian.Uint32(buffer[20:]))
	for i := range min(count, (len(buffer)-fiemapHead)/fiemapEntry) {
		// The fields: logical, physical, length, two reserved, flags.
		e := buffer[fiemapHead+i*fiemapEntry:]
		flags := binary.NativeEndian.Uint32(e[40:])
		if flags&(fiemapUnknown|fiemapEncoded) != 0 {
			return nil, false, false
		}
		list = append(list, extent{binary.NativeEndian.Uint64(e[0:]), binary.NativeEndian.Uint64(e[8:]), binary.NativeEndian.Uint64(e[16:])})
		last = flags&fiemapLast != 0
	}
	return list, last, true
}

// join appends extents to a list, and joins adjacent ones.
func join(list, more []extent) []extent {
	for _, e := range more {
		if n := len(list); n > 0 && list[n-1].physical+list[n-1].length == e.physical && list[n-1].logical+list[n-1].length == e.logical {
			list[n-1].length += e.length
			continue
		}
		list = append(list, e)
	}
	return list
}

// chunks returns the places on a device of whole requests within the extents. If they are too few to measure, it returns
// places at the beginning of the device.
func chunks(list []extent, size int64) (at []int64) {
	for _, e := range list {
		for o := uint64(0); o+block <= e.length; o += block {
			at = append(at, int64(e.physical+o)) // #nosec G115 -- a place on a disk
		}
	}
	if len(at) < depth {
		at = at[:0]
		for o := int64(0); o+block <= size; o += block {
			at = append(at, o)
		}
	}
	return at
}
