// Package quota decides whether a file may use more: limits and usage in, a decision out, with the limit
// that refused. It is pure; the caller finds the standings and keeps the usage.
package quota

import (
	"fmt"

	"hemera/words/hemera"
)

// Account says whose usage is counted: a user's or a group's below one quota node, or all that is
// below it.
type Account struct {
	Node hemera.FileID
	Kind hemera.QuotaKind
	ID   uint32 // uid or gid
}

// Standing is one account that a new file would count in, with its limits.
type Standing struct {
	Account
	Path   string // of the node
	Limits hemera.QuotaAmount
	Used   hemera.QuotaAmount
}

// Want is the usage that is wanted in addition to what is used. Open says that an unknown number of bytes may come
// beyond Bytes and Physical: then each limit of bytes must have something left.
type Want struct {
	hemera.QuotaAmount
	Open bool
}

// Decision is the answer; a refusal says whose limit it is, why, and what can be done, in words.
type Decision struct {
	Allowed bool
	Whose   string
	Why     string
	Remedy  string
}

// Cost is what content takes on disks: Pieces bytes for each Data bytes of content.
type Cost struct{ Data, Pieces int64 }

// content is the number of bytes of content that take so many bytes on disks, rounded down and up. Division comes first, as
// limits may be any number.
func (c Cost) content(physical int64) (down, up int64) {
	data := max(c.Data, 1)
	pieces := max(c.Pieces, data)
	whole, rest := physical/pieces*data, physical%pieces*data
	return whole + rest/pieces, whole + (rest+pieces-1)/pieces
}

// Tightest is the limit that leaves the fewest bytes, in bytes of content: physical ones are converted by their cost, as of
// large files. Used may be above the limit, which is 0 when nothing limits bytes.
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

// Left is what the standings leave: bytes of content, and bytes on disks. It is never below zero; -1 where nothing limits
// it.
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

// Decide refuses what would exceed a limit of any standing, and names the first. What takes nothing
// more is allowed even above a limit: it may be what brings the usage down.
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

// dimension is one of the three things that are limited.
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
