package lifecycle

import (
	"errors"
	"fmt"
	gopath "path"
	"strconv"
	"strings"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// The attributes that this package reads. AttrExpire and AttrConvert are attributes of directories. AttrAccess is an
// attribute of files, in which the system records the day of the last access.
const (
	AttrExpire  = "sys.lifecycle.expire"
	AttrConvert = "sys.lifecycle.convert"
	AttrAccess  = "sys.lifecycle.access"
	prefix      = "sys.lifecycle."
)

// Off is the value that cancels the rules of directories above.
const Off = "off"

const (
	// ageMin is the shortest time in a rule: a shorter one could remove files that are being written.
	ageMin = time.Minute
	// rulesMax is the largest number of rules in an attribute.
	rulesMax = 64
)

// rule says what to do with files that meet all of its conditions.
type rule struct {
	form        hemera.Form   // of a conversion
	age, unused time.Duration // 0: any
	min, max    int64         // bytes; max is -1 for any
	name        string        // a pattern; "" for any
}

// IsAttribute reports whether an attribute of a directory makes rules for the files below it.
func IsAttribute(name string) bool {
	return name == AttrExpire || name == AttrConvert || isEOS(name)
}

// CheckAttribute returns Invalid for a value of one of this package's attributes that is malformed or dangerous, and for
// names of sys.lifecycle.* that do not exist. It accepts any other attribute, and an empty value. It returns the forms
// that the value names: the caller checks whether their spaces exist and have disks for their layouts.
func CheckAttribute(name, text string) (forms []hemera.Form, err error) {
	// Other attributes, such as user.*, pass.
	switch {
	case name == AttrAccess:
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return nil, errs.New(errs.Invalid, "lifecycle.CheckAttribute", name+"="+text, "it is the day of the last access, which the system writes").
				WithRemedy("write it as 2026-03-14, or remove it")
		}
	case isEOS(name):
		return checkEOS(name, text)
	case strings.HasPrefix(name, lruPrefix):
		return nil, refuseEOS(name, text)
	case IsAttribute(name):
		rules, err := parse(name, text)
		for _, r := range rules {
			forms = append(forms, r.form)
		}
		return forms, err
	case strings.HasPrefix(name, prefix):
		return nil, errs.New(errs.Invalid, "lifecycle.CheckAttribute", name, "nothing reads this attribute, so it would do nothing").
			WithRemedy("known are " + AttrExpire + " and " + AttrConvert)
	}
	return nil, nil
}

// parse reads the value of an attribute. An empty value and [Off] have no rules.
func parse(name, text string) (rules []rule, err error) {
	if strings.TrimSpace(text) == "" || text == Off {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ";") {
		r, err := parseRule(part)
		if err == nil {
			err = r.check(name == AttrConvert)
		}
		if err == nil && len(rules) == rulesMax {
			err = fmt.Errorf("an attribute has at most %d rules", rulesMax)
		}
		if err != nil {
			return nil, invalid(name, part, err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// invalid returns the error for a part of a value.
func invalid(name, part string, cause error) error {
	return &errs.Error{Kind: errs.Invalid, Op: "lifecycle.Parse", Subject: name + "=" + strings.TrimSpace(part), Cause: cause, Remedy: examples(name)}
}

// examples returns examples of a value of an attribute.
func examples(name string) string {
	switch {
	case name == AttrConvert:
		return "write rules as layout=rs:4+2 age=30d min=100M, space=archive unused=6mo, or off; several with a semicolon between them"
	case isEOS(name):
		return examplesEOS(name)
	}
	return "write rules as age=30d, unused=6mo name=*.tmp, age=1d min=10G, or off; several with a semicolon between them"
}

// parseRule reads the words of one rule.
func parseRule(text string) (rule, error) {
	r := rule{max: -1}
	seen := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(word, "=")
		// With two ages it would not be clear which one is meant.
		if seen[key] {
			return r, fmt.Errorf("%s is there twice", key)
		}
		seen[key] = true
		known, err := r.set(key, value)
		if !known && err == nil {
			known, err = SetForm(&r.form, key, value)
		}
		switch {
		case err != nil:
			return r, fmt.Errorf("%s: %w", word, plain(err))
		case !known:
			return r, fmt.Errorf("%q is no condition and no form", word)
		}
	}
	return r, nil
}

// plain returns the innermost text of an error, without its context.
func plain(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// set sets a condition by its key. It returns false for another key.
func (r *rule) set(key, value string) (known bool, err error) {
	switch key {
	case "age":
		r.age, err = parseAge(value)
	case "unused":
		r.unused, err = parseAge(value)
	case "min":
		r.min, err = parseSize(value)
	case "max":
		r.max, err = parseSize(value)
	case "name":
		r.name = value
	default:
		return false, nil
	}
	return true, err
}

// check returns an error for a rule that makes no sense.
func (r *rule) check(converts bool) error {
	// Match checks the whole pattern, whatever the name.
	if _, err := gopath.Match(r.name, ""); err != nil {
		return fmt.Errorf("name=%s is no pattern; it takes *, ? and [a-z], as in a shell", r.name)
	}
	switch {
	// 0 is a valid bound: max=0 selects empty files.
	case r.max >= 0 && r.max < r.min:
		return fmt.Errorf("no file has at least %d and at most %d bytes", r.min, r.max)
	case !converts && !r.form.Zero():
		return fmt.Errorf("%s is for conversions: set %s", r.form, AttrConvert)
	case !converts && r.age == 0 && r.unused == 0:
		return fmt.Errorf("it needs an age or a time without use, or it would remove every file at once")
	case converts:
		return plain(CheckForm(r.form))
	}
	return nil
}

// ageUnit returns a unit of time by its name, 0 if unknown. Months have 30 days and years 365: a rule has a
// duration, not a date.
func ageUnit(name string) time.Duration {
	day := 24 * time.Hour
	return map[string]time.Duration{"m": time.Minute, "min": time.Minute, "h": time.Hour, "d": day, "w": 7 * day, "mo": 30 * day, "y": 365 * day}[name]
}

// sizeUnit returns a unit of size in bytes by its name, 0 if unknown. A number without a unit is in bytes.
func sizeUnit(name string) int64 {
	return map[string]int64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15,
		"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "PiB": 1 << 50}[name]
}

// number splits a text into a whole number and its unit. A number has at most 18 digits.
func number(text string) (n int64, unit string, ok bool) {
	// Digits alone: no sign, no fraction, no exponent.
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(text[:end], 10, 64)
	return n, text[end:], err == nil && end <= 18
}

// parseAge reads a duration.
func parseAge(text string) (time.Duration, error) {
	n, name, ok := number(text)
	// An unknown unit is 0, and so is its age.
	unit := ageUnit(name)
	age := time.Duration(n) * unit
	if !ok || unit == 0 || age < ageMin || n > int64(100*ageUnit("y")/unit) {
		return 0, fmt.Errorf("it takes a time from 1m to 100y, written 30m, 12h, 30d, 4w, 6mo or 1y")
	}
	return age, nil
}

// String returns the rule in the syntax that [parseRule] reads.
func (r rule) String() string {
	var words []string
	// The form comes first, as people write it.
	if !r.form.Zero() {
		words = append(words, r.form.String())
	}
	if r.age > 0 {
		words = append(words, "age="+formatAge(r.age))
	}
	if r.unused > 0 {
		words = append(words, "unused="+formatAge(r.unused))
	}
	if r.min > 0 {
		words = append(words, "min="+formatSize(r.min))
	}
	if r.max >= 0 {
		words = append(words, "max="+formatSize(r.max))
	}
	if r.name != "" {
		words = append(words, "name="+r.name)
	}
	return strings.Join(words, " ")
}

// formatAge formats a duration in the largest unit that divides it. It was read in one, so there is one.
func formatAge(t time.Duration) string {
	for _, unit := range []string{"y", "mo", "w", "d", "h"} {
		if t%ageUnit(unit) == 0 {
			return strconv.FormatInt(int64(t/ageUnit(unit)), 10) + unit
		}
	}
	return strconv.FormatInt(int64(t/time.Minute), 10) + "m"
}

// formatSize formats a size in the largest unit that divides it.
func formatSize(n int64) string {
	for _, unit := range []string{"PiB", "P", "TiB", "T", "GiB", "G", "MiB", "M", "KiB", "k"} {
		if n > 0 && n%sizeUnit(unit) == 0 {
			return strconv.FormatInt(n/sizeUnit(unit), 10) + unit
		}
	}
	return strconv.FormatInt(n, 10)
}

// parseSize reads a size in bytes.
func parseSize(text string) (int64, error) {
	n, name, ok := number(text)
	unit := sizeUnit(name)
	if !ok || unit == 0 || n > hemera.FileSizeMax/unit {
		return 0, fmt.Errorf("it takes a size, written 500k, 100M, 10G, 1T or 64KiB, 1GiB")
	}
	return n * unit, nil
}
