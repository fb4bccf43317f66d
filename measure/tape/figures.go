package tape

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hemera/measure/result"
	"hemera/tape/timing"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// native returns the rate of the drives in B/s.
func native() float64 {
	m, _ := timing.MediaOfName("LTO-9") // it is in the table
	return float64(m.Rate)
}

// sum has the totals of one drive in a pass, over one session or several.
type sum struct {
	tapeapi.Session
	moving time.Duration // from the positioning for the first file until the end of each session
}

// byTape adds up the sessions of each tape, thus of each drive.
func byTape(sessions []tapeapi.Session) map[hemera.VID]*sum {
	// A tape does not change its drive within a pass.
	all := map[hemera.VID]*sum{}
	for _, s := range sessions {
		of := all[s.VID]
		if of == nil {
			of = &sum{}
			all[s.VID] = of
		}
		// The first sample is taken when the tape is positioned at the first file, or has returned its first block.
		positioned := time.Duration(0)
		if len(s.Course) > 0 {
			positioned = s.Course[0].At
		}
		of.moving += s.Elapsed - positioned
		of.Files, of.Bytes, of.BackHitches = of.Files+s.Files, of.Bytes+s.Bytes, of.BackHitches+s.BackHitches
		of.Disk, of.Network, of.Robot, of.Tape = of.Disk+s.Disk, of.Network+s.Network, of.Robot+s.Robot, of.Tape+s.Tape
		// The course of the longest one is shown.
		if len(s.Course) > len(of.Course) {
			of.Course = s.Course
		}
	}
	return all
}

// add adds the measures of a pass in one direction.
func (r *run) add(p pass, load string, sessions []tapeapi.Session) {
	tapes := byTape(sessions)
	for i, vid := range slices.Sorted(maps.Keys(tapes)) {
		s := tapes[vid]
		// By the order of tapes, which is that of pools.
		labels := maps.Clone(p.labels)
		labels["load"], labels["drive"] = load, strconv.Itoa(i+1)
		seconds := max(s.moving, time.Millisecond).Seconds()
		put := func(name, unit string, better result.Better, value float64) result.Measure {
			return result.Measure{Name: name, Labels: labels, Unit: unit, Better: better, Samples: []float64{value}}
		}
		// The share repeats it for plans with other drives.
		throughput := put("throughput", "B/s", result.Higher, float64(s.Bytes)/seconds)
		throughput.Peak, throughput.PeakFrom = native(), "native rate of an LTO-9 drive"
		r.rec.Add(throughput)
		r.rec.Add(put("share", "1", result.Higher, throughput.Samples[0]/native()))
		if p.small {
			r.rec.Add(put("rate", "1/s", result.Higher, float64(s.Files)/seconds))
		}
		r.rec.Add(put("back_hitches", "stops", result.Lower, float64(s.BackHitches)))
		for cause, waited := range map[string]time.Duration{"disk": s.Disk, "network": s.Network, "robot": s.Robot, "tape": s.Tape} {
			r.rec.Add(put("wait_"+cause, "s", result.Lower, waited.Seconds()))
		}
		if p.course {
			r.course(labels, s.Course)
		}
		r.rec.Worked(result.Iteration{Labels: labels, Began: sessions[0].Begun, Ended: sessions[0].Ended, Bytes: s.Bytes, Ops: s.Files})
	}
}

// course adds the samples of a session as series. Their times count from the start of the session, not of the run.
func (r *run) course(labels result.Labels, samples []tapeapi.Sample) {
	add := func(name, unit string, series []result.Point) {
		r.rec.Add(result.Measure{Name: name, Labels: labels, Unit: unit, Samples: []float64{}, Series: series})
	}
	var rate, buffered, hitches []result.Point
	waits := map[string][]result.Point{}
	for i, s := range samples {
		at := s.At.Seconds()
		buffered = append(buffered, result.Point{At: at, Value: float64(s.Buffered)})
		hitches = append(hitches, result.Point{At: at, Value: float64(s.BackHitches)})
		if i == 0 {
			continue
		}
		// The following values are for the time since the sample before.
		before := samples[i-1]
		took := (s.At - before.At).Seconds()
		if took <= 0 {
			continue
		}
		rate = append(rate, result.Point{At: at, Value: float64(s.Bytes-before.Bytes) / took})
		for cause, waited := range map[string]time.Duration{"disk": s.Disk - before.Disk, "network": s.Network - before.Network, "tape": s.Tape - before.Tape} {
			waits[cause] = append(waits[cause], result.Point{At: at, Value: waited.Seconds() / took})
		}
	}
	// Measures without samples are shown in plots only.
	add("session_rate", "B/s", rate)
	add("session_buffered", "B", buffered)
	add("session_back_hitches", "stops", hitches)
	for cause, series := range waits {
		add("session_wait_"+cause, "1", series)
	}
}

// figures returns the plots of the level.
func figures(o *Options) []result.Figure {
	// The most important ones come first.
	var all []result.Figure
	if len(o.Drives) > 0 {
		all = append(all, result.Figure{ID: "tape-large", Title: "Large files to tape and back", Kind: result.Bars, Names: []string{"throughput"}, Where: result.Labels{"test": "large"},
			X: "load", Group: []string{"drives", "drive"}, Peak: true, Caption: "Each drive, with one and with several at once. The dotted line is what a drive takes."})
	}
	all = append(all, result.Figure{ID: "tape-stream", Title: "One buffered stream of each disk", Kind: result.Bars, Names: []string{"throughput"}, Where: result.Labels{"test": "stream"},
		X: "disk", Caption: "Requests of 128 KiB, one after another: what a copy by one thread would give a drive."})
	if len(o.Small) > 0 {
		all = append(all, result.Figure{ID: "tape-small", Title: "Small files to tape and back", Kind: result.Bars, Names: []string{"rate"}, Where: result.Labels{"test": "small"},
			X: "size", XTitle: "bytes of a file", Group: []string{"load", "containers"}, Caption: "Files a second of one drive."})
	}
	// The courses of each pass, of all its drives.
	for _, n := range o.Drives {
		for _, load := range []string{"archive", "recall"} {
			all = append(all, courses(load, strconv.Itoa(n))...)
		}
	}
	return all
}

// courses returns the plots of the sessions of one pass.
func courses(load, drives string) []result.Figure {
	where := result.Labels{"test": "large", "load": load, "drives": drives}
	over := func(id, title, caption string, names ...string) result.Figure {
		return result.Figure{ID: "tape-" + load + "-" + drives + "-" + id, Title: title, Caption: caption, Kind: result.Course, Names: names, Where: where,
			XTitle: "seconds of the session", Group: []string{"drive"}}
	}
	name := map[string]string{"archive": "Archive", "recall": "Recall"}[load]
	return []result.Figure{
		over("rate", name+": rate of the drive", "Since the sample before. At first the drive fills its memory, and at the end it writes it out.", "session_rate"),
		over("buffered", name+": memory of the session", "Bytes that were read from disk and wait for the drive, or from tape and wait for disks.", "session_buffered"),
		over("waits", name+": waits", "Share of the time since the sample before.", "session_wait_disk", "session_wait_network", "session_wait_tape"),
		over("hitches", name+": back-hitches", "Stops of the tape so far.", "session_back_hitches"),
	}
}

// readAheadOf returns the read-ahead of the device below a directory in bytes; false if unknown.
func readAheadOf(dir string) (int64, bool) {
	// By the number of the device, whatever its name is.
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return 0, false
	}
	device := strconv.FormatUint(uint64(unix.Major(st.Dev)), 10) + ":" + strconv.FormatUint(uint64(unix.Minor(st.Dev)), 10)
	// A partition uses the queue of its disk.
	for _, at := range []string{"queue", "../queue"} {
		text, err := os.ReadFile(filepath.Join("/sys/dev/block", device, at, "read_ahead_kb")) // #nosec G304 -- of the kernel
		if err != nil {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		return kib << 10, err == nil
	}
	return 0, false
}
