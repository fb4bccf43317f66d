package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"hemera/measure/result"
	"hemera/words/errs"
)

// DiskOf returns the disk of a path, with its name below /sys/block: for a partition its disk, for a device node the
// device. It fails with NotFound if the file system is on no block device of this machine, such as tmpfs, NFS and
// overlays.
func DiskOf(path string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", errs.Wrap(err, "host.DiskOf", path)
	}
	device := st.Dev
	if st.Mode&unix.S_IFMT == unix.S_IFBLK {
		device = st.Rdev
	}
	name, err := DiskNumbered("/", unix.Major(device), unix.Minor(device))
	if err == nil || unix.Major(device) != 0 {
		return name, err
	}
	// The files of btrfs have device numbers of their own; the mount shows the device.
	return mountedDisk(path)
}

// mountedDisk finds the disk by the device that is mounted at the path.
func mountedDisk(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", errs.Wrap(err, "host.DiskOf", path)
	}
	// The table of this process, which may have its own mount namespace.
	text, err := read("/", "proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	m, _ := Holding(ParseMounts(text), path)
	var st unix.Stat_t
	if !strings.HasPrefix(m.Source, "/dev/") || unix.Stat(m.Source, &st) != nil {
		return "", notOnDisk(path)
	}
	return DiskNumbered("/", unix.Major(st.Rdev), unix.Minor(st.Rdev))
}

// notOnDisk returns the error for a path without a block device.
func notOnDisk(path string) error {
	return errs.New(errs.NotFound, "host.DiskOf", path, "it is on no disk of this machine").WithRemedy("name a directory of a local file system")
}

// DiskNumbered returns the disk with the device number, below root. NotFound if there is none.
func DiskNumbered(root string, major, minor uint32) (string, error) {
	number := fmt.Sprintf("%d:%d", major, minor)
	// The link points to /sys/devices/…/block/DISK or …/block/DISK/PARTITION.
	target, err := os.Readlink(filepath.Join(root, "sys/dev/block", number))
	if err != nil {
		return "", notOnDisk("device " + number)
	}
	if _, err := os.Stat(filepath.Join(root, "sys/dev/block", target, "partition")); err == nil {
		target = filepath.Dir(target)
	}
	return filepath.Base(target), nil
}

// ReadDevice describes the disk with the name, below root. Fields without information are empty.
func ReadDevice(root, name string) result.Device {
	dir := filepath.Join("sys/block", name)
	model := strings.TrimSpace(line(root, dir+"/device/vendor") + " " + line(root, dir+"/device/model"))
	if strings.HasPrefix(model, "0x") { // a PCI number, as with virtio
		model = ""
	}
	// Sizes are in sectors of 512 bytes, also for devices with larger ones.
	return result.Device{
		Name: name, Model: model, Size: number(root, dir+"/size") * sector, Rotating: number(root, dir+"/queue/rotational") == 1,
		Scheduler: chosen(line(root, dir+"/queue/scheduler")), ReadAhead: number(root, dir+"/queue/read_ahead_kb") << 10,
	}
}

// chosen returns the word in brackets of a file that lists choices, or the whole text if there are no brackets.
func chosen(text string) string {
	_, after, ok := strings.Cut(text, "[")
	word, _, closed := strings.Cut(after, "]")
	if !ok || !closed {
		return text
	}
	return word
}

// SetReadAhead sets the kernel's read-ahead of a disk below root, in bytes; the kernel rounds down to KiB. It fails with
// Denied without root's rights.
func SetReadAhead(root, name string, bytes int64) error {
	path := filepath.Join(root, "sys/block", name, "queue/read_ahead_kb")
	f, err := os.OpenFile(path, os.O_WRONLY, 0) // #nosec G304 -- a file of the kernel
	if err != nil {
		return errs.Wrap(err, "host.SetReadAhead", name)
	}
	_, err = f.WriteString(strconv.FormatInt(bytes>>10, 10))
	if cause := f.Close(); err == nil {
		err = cause
	}
	return errs.Wrap(err, "host.SetReadAhead", name)
}
