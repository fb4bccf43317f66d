package observe

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"hemera/measure/doctor"
	"hemera/measure/host"
)

// local returns one mount of each file system that is on a disk of this machine and may have data.
func local(list []host.Mount) (kept []host.Mount) {
	seen := map[string]bool{} // devices: a bind mount shows a file system twice
	for _, m := range list {
		data := strings.HasPrefix(m.Source, "/dev/") && !strings.HasPrefix(m.Source, "/dev/loop") && !strings.HasPrefix(m.Source, "/dev/zram")
		// Images of packages, and the partition for firmware.
		if !data || seen[m.Device] || slices.Contains([]string{"squashfs", "iso9660", "erofs", "vfat", "udf"}, m.Kind) || strings.HasPrefix(m.At, "/boot") {
			continue
		}
		seen[m.Device] = true
		kept = append(kept, m)
	}
	return kept
}

// filesystems adds the file systems to observe and their disks.
func (v *observer) filesystems() {
	// The table of this process, which may have its own mount namespace.
	text, err := host.Text(v.Root, "proc/self/mountinfo")
	if err != nil {
		v.unseen("file systems", "the kernel does not show what is mounted", "it does so in /proc/self/mountinfo")
		return
	}
	all := host.ParseMounts(text)
	// Without directories, all that may have data.
	if len(v.Dirs) == 0 {
		for _, m := range local(all) {
			// Measured at its mount point.
			v.addFilesystem(m, m.At)
		}
		if len(v.s.Filesystems) == 0 {
			v.unseen("file systems", "none is on a disk of this machine", "name a directory: hemera doctor --dir DIRECTORY")
		}
		return
	}
	for _, dir := range v.Dirs {
		// Links are followed: the file system at their end is measured.
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			real, err = filepath.Abs(real)
		}
		m, ok := host.Holding(all, real)
		if err != nil || !ok {
			v.unseen(dir, "it is not there", "name a directory that exists")
			continue
		}
		v.addFilesystem(m, real)
	}
}

// addFilesystem adds a file system, which is measured at a directory, and its disk.
func (v *observer) addFilesystem(m host.Mount, at string) {
	f := doctor.Filesystem{Path: at, Type: m.Kind, Source: m.Source, Options: m.Options}
	// The disk of a partition: queues belong to whole disks.
	var major, minor uint32
	if _, err := fmt.Sscanf(m.Device, "%d:%d", &major, &minor); err == nil {
		f.Disk, _ = host.DiskNumbered(v.Root, major, minor)
	}
	if v.Root == "/" {
		// The device numbers of btrfs are not those of a device.
		if f.Disk == "" {
			f.Disk, _ = host.DiskOf(at)
		}
		var st unix.Statfs_t
		if unix.Statfs(at, &st) == nil && st.Bsize > 0 {
			f.Total, f.Free = int64(st.Blocks)*st.Bsize, int64(st.Bavail)*st.Bsize // #nosec G115 -- sizes of disks
			// The part for root alone is in neither: others cannot use it.
			f.Total -= int64(st.Bfree-st.Bavail) * st.Bsize         // #nosec G115 -- sizes of disks
			f.Files, f.FilesLeft = int64(st.Files), int64(st.Ffree) // #nosec G115 -- counts of files
		}
		if unlimited(m.Kind) {
			f.Files, f.FilesLeft = 0, 0
		}
	}
	// Other file systems do not count errors, or stop at the first.
	if m.Kind == "ext4" {
		f.Errors, _ = host.Number(v.Root, "sys/fs/ext4/"+filepath.Base(m.Source)+"/errors_count")
	}
	v.s.Filesystems = append(v.s.Filesystems, f)
	if f.Disk != "" && !slices.ContainsFunc(v.s.Disks, func(d doctor.Disk) bool { return d.Name == f.Disk }) {
		v.s.Disks = append(v.s.Disks, v.disk(f.Disk))
	}
}

// unlimited reports whether a file system makes inodes as needed: its reported counts follow the free space.
func unlimited(kind string) bool {
	return slices.Contains([]string{"xfs", "btrfs", "zfs", "f2fs", "bcachefs"}, kind)
}

// disk describes a disk and its request queue.
func (v *observer) disk(name string) doctor.Disk {
	dir := "sys/block/" + name
	kib := func(file string) int64 {
		n, _ := host.Number(v.Root, dir+"/queue/"+file)
		return n << 10
	}
	// Sizes are in KiB in these files.
	d := doctor.Disk{Device: host.ReadDevice(v.Root, name), MaxRequest: kib("max_sectors_kb"), MaxRequestOfHW: kib("max_hw_sectors_kb"), NUMANode: -1}
	// The node of the controller, which NVMe has one directory further up.
	if n, ok := host.Number(v.Root, dir+"/device/device/numa_node"); ok {
		d.NUMANode = int(n)
	}
	if n, ok := host.Number(v.Root, dir+"/device/numa_node"); ok {
		d.NUMANode = int(n)
	}
	// Real disks have a device directory; devices made by software have none.
	_, err := os.Stat(filepath.Join(v.Root, dir, "device"))
	d.Stacked = err != nil || v.s.Machine.Virtual != ""
	return d
}
