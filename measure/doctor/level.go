package doctor

import (
	"fmt"
	"time"
)

// The levels, from the hardware up. Host has no rate: it is for findings about the whole machine.
const (
	LevelDevice     = "device"
	LevelFilesystem = "file system"
	LevelOne        = "one stream"
	LevelMany       = "many streams"
	LevelCache      = "page cache"
	LevelMemory     = "memory and CPU"
	LevelBus        = "bus"
	LevelTCP        = "TCP"
	LevelNIC        = "network card"
	LevelPath       = "path"
	LevelHost       = "host"
)

// Level is the result of one level.
type Level struct {
	Name    string  `json:"name"`
	Subject string  `json:"subject,omitempty"` // the disk, file system or link; "" for the machine
	Rate    float64 `json:"rate"`              // 0 if the level was examined without a transfer: How has the values
	How     string  `json:"how"`               // description of the measurement
}

// Narrow is the narrowest level.
type Narrow struct {
	Level   string  `json:"level"` // "" if too little was measured
	Subject string  `json:"subject,omitempty"`
	Rate    float64 `json:"rate,omitempty"`
	Next    string  `json:"next,omitempty"` // the narrowest level if this one were wider
	NextTo  float64 `json:"next_rate,omitempty"`
	Why     string  `json:"why,omitempty"`
}

// same is the fraction from which a level counts as fast as the one below it. Short measurements on a machine with other
// work vary by a fifth.
const same = 0.75

// levels returns the measured levels, in the order of the constants.
func levels(s *Snapshot) []Level {
	var list []Level
	add := func(name, subject string, rate float64, how string) {
		if rate > 0 {
			list = append(list, Level{name, subject, rate, how})
		}
	}
	// One line for each disk, file system and card, in the order of the constants.
	for _, d := range s.Disks {
		add(LevelDevice, d.Name, d.Direct, "direct reads in order, past every cache")
	}
	for _, f := range s.Filesystems {
		if t := f.Test; t != nil {
			add(LevelFilesystem, f.Path, t.Direct, fmt.Sprintf("reads of a file, %d at once%s", t.Depth, unless(!t.Buffered, ", through the page cache")))
			add(LevelOne, f.Path, t.Stream, "one program reads a file in order, with the read-ahead that is set")
			add(LevelMany, f.Path, t.Many, fmt.Sprintf("%d such programs together", t.Streams))
			add(LevelCache, f.Path, t.Cached, "the same file again")
		}
	}
	add(LevelMemory, "copy", s.Memory.Copy, "all cores copy memory")
	add(LevelMemory, "CRC-32C", s.Processor.Checksum*float64(max(1, s.Machine.Cores)), "checksums, one core measured, times the cores")
	add(LevelBus, "", s.Together, "direct reads of all disks at the same time")
	add(LevelTCP, "", max(s.Network.Local, s.Network.LocalMany), fmt.Sprintf("%d connections of the machine to itself", max(1, s.Network.LocalCount)))
	for _, l := range s.Links {
		if !l.Virtual { // bridges and bonds have the speed of the links below them
			add(LevelNIC, l.Name, float64(l.Speed), "what the driver says")
		}
	}
	for _, c := range s.peers() {
		if c.Failed != "" {
			continue
		}
		how := fmt.Sprintf("round trip %v, %d of %d packets lost", c.Trip.Round(time.Microsecond), c.Lost, c.Packets)
		list = append(list, Level{LevelPath, c.Address, 0, how})
	}
	return list
}

// unless returns the text, or "" if the condition holds.
func unless(condition bool, text string) string {
	if condition {
		return ""
	}
	return text
}

// narrowest returns the level that bounds the rate of many streams from all disks to the network. Levels of several disks
// are added up.
func narrowest(s *Snapshot, list []Level) Narrow {
	sum := map[string]float64{} // by level
	for _, l := range list {
		switch l.Name {
		case LevelMemory: // copies and checksums process the same bytes, so their rates do not add up
			if have := sum[l.Name]; have == 0 || l.Rate < have {
				sum[l.Name] = l.Rate
			}
		default:
			sum[l.Name] += l.Rate
		}
	}
	// In the storage stack the lowest level as slow as the top is the cause; those above do not matter.
	storage := ""
	top := sum[LevelMany]
	for _, name := range []string{LevelDevice, LevelBus, LevelFilesystem, LevelMany} {
		if storage == "" && sum[name] > 0 && (top == 0 || sum[name]*same <= top) {
			storage = name
		}
	}
	var n Narrow
	for _, name := range []string{storage, LevelMemory, LevelTCP, LevelNIC} {
		rate := sum[name]
		switch {
		case name == "" || rate == 0:
		case n.Level == "" || rate < n.Rate:
			n.Next, n.NextTo = n.Level, n.Rate
			n.Level, n.Rate = name, rate
		case n.Next == "" || rate < n.NextTo:
			n.Next, n.NextTo = name, rate
		}
	}
	n.explain(list)
	return n
}

// explain sets the subject and the reason, in words with values.
func (n *Narrow) explain(list []Level) {
	if n.Level == "" {
		return
	}
	// The subject, if there is only one.
	count := 0
	for _, l := range list {
		if l.Name == n.Level {
			n.Subject = l.Subject
			count++
		}
	}
	if count > 1 {
		n.Subject = fmt.Sprintf("%d together", count)
	}
	n.Why = fmt.Sprintf("%s carries %s", n.Level, RateText(n.Rate))
	if n.Next != "" {
		n.Why += fmt.Sprintf("; the next, %s, carries %s, %.1f times as much", n.Next, RateText(n.NextTo), n.NextTo/n.Rate)
	}
}

// RateText returns a rate in B/s with three digits and a unit.
func RateText(rate float64) string { return SizeText(rate) + "/s" }

// SizeText returns a number of bytes with three digits and a decimal prefix, as disks and networks are sold.
func SizeText(n float64) string {
	for _, p := range []struct {
		factor float64
		unit   string
	}{{1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if n >= p.factor {
			v := n / p.factor // 1 to 999
			switch {
			case v >= 100:
				return fmt.Sprintf("%.0f %s", v, p.unit)
			case v >= 10:
				return fmt.Sprintf("%.1f %s", v, p.unit)
			}
			return fmt.Sprintf("%.2f %s", v, p.unit)
		}
	}
	return fmt.Sprintf("%.0f B", n)
}
