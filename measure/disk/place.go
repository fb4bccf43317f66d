package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"hemera/measure/host"
	"hemera/measure/result"
	"hemera/words/errs"
)

// place is a place for fio's load: a directory of the run in a file system, or a raw device.
type place struct {
	disk   string // the label: the name below /sys/block, or the last part of the directory
	dir    string // of the run; "" for a device
	device string // the node in /dev; "" for a directory
	block  string // the device below /sys/block; "" if there is none
	size   int64  // bytes that a run may use
	write  bool   // it may be written
	direct bool   // O_DIRECT works
	sweeps bool   // its read-ahead can be set
}

func (p place) isDevice() bool { return p.device != "" }

// at returns the label of the kind of place.
func (p place) at() string {
	if p.isDevice() {
		return "device"
	}
	return "files"
}

// file returns the path that is read.
func (p place) file() string {
	if p.isDevice() {
		return p.device
	}
	return filepath.Join(p.dir, readFile)
}

// takes reports whether a load can run here. On a device, reads and writes at the same time would use the same blocks.
func (p place) takes(load string) bool {
	switch load {
	case Read, RandRead:
		return true
	case Both:
		return !p.isDevice()
	}
	return p.write
}

// spare is the space that a run leaves free in a file system.
const spare = 64 << 20

// find returns the places of a target: for a directory also the device below it. It makes the directory of the run, which
// the caller removes. Places that cannot be measured are skipped with a reason.
func find(o *Options, target string, rec *result.Recorder) ([]place, error) {
	// A missing target is an error, because the user named it.
	st, err := os.Stat(target)
	if err != nil {
		return nil, errs.Wrap(err, "disk.Find", target)
	}
	if st.Mode()&os.ModeDevice != 0 {
		name, err := host.DiskOf(target)
		if err != nil {
			return nil, err
		}
		p, err := devicePlace(target, name, o.WriteDevice == target)
		if err != nil {
			return nil, err // the user named it
		}
		if p.size < int64(slices.Max(o.Streams))*blockSequential {
			return nil, errs.New(errs.NoSpace, "disk.Find", target, "it has less than 1 MiB for each stream").WithRemedy("choose fewer --streams")
		}
		p.sweeps = canSweep(name)
		return []place{p}, nil
	}
	// A directory. The device below it is the next place.
	p, err := filesPlace(o, target, rec)
	if err != nil {
		return nil, err
	}
	places := []place{p}
	if p.block == "" {
		rec.Skip("device below "+target, "it is on no disk of this machine", "name a directory of a local file system, or a device")
		return places, nil
	}
	// It is never written: the file system is on it.
	d, err := devicePlace("/dev/"+p.block, p.block, false)
	if err != nil {
		rec.Skip("device "+p.block, errs.Reason(err, ""), "run it as root, outside of a container")
		return places, nil
	}
	return append(places, d), nil
}

// filesPlace makes the directory of the run. It fails with NoSpace if the files do not fit.
func filesPlace(o *Options, target string, rec *result.Recorder) (place, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(target, &fs); err != nil {
		return place{}, errs.Wrap(err, "disk.Find", target)
	}
	// One file is read while others are written.
	if free := int64(fs.Bavail) * fs.Bsize; free < 2*o.Size+spare { // #nosec G115 -- free blocks are fewer than 2^63 bytes
		return place{}, errs.New(errs.NoSpace, "disk.Find", target, fmt.Sprintf("%d MiB are free and the run needs %d", free>>20, (2*o.Size+spare)>>20)).WithRemedy("choose a smaller --size")
	}
	// fio runs in the directory of the run, so the path must be absolute.
	full, err := filepath.Abs(target)
	if err != nil {
		return place{}, errs.Wrap(err, "disk.Find", target)
	}
	dir, err := os.MkdirTemp(full, "hemera-bench-")
	if err != nil {
		return place{}, errs.Wrap(err, "disk.Find", target)
	}
	// tmpfs and some network file systems refuse direct I/O, and the loads go through the page cache there.
	p := place{dir: dir, size: o.Size, write: true, direct: takesDirect(dir)}
	if !p.direct {
		rec.Skip("direct I/O in "+target, "the file system has none", "name a directory of a local file system")
	}
	if p.disk, err = host.DiskOf(target); err == nil {
		p.block, p.sweeps = p.disk, canSweep(p.disk)
	} else {
		p.disk = label(target)
	}
	if !p.sweeps && len(o.ReadAheads) > 0 {
		rec.Skip("read-ahead sweep in "+target, "the read-ahead of its device cannot be set", "run it as root, on a disk of this machine")
	}
	return p, nil
}

// label returns a label for a directory.
func label(dir string) string {
	if full, err := filepath.Abs(dir); err == nil {
		dir = full
	}
	return strings.Join(strings.Fields(filepath.Base(dir)), "-")
}

// takesDirect reports whether files in a directory can be opened with O_DIRECT.
func takesDirect(dir string) bool {
	f, err := os.OpenFile(filepath.Join(dir, "probe"), os.O_CREATE|os.O_WRONLY|unix.O_DIRECT, 0o600) // #nosec G304 -- in the run's own directory
	defer func() { _ = os.Remove(filepath.Join(dir, "probe")) }()
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// devicePlace returns the place of a raw device. It fails with Denied without the right to open it, and with Conflict if
// it is to be written and in use: the kernel refuses an exclusive open of a device that is mounted or part of another
// one.
func devicePlace(path, name string, write bool) (place, error) {
	// fio opens it again. This open reports an error early, with a reason.
	flags := os.O_RDONLY
	if write {
		flags = os.O_RDWR | os.O_EXCL
	}
	f, err := os.OpenFile(path, flags, 0) // #nosec G304 -- the user names it, or it is the device below a directory
	if errors.Is(err, unix.EBUSY) {
		return place{}, errs.New(errs.Conflict, "disk.Find", path, "it is in use: mounted, or part of another device").WithRemedy("name a device that nothing uses")
	}
	if err != nil {
		return place{}, errs.Wrap(err, "disk.Find", path)
	}
	defer func() { _ = f.Close() }()
	size, err := f.Seek(0, 2) // works for partitions too
	if err != nil {
		return place{}, errs.Wrap(err, "disk.Find", path)
	}
	return place{disk: name, device: path, block: name, size: size, write: write, direct: true}, nil
}

// canSweep reports whether the read-ahead of a device can be set, by setting the current value.
func canSweep(name string) bool {
	return host.SetReadAhead("/", name, host.ReadDevice("/", name).ReadAhead) == nil
}
