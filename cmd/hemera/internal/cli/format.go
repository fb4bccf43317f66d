package cli

import (
	"net"
	"strconv"
	"strings"
	"time"

	"hemera/cmd/hemera/internal/output"
)

// ColumnsOf makes a column of every field of a record, with units for a person, except for constant fields. It is for
// tables with one record, which need no choice of columns.
func ColumnsOf(r output.Record) []output.Column {
	columns := make([]output.Column, 0, len(r))
	for _, f := range r {
		if !constant(f.Key) {
			columns = append(columns, output.Column{Title: f.Key, Key: f.Key, Show: unitOf(f.Key)})
		}
	}
	return columns
}

// constant reports whether a key exists only for tools of EOS: for something that Hemera does not have or measure (see
// docs/coming-from-eos.md).
func constant(key string) bool {
	switch key {
	case "stat.drainretry", "stat.balancer.running", "stat.disk.iops", "stat.disk.bw",
		"stat.health.redundancy_factor", "stat.health.drives_failed", "stat.health.drives_total",
		"sum.stat.disk.iops?configstatus@rw", "sum.stat.disk.bw?configstatus@rw",
		"cfg.quota", "cfg.nominalsize", "sum.stat.statfs.ffiles":
		return true
	}
	return false
}

// unitOf returns the format of a key's value for a person, by the key's suffix; nil for no format.
func unitOf(key string) func(any) string {
	has := func(suffixes ...string) bool {
		for _, s := range suffixes {
			if strings.HasSuffix(key, s) {
				return true
			}
		}
		return false
	}
	// The first matching case decides. The order matters where one suffix ends in another.
	switch {
	case has("<n>?configstatus@rw"):
		return nil
	case has("bytes", "bytes_max", "bytesleft", "bytesdone", "capacity", ".rss", ".vsize", "@rw", ".maxsize", ".occupancy", ".resident", ".virtual", ".share", ".growth"):
		return output.Bytes
	case has("headroom"):
		return output.Auto(output.Bytes)
	case has("minpieces"):
		return output.Auto(output.Digits(0))
	case has("usage", "progress", "filled"):
		return output.Percent
	case has("timeleft"):
		return output.Estimate
	case has("uptime", "delta", "graceperiod"):
		return output.Seconds
	case has("started", ".start", ".lastaudit", ".lastscrub", ".backup.last"):
		return output.Time
	}
	return nil
}

// Unix returns whole seconds since 1970, which EOS's tools read, and 0 for the zero time.
func Unix(t time.Time) int64 {
	// A zero time has a large negative number of seconds.
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// Since returns the seconds from t to now, and 0 for the zero time.
func Since(now, t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return now.Sub(t).Seconds()
}

// Ago does the same as Since for a time that may be unknown: then it returns nil, which is shown as nothing, where 0
// would mean "just now".
func Ago(now, t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return Since(now, t)
}

// Stamp formats a time in UTC, for programs and people.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// TimeLeft returns an estimate in whole seconds, rounded up: 0 means unknown.
func TimeLeft(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// Percent returns part as a percentage of whole, and 0 if whole is 0. It may exceed 100, because a part may grow after
// its whole was measured.
func Percent(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// HostPort splits an address. Without a port the whole text is the host, and the port is 0.
func HostPort(addr string) (string, int) {
	// IPv6 addresses have brackets.
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr, 0
	}
	n, _ := strconv.Atoi(port)
	return host, n
}

// OnOff returns one word for true and the other for false.
func OnOff(b bool, on, off string) string {
	if b {
		return on
	}
	return off
}
