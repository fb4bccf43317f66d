package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// filesystems judges each file system.
func filesystems(s *Snapshot) (list []Finding) {
	for i := range s.Filesystems {
		f := &s.Filesystems[i]
		list = append(list, options(f)...)
		for _, rule := range []func(*Filesystem) (Finding, bool){damaged, full, inodes, fragmented} {
			if found, bad := rule(f); bad {
				list = append(list, found)
			}
		}
		if found, bad := slower(s, f); bad {
			list = append(list, found)
		}
	}
	return list
}

// damaged reports errors that the file system has counted. A file system that the kernel made read-only has counted some;
// one that an admin mounted read-only is no finding.
func damaged(f *Filesystem) (Finding, bool) {
	if f.Errors <= 0 {
		return Finding{}, false
	}
	found := Finding{
		ID: "fs-errors", Subject: f.Path, Severity: Problem, Evidence: fmt.Sprintf("%s has counted %d errors in its structures", f.Type, f.Errors),
		Remedy: "drain the disk, unmount it and check it: fsck -f " + f.Source + "; dmesg has the errors",
	}
	if slices.Contains(f.Options, "ro") {
		found.ID = "fs-read-only"
		found.Evidence += ", and it is read-only now"
	}
	return found, true
}

// full reports a file system with little free space. The rates of most fall when they search for free blocks.
func full(f *Filesystem) (Finding, bool) {
	if f.Total <= 0 {
		return Finding{}, false
	}
	// The part for root alone is in neither number.
	used := 1 - float64(f.Free)/float64(f.Total)
	found := Finding{
		ID: "fs-nearly-full", Subject: f.Path, Severity: Risk,
		Evidence: fmt.Sprintf("%.1f %% of %s are in use, %s are left", 100*used, SizeText(float64(f.Total)), SizeText(float64(f.Free))),
		Remedy:   "move data away (hemera space balance moves pieces to other disks), or add disks with hemera fs add",
	}
	switch {
	case f.Free == 0:
		found.Severity = Problem
		found.Evidence += ": every write fails"
	case used < 0.95:
		return Finding{}, false
	}
	return found, true
}

// inodes reports a file system with few free inodes.
func inodes(f *Filesystem) (Finding, bool) {
	if f.Files <= 0 {
		return Finding{}, false
	}
	// A fraction, for small and large file systems alike.
	left := float64(f.FilesLeft) / float64(f.Files)
	found := Finding{
		ID: "fs-inodes", Subject: f.Path, Severity: Risk,
		Evidence: fmt.Sprintf("%d of %d inodes are left, with %s of room", f.FilesLeft, f.Files, SizeText(float64(f.Free))),
		Remedy:   "remove or move small files; make the file system again with more inodes (mkfs.ext4 -i 65536) or with XFS, which has no fixed number",
	}
	switch {
	case f.FilesLeft == 0:
		found.Severity = Problem
		found.Evidence += ": no file can be made"
	case left > 0.05:
		return Finding{}, false
	}
	if f.MakeFailed != "" {
		found.Evidence += " (a new file: " + f.MakeFailed + ")"
	}
	return found, true
}

// fragmented reports a new file with many extents.
func fragmented(f *Filesystem) (Finding, bool) {
	// One extent for each MiB costs a rotating disk about half of its rate.
	t := f.Test
	if t == nil || t.Extents < 2 || t.Bytes/int64(t.Extents) >= 1<<20 {
		return Finding{}, false
	}
	found := Finding{
		ID: "fs-fragmented", Subject: f.Path, Severity: Hint,
		Evidence: fmt.Sprintf("a new file of %s got %d parts, %s each", SizeText(float64(t.Bytes)), t.Extents, SizeText(float64(t.Bytes/int64(t.Extents)))),
		Remedy:   "leave more room free (below 90 % in use), and run the file system's defragmentation: e4defrag or xfs_fsr " + f.Path,
	}
	return found, true
}

// slower reports a file system that is much slower than its device, measured on the same blocks.
func slower(s *Snapshot, f *Filesystem) (Finding, bool) {
	t := f.Test
	// Both rates are of the same blocks.
	i := slices.IndexFunc(s.Disks, func(d Disk) bool { return d.Name == f.Disk })
	if t == nil || i < 0 || t.Buffered || s.Disks[i].Direct <= 0 || t.Direct >= 0.6*s.Disks[i].Direct {
		return Finding{}, false
	}
	return Finding{
		ID: "fs-slow", Subject: f.Path, Severity: Problem,
		Evidence: fmt.Sprintf("a file reads %s, its device %s", RateText(t.Direct), RateText(s.Disks[i].Direct)),
		Remedy:   "look at encryption, compression and scanners of files (fanotify), and at fs-fragmented; mount it plainly and measure again",
		Gain:     fmt.Sprintf("up to %.1f times (measured: the device)", s.Disks[i].Direct/t.Direct),
	}, true
}

// options reports slow or dangerous mount options. None of them is a default.
func options(f *Filesystem) (list []Finding) {
	add := func(severity Severity, option, evidence, remedy, gain string) {
		list = append(list, Finding{ID: "fs-mount-options", Subject: f.Path, Severity: severity, Evidence: option + ": " + evidence, Remedy: remedy, Gain: gain})
	}
	// For the present mount and the next one.
	remount := func(option string) string { return "mount -o remount," + option + " " + f.Path + ", and in /etc/fstab" }
	for _, o := range f.Options {
		switch o {
		case "sync", "dirsync":
			add(Hint, o, "every write waits for the disk, also where nobody asked", remount("async"), "writes in the page cache in place of one disk access each")
		case "nobarrier", "barrier=0":
			add(Risk, o, "a power cut can lose what an fsync made durable", remount("barrier=1"), "")
		case "data=journal":
			add(Hint, o, "all data is written twice", "data=ordered in /etc/fstab, and mount it again", "up to 2 times for writes (half of the writes)")
		}
	}
	// Without relatime, noatime or nodiratime each read of a file writes its inode. The kernel shows strictatime as no
	// option.
	atime := slices.ContainsFunc(f.Options, func(o string) bool { return strings.HasSuffix(o, "atime") && o != "strictatime" })
	if !atime && len(f.Options) > 0 && slices.Contains(f.Options, "rw") && hasAtime(f.Type) {
		add(Hint, "strictatime", "each read of a file also writes its time of access", remount("relatime"), "no writes for reads")
	}
	return list
}

// hasAtime reports whether file systems of the kind write access times to a disk.
func hasAtime(kind string) bool {
	return slices.Contains([]string{"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "reiserfs"}, kind)
}
