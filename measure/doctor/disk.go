package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Bounds of read-ahead. In the sweep of docs/doctor.md, on an SSD with latency, dd reached half of the drive's rate at
// 128 KiB and all of it at 32 MiB.
const (
	readAheadEnough = 4 << 20  // from here on more does not make a stream faster
	readAheadFix    = 32 << 20 // the largest value of the sweep
	readAheadGain   = 1.25     // least gain of read requests in advance; less is noise
)

// disks judges each disk: its health, and its settings if a measurement shows their cost.
func disks(s *Snapshot) (list []Finding) {
	for i := range s.Disks {
		d := &s.Disks[i]
		if f, bad := smart(d); bad {
			list = append(list, f)
		}
		// Settings are judged by the test of the first file system on the disk.
		t := testOn(s, d.Name)
		if f, bad := readAhead(d, t); bad {
			list = append(list, f)
		}
		if f, bad := requestSize(d); bad {
			list = append(list, f)
		}
		if f, bad := scheduler(d, t); bad {
			list = append(list, f)
		}
	}
	return list
}

// testOn returns the test of the first file system on the disk, or nil.
func testOn(s *Snapshot, disk string) *FileTest {
	for _, f := range s.Filesystems {
		if f.Disk == disk && f.Test != nil {
			return f.Test
		}
	}
	return nil
}

// smart reports a disk that failed its own test or has lost sectors.
func smart(d *Disk) (Finding, bool) {
	m := d.Smart
	if m == nil {
		return Finding{}, false
	}
	// From certain to likely: the first that applies is reported.
	f := Finding{ID: "smart-failing", Subject: d.Name, Severity: Problem, Remedy: "hemera node drain or hemera fs set the disk to drain, then replace it; smartctl -x /dev/" + d.Name + " has the details"}
	switch {
	case !m.Passed:
		f.Evidence = "the disk's own assessment is FAILED"
	case m.Pending > 0:
		f.Evidence = fmt.Sprintf("%d sectors cannot be read and wait to be replaced", m.Pending)
	case m.MediaErrors > 0:
		f.Evidence = fmt.Sprintf("%d errors of the medium that the disk could not correct", m.MediaErrors)
	case m.Reallocated >= 50 || m.Used >= 100: // some reallocated sectors are usual in old disks
		f.Severity = Risk
		f.Evidence = fmt.Sprintf("%d sectors were replaced, %d %% of the planned life is used", m.Reallocated, m.Used)
	default:
		return Finding{}, false
	}
	return f, true
}

// readAhead reports a read-ahead that makes one reader slow: the same reader is faster with more requests in advance.
func readAhead(d *Disk, t *FileTest) (Finding, bool) {
	if t == nil || t.Buffered || t.Stream <= 0 || d.ReadAhead >= readAheadEnough || t.Ahead < readAheadGain*t.Stream {
		return Finding{}, false
	}
	// Both rates are of the same file within seconds, in turn, so disk, place and other work are the same.
	file := "sys/block/" + d.Name + "/queue/read_ahead_kb"
	return Finding{
		ID: "disk-readahead", Subject: d.Name, Severity: Problem,
		Evidence: fmt.Sprintf("one stream reads %s with read_ahead_kb=%d, and %s when 16 MiB are asked for in advance", RateText(t.Stream), d.ReadAhead>>10, RateText(t.Ahead)),
		Remedy:   fmt.Sprintf("echo %d > /%s", readAheadFix>>10, file),
		Gain:     fmt.Sprintf("%.1f times for programs that read one file in order (measured here); Hemera's nodes read ahead by themselves", t.Ahead/t.Stream),
		Fix:      &Fix{file, strconv.Itoa(readAheadFix >> 10)},
	}, true
}

// requestSize reports requests that are cut below both the limit of the hardware and Linux's own default, 1280 KiB.
func requestSize(d *Disk) (Finding, bool) {
	const enough = 512 << 10 // from here on the sweep has no more gain
	if d.MaxRequest <= 0 || d.MaxRequest >= enough || d.MaxRequestOfHW <= d.MaxRequest {
		return Finding{}, false
	}
	// 1280 KiB is the kernel's default (BLK_DEF_MAX_SECTORS).
	want := min(d.MaxRequestOfHW, 1280<<10)
	file := "sys/block/" + d.Name + "/queue/max_sectors_kb"
	return Finding{
		ID: "disk-max-sectors", Subject: d.Name, Severity: Hint,
		Evidence: fmt.Sprintf("max_sectors_kb=%d, the hardware takes %d", d.MaxRequest>>10, d.MaxRequestOfHW>>10),
		Remedy:   fmt.Sprintf("echo %d > /%s", want>>10, file),
		Gain:     "about a tenth of sequential rates, and fewer interrupts (published: 277 MB/s with requests of 128 KiB, 302 MB/s with 256 KiB)",
		Fix:      &Fix{file, strconv.FormatInt(want>>10, 10)},
	}, true
}

// scheduler reports a rotating disk whose streams disturb each other without a scheduler.
func scheduler(d *Disk, t *FileTest) (Finding, bool) {
	file := "sys/block/" + d.Name + "/queue/scheduler"
	switch {
	case d.Stacked: // the level below orders the requests
		return Finding{}, false
	// The heads move between streams; a scheduler can bound that.
	case d.Rotating && d.Scheduler == "none" && t != nil && t.Many > 0 && t.Many < 0.6*t.Stream:
		return Finding{
			ID: "disk-scheduler", Subject: d.Name, Severity: Problem,
			Evidence: fmt.Sprintf("a rotating disk without scheduler: %d streams together read %s, one alone %s", t.Streams, RateText(t.Many), RateText(t.Stream)),
			Remedy:   "echo mq-deadline > /" + file, Gain: fmt.Sprintf("up to %.1f times for several readers (measured: one stream)", t.Stream/t.Many),
			Fix: &Fix{file, "mq-deadline"},
		}, true
	// The cost of a request matters only at high request rates.
	case !d.Rotating && d.Scheduler == "bfq" && t != nil && t.Direct > 1e9:
		return Finding{
			ID: "disk-scheduler", Subject: d.Name, Severity: Hint,
			Evidence: fmt.Sprintf("the scheduler is bfq, which takes a lock and some microseconds for each request; the disk reads %s", RateText(t.Direct)),
			Remedy:   "echo none > /" + file, Gain: "less processor time for each request; a fast SSD orders requests itself",
			Fix: &Fix{file, "none"},
		}, true
	}
	return Finding{}, false
}

// Bounds of slow disks.
const (
	slowAlone = 50e6 // B/s that every disk of the last fifteen years reads in order, in its slowest area
	busyMost  = 0.3  // from here on other work explains low rates
)

// equals reports disks that are much slower than others of their kind, and disks that are slower than any: the first sign
// of many faults.
func equals(s *Snapshot) (list []Finding) {
	rates := map[string][]float64{} // by kind
	kind := func(d Disk) string { return fmt.Sprint(d.Model, d.Size, d.Rotating) }
	for _, d := range s.Disks {
		if d.Direct > 0 && d.Busy < busyMost {
			rates[kind(d)] = append(rates[kind(d)], d.Direct)
		}
	}
	for _, d := range s.Disks {
		if d.Direct <= 0 || d.Busy >= busyMost {
			continue
		}
		f := Finding{ID: "disk-slow", Subject: d.Name, Severity: Problem}
		others := rates[kind(d)]
		// The median does not depend on the one that is wrong. With two disks it is unknown which one is wrong.
		slices.Sort(others)
		median := others[len(others)/2]
		switch {
		case len(others) >= 3 && d.Direct < 0.6*median:
			f.Evidence = fmt.Sprintf("it reads %s; of the %d disks of its kind half read %s or more", RateText(d.Direct), len(others), RateText(median))
			f.Gain = fmt.Sprintf("%.1f times for files on it (measured: its equals)", median/d.Direct)
		case d.Direct < slowAlone && !strings.HasPrefix(d.Name, "mmcblk"): // memory cards are as slow as that
			f.Evidence = fmt.Sprintf("it reads %s in order with %d requests at once, less than any disk should (%s)", RateText(d.Direct), depthOf(s, d.Name), RateText(slowAlone))
			f.Gain = fmt.Sprintf("%.1f times and more (the slowest place of a healthy disk)", slowAlone/d.Direct)
		default:
			continue
		}
		f.Remedy = "look at cable, slot and USB version, at limits of the hypervisor or control group (io.max), and at smartctl -x /dev/" + d.Name + "; replace it if nothing explains it"
		list = append(list, f)
	}
	return list
}

// depthOf returns the number of concurrent requests at a disk.
func depthOf(s *Snapshot, disk string) int {
	if t := testOn(s, disk); t != nil {
		return t.Depth
	}
	return 1
}

// bus reports disks that together reach much less than the sum of the single rates.
func bus(s *Snapshot) []Finding {
	// Only disks that were measured alone, in the same way.
	sum, count := 0.0, 0
	for _, d := range s.Disks {
		if d.Direct > 0 && !d.Stacked { // guests share the hardware below, which cannot be changed from this machine
			sum += d.Direct
			count++
		}
	}
	if s.Together <= 0 || count < 2 || s.Together >= 0.75*sum {
		return nil
	}
	// The sum is the rate without shared hardware.
	return []Finding{{
		ID: "bus-shared", Severity: Problem,
		Evidence: fmt.Sprintf("%d disks read %s at the same time; one after another they read %s in sum", count, RateText(s.Together), RateText(sum)),
		Remedy:   "spread the disks over more host bus adapters or PCIe lanes: lspci -vv shows LnkSta of each adapter",
		Gain:     fmt.Sprintf("up to %.1f times with all disks busy (measured: the sum of the disks)", sum/s.Together),
	}}
}
