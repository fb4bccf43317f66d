package disk

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hemera/words/errs"
)

// The loads.
const (
	Read      = "read"      // in order
	Write     = "write"     // in order, new files
	Both      = "both"      // as many streams that read as others that write
	RandRead  = "randread"  // 4 KiB at random places
	RandWrite = "randwrite" // 4 KiB at random places
)

// Loads returns all loads in their order.
func Loads() []string { return []string{Read, Write, Both, RandRead, RandWrite} }

// Options of a run.
type Options struct {
	Targets     []string      // directories and block devices; one of each disk
	Loads       []string      // of Loads
	Streams     []int         // of each disk, measured one after another
	Iterations  int           // of everything; each is one sample
	Size        int64         // bytes of the file that is read, and of the files that are written together; of each disk
	For         time.Duration // the longest time of a step, without the fsync
	ReadAheads  []int64       // of the sweep, in bytes; none leaves it out
	WriteDevice string        // a device among the targets that may be overwritten
}

const (
	blockSequential = 1 << 20 // bytes of a request
	blockRandom     = 4 << 10
	blockSweep      = 128 << 10 // smaller than any read-ahead of the sweep: the kernel decides about the requests at the device
	streamsMax      = 1024      // threads of fio
)

// ReadAheads returns the sizes of source E's sweep: 128 KiB to 64 MiB, each twice the one before.
func ReadAheads() (list []int64) {
	for n := int64(128 << 10); n <= 64<<20; n *= 2 {
		list = append(list, n)
	}
	return list
}

// Ramp returns the numbers of streams 1, 2, 4 … up to n, and n.
func Ramp(n int) (list []int) {
	for i := 1; i < n; i *= 2 {
		list = append(list, i)
	}
	return append(list, n)
}

// Check fails with Invalid if an option is not usable, and names the first.
func (o *Options) Check() error {
	bad := func(subject, text string) error { return errs.New(errs.Invalid, "disk.Check", subject, text) }
	// The largest number bounds the size of files from below.
	most := 0
	for _, n := range o.Streams {
		if n < 1 || n > streamsMax {
			return bad("--streams", fmt.Sprintf("it takes 1 to %d", streamsMax))
		}
		most = max(most, n)
	}
	for _, l := range o.Loads {
		if !slices.Contains(Loads(), l) {
			return bad("--loads", fmt.Sprintf("%q is none of %s", l, strings.Join(Loads(), ", ")))
		}
	}
	switch {
	case len(o.Targets) == 0 || most == 0 || len(o.Loads) == 0:
		return bad("", "it takes a directory or device, a load and a number of streams")
	case o.Iterations < 1 || o.Iterations > 1000:
		return bad("--iterations", "it takes 1 to 1000")
	case o.For < 10*time.Millisecond || o.For > 24*time.Hour:
		return bad("--for", "it takes 10ms to 24h")
	case o.Size < int64(most)*blockSequential:
		return bad("--size", fmt.Sprintf("each of %d streams needs 1 MiB at least", most))
	case o.WriteDevice != "" && !slices.Contains(o.Targets, o.WriteDevice):
		return bad("--write-device", o.WriteDevice+" is not among the devices that are measured")
	}
	return nil
}
