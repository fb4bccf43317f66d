// Package recycle reads the rules by which removed and replaced files are kept, and decides which of them to remove. It
// is pure. Two attributes of directories apply to everything below them; the nearest one wins:
//
//   - sys.recycle keeps removed and replaced files in a recycle bin: [Parse] reads its value, a [Rule].
//   - sys.versioning, or user.versioning of the file's own directory, keeps replaced contents beside the file as
//     versions: [ParseVersions] reads the number of them. The names are EOS's: [VersionDir], [VersionName].
package recycle

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"hemera/words/errs"
)

// Attr is the attribute of a directory below which removed and replaced files go to a recycle bin.
const Attr = "sys.recycle"

// Off is the value of [Attr] that exempts a tree from the bins of directories above it and of spaces.
const Off = "off"

// Rule says how much a bin keeps. A bound of zero means no bound; the zero Rule keeps nothing.
type Rule struct {
	Keep  time.Duration // since the removal
	Bytes int64         // on disks, all pieces counted
}

// On reports whether the rule keeps anything.
func (r Rule) On() bool { return r != Rule{} }

// Parse reads a rule: a time (30d), a size (10T), both with a comma between them (30d,10T), or off. Units of time are
// small letters: s, m, h, d, w. Units of size are capitals: K, M, G, T, P, in powers of 1,000. The error, of kind Invalid,
// names the attribute.
func Parse(text string) (Rule, error) {
	var r Rule
	if text == Off {
		return r, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		n, unit, ok := number(strings.TrimSpace(part))
		keep, size := times[unit], sizes[unit]
		// Name the part, not the whole value: in 30d,10x the reader has to find the x.
		wrong := fmt.Sprintf("%q is neither a time such as 30d nor a size such as 10T", strings.TrimSpace(part))
		switch {
		// Check the bounds of int64 and time.Duration before the products below.
		case ok && (keep > 0 && r.Keep > 0 || size > 0 && r.Bytes > 0):
			wrong = fmt.Sprintf("%q is a second time or size", strings.TrimSpace(part))
		case ok && keep > 0 && n > int64(keepMax/keep):
			wrong = fmt.Sprintf("%q is more than 100 years", strings.TrimSpace(part))
		case ok && size > 0 && n > math.MaxInt64/size:
			wrong = fmt.Sprintf("%q is more than 9223P", strings.TrimSpace(part))
		case ok && keep > 0:
			r.Keep = time.Duration(n) * keep
			continue
		case ok && size > 0:
			r.Bytes = n * size
			continue
		}
		return Rule{}, invalid(Attr, text, wrong).
			WithRemedy("write how long and how much to keep, as in 30d, 10T or 30d,10T: numbers from 1 with a unit, s m h d w up to 100 years, K M G T P; or off")
	}
	return r, nil
}

// keepMax is the largest time: files that are to be kept for ever need no bound.
const keepMax = 100 * 365 * 24 * time.Hour

// times has the units of times.
var times = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}

// sizes has the units of sizes.
var sizes = map[string]int64{"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}

// number reads a number above zero and the unit that follows it.
func number(text string) (n int64, unit string, ok bool) {
	digits := strings.TrimRight(text, "smhdwKMGTP")
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, text[len(digits):], err == nil && n > 0
}

// Expired reports whether a file that was removed at the time has been kept for long enough.
func (r Rule) Expired(removed, now time.Time) bool { return r.Keep > 0 && now.Sub(removed) >= r.Keep }

// Expires returns the time at which such a file expires; the zero time if the rule has no time.
func (r Rule) Expires(removed time.Time) time.Time {
	if r.Keep == 0 {
		return time.Time{}
	}
	return removed.Add(r.Keep)
}

// Excess returns the number of bytes by which a bin with used bytes on disks is too large.
func (r Rule) Excess(used int64) int64 {
	if r.Bytes == 0 {
		return 0
	}
	return max(0, used-r.Bytes)
}

// CheckAttribute returns Invalid for a malformed value of one of this package's attributes. It accepts any other
// attribute, and an empty value, which counts as not set.
func CheckAttribute(name, text string) error {
	var err error
	switch {
	case text == "":
	case name == Attr:
		_, err = Parse(text)
	case name == AttrVersions, name == UserVersions:
		_, err = ParseVersions(text)
	case strings.HasPrefix(name, Attr+"."), name == "sys.versions":
		err = errs.New(errs.Invalid, "recycle.CheckAttribute", name, "only the system sets this attribute")
	}
	return err
}

// invalid returns the error for a value. wrong says which part of it is wrong, and why: the caller adds the remedy, which
// has the form and the range.
func invalid(name, text, wrong string) *errs.Error {
	return errs.New(errs.Invalid, "recycle.Parse", name+"="+text, wrong)
}
