// Package quota decides whether a file may use more space. It takes limits and usage, and returns a decision with the
// limit that refused. It is pure: the caller finds the standings and keeps the usage.
package quota

import (
	"fmt"

	"hemera/words/hemera"
)

// Account names one counter of usage: of a user, of a group, or of all files, below one quota node.
type Account struct {
	Node hemera.FileID
	Kind hemera.QuotaKind
	ID   uint32 // uid or gid
}

// Standing is one account in which a new file would count, with its limits.
type Standing struct {
	Account
	Path   string // of the node
	Limits hemera.QuotaAmount
	Used   hemera.QuotaAmount
}

// Want is the additional usage that a request needs. Open says that an unknown number of bytes may follow beyond Bytes
// and Physical: then each limit of bytes must have something left.
type Want struct {
	hemera.QuotaAmount
	Open bool
}

// Decision is the answer. A refusal says whose limit was reached, why, and what can be done, in words.
type Decision struct {
	Allowed bool
	Whose   string
	Why     string
	Remedy  string
}

// Cost is the ratio of bytes on disks to bytes of content: Pieces bytes for each Data bytes of content.
type Cost struct{ Data, Pieces int64 }

// content returns the number of bytes of content that use physical bytes on disks, rounded down and up. It divides first,
// as limits may be any number.
func (c Cost) content(physical int64) (down, up int64) {
	data := max(c.Data, 1)
	pieces := max(c.Pieces, data)
	whole, rest := physical/pieces*data, physical%pieces*data
	return whole + rest/pieces, whole + (rest+pieces-1)/pieces
}

// Tightest returns the limit that leaves the fewest bytes, in bytes of content: physical ones are converted by the cost
// of large files. Used may be above the limit. The limit is 0 if nothing limits bytes.
func Tightest(standings []Standing, cost Cost) (limit, used int64) {
	for _, s := range standings {
		for _, d := range [...]struct {
			limit, used int64
			cost        Cost
		}{
			{s.Limits.Bytes, s.Used.Bytes, Cost{1, 1}},
			{s.Limits.Physical, s.Used.Physical, cost},
		} {
			if d.limit == 0 {
				continue
			}
			l, _ := d.cost.content(d.limit)
			_, u := d.cost.content(d.used)
			l = max(1, l)
			if limit == 0 || l-u < limit-used {
				limit, used = l, u
			}
		}
	}
	return limit, used
}

// Left returns what the standings leave: bytes of content, and bytes on disks. A result is never below zero, except -1 if
// it is not limited.
func Left(standings []Standing) (bytes, physical int64) {
	bytes, physical = -1, -1
	least := func(have, limit, used int64) int64 {
		left := max(limit-max(used, 0), 0) // usage below zero does not give more than the limit
		if limit == 0 || have >= 0 && have < left {
			return have
		}
		return left
	}
	for _, s := range standings {
		bytes = least(bytes, s.Limits.Bytes, s.Used.Bytes)
		physical = least(physical, s.Limits.Physical, s.Used.Physical)
	}
	return bytes, physical
}

// Decide refuses a want that would exceed a limit of any standing, and names the first. A want that needs nothing more is
// allowed even above a limit: it may lower the usage.
func Decide(standings []Standing, want Want) Decision {
	for _, s := range standings {
		for _, d := range [...]dimension{
			{"files", s.Limits.Files, s.Used.Files, want.Files, false},
			{"bytes", s.Limits.Bytes, s.Used.Bytes, want.Bytes, want.Open},
			{"physical bytes", s.Limits.Physical, s.Used.Physical, want.Physical, want.Open},
		} {
			if d.exceeded() {
				return Decision{Whose: s.who() + " in " + s.Path, Why: d.why(), Remedy: fmt.Sprintf("remove files of %s below %s, or have an admin raise the limit with `hemera quota set`", s.who(), s.Path)}
			}
		}
	}
	return Decision{Allowed: true}
}

// dimension is one of the three quantities that are limited.
type dimension struct {
	what              string
	limit, used, want int64
	open              bool
}

func (d dimension) exceeded() bool {
	switch {
	case d.limit == 0:
		return false
	case d.want > 0 || d.open && d.want == 0:
		return d.used >= d.limit || d.want > d.limit-d.used
	}
	return false
}

func (d dimension) why() string {
	text := fmt.Sprintf("%d of %d %s are used", d.used, d.limit, d.what)
	if d.used < d.limit {
		text += fmt.Sprintf(", %d more are asked for, which is %d too many", d.want, d.want-(d.limit-d.used))
	}
	return text
}

func (s Standing) who() string {
	switch s.Kind {
	case hemera.QuotaUser:
		return fmt.Sprintf("uid %d", s.ID)
	case hemera.QuotaGroup:
		return fmt.Sprintf("gid %d", s.ID)
	}
	return "the project"
}
