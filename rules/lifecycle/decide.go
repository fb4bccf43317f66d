package lifecycle

import (
	gopath "path"
	"strings"
	"time"

	"hemera/words/hemera"
)

// Rules are what the attributes in force say for the files of a directory. The zero value says nothing.
type Rules struct{ expire, convert said }

// said is what one attribute says.
type said struct {
	attr    string   // the attribute that decides, "" if none is set
	rules   []rule   // none if it says [Off]
	ignored []string // parts of it that are not followed, and why
}

// Of returns the rules that the attributes in force in a directory make: its own, and of others the nearest above. A value
// that an earlier version let in, and that makes no sense, counts as [Off].
func Of(attrs map[string][]byte) Rules {
	var r Rules
	// An attribute that is set replaces EOS's, also if it says nothing.
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

// read reads the value of an attribute of ours.
func read(name, text string) said {
	s := said{attr: name} // the attribute decides even if it cannot be read: nothing above it holds
	var err error
	if s.rules, err = parse(name, text); err != nil {
		s.ignored = append(s.ignored, strings.TrimSpace(text)+": "+plain(err).Error())
	}
	return s
}

// Statement is what holds in a directory for one kind of rule, for people.
type Statement struct {
	Attr    string   // the attribute that decides, "" if none is set
	Rules   []string // in the words of [AttrExpire] and [AttrConvert], in their order; none if the attribute says [Off]
	Ignored []string // parts of the attribute that are not followed, and why
}

// Statements returns what the rules say about removal and about conversion.
func (r Rules) Statements() (expire, convert Statement) {
	return r.expire.statement(), r.convert.statement()
}

// statement is said, for people.
func (s said) statement() Statement {
	st := Statement{Attr: s.attr, Ignored: s.ignored}
	// Also of EOS's attributes: people see what they became.
	for _, one := range s.rules {
		st.Rules = append(st.Rules, one.String())
	}
	return st
}

// all are the rules of both kinds.
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

// Setter returns who is charged with the rules of a directory: the admins if they set one of them, else its owner.
func Setter(dir hemera.Entry) hemera.Setter {
	for name, by := range dir.Setters {
		if by.Admin && IsAttribute(name) {
			return by
		}
	}
	return hemera.Setter{UID: dir.UID}
}

// Empty reports whether no file can be due.
func (r Rules) Empty() bool { return len(r.all()) == 0 }

// NeedAccess reports whether a rule asks when files were read.
func (r Rules) NeedAccess() bool {
	for _, one := range r.all() {
		if one.unused > 0 {
			return true
		}
	}
	return false
}

// How often a tree is looked through: a tenth of the shortest time of its rules, within these bounds.
const (
	intervalMin = time.Minute
	intervalMax = 24 * time.Hour
	// intervalAny is the same for rules without a time.
	intervalAny = time.Hour
)

// Interval is how often the files are to be looked at.
func (r Rules) Interval() time.Duration {
	// What is longer makes no difference.
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

// Action is what is to be done with a file. The zero value is nothing.
type Action struct {
	Expire bool        // remove it
	Form   hemera.Form // or store it so
}

// None reports whether there is nothing to do.
func (a Action) None() bool { return a == Action{} }

// Decide returns what is to be done with a file now. Since is since when accesses are noted: before that nobody knows whether
// the file was read, so it counts as used then.
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
		// The first rule that is due decides, also for a file that has its form: else two rules would take turns.
		if _, otherwise := Wanted(e, one.form); otherwise {
			return Action{Form: one.form}
		}
		return Action{}
	}
	return Action{}
}

// Next returns what is to be done with a file first, if it stays as it is, and when: that may be in the past. False if no
// rule is for it.
func (r Rules) Next(e hemera.Entry, since, now time.Time) (a Action, when time.Time, ok bool) {
	if a = r.Decide(e, since, now); !a.None() {
		return a, now, true
	}
	// Of several rules the one that holds first counts, though another may hold by then: it is a forecast.
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

// due returns when the rule is for the file, if that stays as it is; false if never.
func (r *rule) due(e hemera.Entry, since time.Time) (time.Time, bool) {
	if e.Size < r.min || r.max >= 0 && e.Size > r.max {
		return time.Time{}, false
	}
	// The pattern was checked when it was set.
	if r.name != "" {
		if ok, _ := gopath.Match(r.name, e.Name); !ok {
			return time.Time{}, false
		}
	}
	// A copy that kept the time of its source is as old as it is here.
	written := later(e.Mtime, e.Birth)
	at := written.Add(r.age)
	if r.unused > 0 {
		at = later(at, later(written, later(since, Accessed(e))).Add(r.unused))
	}
	return at, true
}

// later is the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Accessed is until when the file may have been read, as far as it is noted: the end of the day. Zero if it is not.
func Accessed(e hemera.Entry) time.Time {
	day, err := time.Parse(time.DateOnly, string(e.Xattrs[AttrAccess]))
	if err != nil {
		return time.Time{}
	}
	return day.AddDate(0, 0, 1)
}

// Day is how an access at the time is noted.
func Day(at time.Time) string { return at.UTC().Format(time.DateOnly) }
