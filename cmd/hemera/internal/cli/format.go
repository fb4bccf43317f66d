package cli

import (
	"net"
	"strconv"
	"strings"
	"time"

	"hemera/cmd/hemera/internal/output"
)

// ColumnsOf makes a column of every field of a record, with units for a person. It leaves out the fields that are
// constant, which tell a person nothing.
// It is for tables with one record, where no choice of columns is needed.
func ColumnsOf(r output.Record) []output.Column {
	columns := make([]output.Column, 0, len(r))
	for _, f := range r {
		if !constant(f.Key) {
			columns = append(columns, output.Column{Title: f.Key, Key: f.Key, Show: unitOf(f.Key)})
		}
	}
	return columns
}

// constant is true for keys that exist only for tools of EOS: each is about something that Hemera does not have or
// does not measure (see docs/coming-from-eos.md).
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

// unitOf returns how a person reads the value of a key, by the key's suffix; nil is "as it is".
func unitOf(key string) func(any) string {
	has := func(suffixes ...string) bool {
		for _, s := range suffixes {
			if strings.HasSuffix(key, s) {
				return true
			}
		}
		return false
	}
	// The first case that matches decides. The order matters where one suffix ends in another.
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

// Unix returns seconds since 1970, and 0 for no time.
// Records have whole seconds: EOS's tools read integers.
func Unix(t time.Time) int64 {
	// A zero time has a large negative number of seconds.
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// Since returns the seconds from t to now, and 0 for no time.
func Since(now, t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return now.Sub(t).Seconds()
}

// Ago is Since for a time that may be unknown. nil then shows as nothing, where 0 would mean "just now".
func Ago(now, t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return Since(now, t)
}

// Stamp writes a time in UTC, for programs and people.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// TimeLeft is an estimate in whole seconds, rounded up: 0 means that it is unknown.
func TimeLeft(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// Percent is the share of part in whole, and 0 of nothing.
// It may exceed 100: a part may grow after its whole was measured.
func Percent(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// HostPort splits an address; an address without a port is all host.
// The port is 0 if there is none.
func HostPort(addr string) (string, int) {
	// IPv6 addresses have brackets.
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr, 0
	}
	n, _ := strconv.Atoi(port)
	return host, n
}

// OnOff returns the word for true or for false.
func OnOff(b bool, on, off string) string {
	if b {
		return on
	}
	return off
}
