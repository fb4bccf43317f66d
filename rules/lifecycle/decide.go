package lifecycle

import (
	gopath "path"
	"strings"
	"time"

	"hemera/words/hemera"
)

// Rules has the rules that the attributes in force make for the files of a directory. The zero value has none.
type Rules struct{ expire, convert said }

// said has the rules of one attribute.
type said struct {
	attr    string   // the attribute that decides, "" if none is set
	rules   []rule   // empty if the value is [Off]
	ignored []string // parts of the value that are ignored, and why
}

// Of returns the rules of the attributes in force in a directory: its own, and the nearest ones above. A value that makes
// no sense, which an earlier version accepted, counts as [Off].
func Of(attrs map[string][]byte) Rules {
	var r Rules
	// An attribute that is set replaces EOS's, even if it has no rules.
	if own, set := attrs[AttrExpire]; set {
		r.expire = read(AttrExpire, string(own))
	} else if _, set := attrs[AttrMatch]; set {
		r.expire = expireMatch(attrs)
	}
	if own, set := attrs[AttrConvert]; set {
		r.convert = read(AttrConvert, string(own))
	} else if _, set := attrs[AttrConvertMatch]; set {
		r.convert = convertMatch(attrs)
	}
	return r
}

// read reads the value of an attribute sys.lifecycle.*.
func read(name, text string) said {
	s := said{attr: name} // the attribute decides even if its value is malformed: those above are not used
	var err error
	if s.rules, err = parse(name, text); err != nil {
		s.ignored = append(s.ignored, strings.TrimSpace(text)+": "+plain(err).Error())
	}
	return s
}

// Statement describes the rules in force in a directory for one action, for people.
type Statement struct {
	Attr    string   // the attribute that decides, "" if none is set
	Rules   []string // in the syntax of [AttrExpire] and [AttrConvert], in their order; empty if the value is [Off]
	Ignored []string // parts of the value that are ignored, and why
}

// Statements returns what the rules say about removal and about conversion.
func (r Rules) Statements() (expire, convert Statement) {
	return r.expire.statement(), r.convert.statement()
}

// statement returns s in a form for people.
func (s said) statement() Statement {
	st := Statement{Attr: s.attr, Ignored: s.ignored}
	// This includes rules of EOS's attributes: people see how they were read.
	for _, one := range s.rules {
		st.Rules = append(st.Rules, one.String())
	}
	return st
}

// all returns the rules for both actions.
func (r Rules) all() []rule {
	return append(r.expire.rules[:len(r.expire.rules):len(r.expire.rules)], r.convert.rules...)
}

// Own reports whether a directory has rules of its own, by its attributes.
func Own(attrs map[string][]byte) bool {
	for name := range attrs {
		if IsAttribute(name) {
			return true
		}
	}
	return false
}

// Setter returns the identity that is charged for the actions of a directory's rules: the admins if they set one of the
// rules, else the owner.
func Setter(dir hemera.Entry) hemera.Setter {
	for name, by := range dir.Setters {
		if by.Admin && IsAttribute(name) {
			return by
		}
	}
	return hemera.Setter{UID: dir.UID}
}

// Empty reports whether r has no rules.
func (r Rules) Empty() bool { return len(r.all()) == 0 }

// NeedAccess reports whether a rule depends on the last access of files.
func (r Rules) NeedAccess() bool {
	for _, one := range r.all() {
		if one.unused > 0 {
			return true
		}
	}
	return false
}

// Bounds of the interval between two passes through a tree, which is a tenth of the shortest time in its rules.
const (
	intervalMin = time.Minute
	intervalMax = 24 * time.Hour
	// intervalAny is the interval for rules without a time.
	intervalAny = time.Hour
)

// Interval returns the time between two passes through the files.
func (r Rules) Interval() time.Duration {
	// Longer times make no difference.
	shortest := 10 * intervalMax
	for _, one := range r.all() {
		if one.age+one.unused == 0 {
			shortest = min(shortest, 10*intervalAny)
		}
		for _, t := range []time.Duration{one.age, one.unused} {
			if t > 0 {
				shortest = min(shortest, t)
			}
		}
	}
	return min(max(shortest/10, intervalMin), intervalMax)
}

// Action says what to do with a file. The zero value is nothing.
type Action struct {
	Expire bool        // remove it
	Form   hemera.Form // or store it in this form
}

// None reports whether there is nothing to do.
func (a Action) None() bool { return a == Action{} }

// Decide returns the action for a file now. Accesses are recorded from the time since on. Before that it is unknown
// whether the file was read, so a file counts as used at that time.
func (r Rules) Decide(e hemera.Entry, since, now time.Time) Action {
	for _, one := range r.expire.rules {
		if at, ok := one.due(e, since); ok && !at.After(now) {
			return Action{Expire: true}
		}
	}
	for _, one := range r.convert.rules {
		at, ok := one.due(e, since)
		if !ok || at.After(now) {
			continue
		}
		// The first rule that is due decides, also for a file that has its form: otherwise two rules would alternate.
		if _, otherwise := Wanted(e, one.form); otherwise {
			return Action{Form: one.form}
		}
		return Action{}
	}
	return Action{}
}

// Next returns the next action for a file, if it stays unchanged, and its time, which may be in the past. ok is false if
// no rule applies.
func (r Rules) Next(e hemera.Entry, since, now time.Time) (a Action, when time.Time, ok bool) {
	if a = r.Decide(e, since, now); !a.None() {
		return a, now, true
	}
	// If several rules apply later, the one that applies first counts, though another may apply by then: the result is a
	// forecast.
	consider := func(one rule, does Action) {
		if at, is := one.due(e, since); is && at.After(now) && (!ok || at.Before(when)) {
			a, when, ok = does, at, true
		}
	}
	for _, one := range r.expire.rules {
		consider(one, Action{Expire: true})
	}
	for _, one := range r.convert.rules {
		if _, otherwise := Wanted(e, one.form); otherwise {
			consider(one, Action{Form: one.form})
		}
	}
	return a, when, ok
}

// due returns the time from which the rule applies to the file, if the file stays unchanged; false if it never does.
func (r *rule) due(e hemera.Entry, since time.Time) (time.Time, bool) {
	if e.Size < r.min || r.max >= 0 && e.Size > r.max {
		return time.Time{}, false
	}
	// The pattern was checked when the attribute was set.
	if r.name != "" {
		if ok, _ := gopath.Match(r.name, e.Name); !ok {
			return time.Time{}, false
		}
	}
	// The age of a copy that kept the time of its source counts from when it was written here.
	written := later(e.Mtime, e.Birth)
	at := written.Add(r.age)
	if r.unused > 0 {
		at = later(at, later(written, later(since, Accessed(e))).Add(r.unused))
	}
	return at, true
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Accessed returns the last time at which the file may have been read, as far as it is recorded: the end of the day. It
// is zero if no access is recorded.
func Accessed(e hemera.Entry) time.Time {
	day, err := time.Parse(time.DateOnly, string(e.Xattrs[AttrAccess]))
	if err != nil {
		return time.Time{}
	}
	return day.AddDate(0, 0, 1)
}

// Day formats the time of an access as it is recorded.
func Day(at time.Time) string { return at.UTC().Format(time.DateOnly) }
