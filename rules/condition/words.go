package condition

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hemera/words/hemera"
)

// Texts of conditions. They appear in terminals and in alerts: one line without a full stop.

// namesMax is the largest number of things that a text names.
const namesMax = 5

// count writes a number with its noun.
func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// atLeast marks a count that is not complete yet.
func atLeast(partial bool) string {
	if partial {
		return "at least "
	}
	return ""
}

// named writes a list of ids behind its noun, cut after namesMax.
func named(one, many string, ids []string) string {
	switch {
	case len(ids) == 1:
		return one + " " + ids[0]
	case len(ids) > namesMax:
		return many + " " + strings.Join(ids[:namesMax], ", ") + " and " + fmt.Sprint(len(ids)-namesMax) + " more"
	}
	return many + " " + strings.Join(ids, ", ")
}

// onOff returns on or off.
func onOff(b bool, on, off string) string {
	if b {
		return on
	}
	return off
}

// where returns the place of a disk as a person looks for it.
func where(n hemera.NodeInfo, d hemera.Disk) string {
	if n.Addr == "" {
		return d.Path
	}
	return d.Path + " on " + n.Addr
}

// why returns the node's explanation of a disk's state, as the end of a sentence.
func why(d hemera.Disk) string {
	if d.Why == "" {
		return ""
	}
	return ": " + d.Why
}

// largest says which size a piece can have that each of n disks takes, as the end of a sentence; free has the free bytes
// of all.
func largest(free []int64, n int) string {
	if n == 0 {
		return "; no piece fits"
	}
	return fmt.Sprintf("; the largest piece that fits on %s has %s", count(int64(n), "of its disks", "of its disks"), hemera.FormatSize(float64(hemera.Largest(free, n))))
}

// tight says which size a piece can have if disks of a space lack only room, as the end of a sentence.
func tight(all []hemera.Disk, free []int64) string {
	full := func(d hemera.Disk) bool {
		return d.Health == hemera.HealthFull && d.Config == hemera.ConfigRW || d.Writable() && d.Free <= 0
	}
	if !slices.ContainsFunc(all, full) {
		return ""
	}
	return largest(free, len(free))
}

// holding says how many pieces would be missing with the disk.
func holding(d hemera.Disk) string {
	if d.Pieces == 0 {
		return ", with no piece that a file needs"
	}
	return ", with " + count(d.Pieces, "piece", "pieces")
}

// age formats a duration for people.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		return d.Round(time.Minute).String()[:len(d.Round(time.Minute).String())-2]
	case d < 48*time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}
