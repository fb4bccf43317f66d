// Package quota decides whether a file may use more: limits and usage in, a decision out, with the limit
// that refused. It is pure; the caller finds the standings and keeps the usage.
package quota

import (
	"fmt"

	"hemera"
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

// Tightest is the limit that leaves the fewest bytes, in bytes of content: physical ones are divided by
// copies, how many of them a byte of content takes. Used may be above the limit, which is 0 when nothing
// limits bytes.
func Tightest(standings []Standing, copies int64) (limit, used int64) {
	for _, s := range standings {
		for _, d := range [...]struct{ limit, used, by int64 }{
			{s.Limits.Bytes, s.Used.Bytes, 1},
			{s.Limits.Physical, s.Used.Physical, max(1, copies)},
		} {
			if d.limit == 0 {
				continue
			}
			l, u := max(1, d.limit/d.by), (d.used+d.by-1)/d.by
			if limit == 0 || l-u < limit-used {
				limit, used = l, u
			}
		}
	}
	return limit, used
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
		text += fmt.Sprintf(", %d more are asked for", d.want)
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
