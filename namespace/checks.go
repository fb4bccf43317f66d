package namespace

import (
	"fmt"
	"strings"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// refuse makes the error of an operation that is not possible.
func refuse(kind errs.Kind, op, subject, format string, args ...any) *errs.Error {
	return errs.New(kind, "namespace."+op, subject, fmt.Sprintf(format, args...))
}

// absent makes the error about an id that no entry has.
func absent(op string, id hemera.FileID) error {
	return refuse(errs.NotFound, op, "fid:"+id.String(), "no entry has this id")
}

// checkName refuses what can be no name of an entry. It is the rule of lookups: names that are made have to pass
// hemera.CheckName, too.
func checkName(op, subject, name string) error {
	switch {
	case name == "" || name == "." || name == "..":
		return refuse(errs.Invalid, op, subject, "%q is no name; paths are clean", name)
	case len(name) > hemera.NameMax:
		return refuse(errs.TooLarge, op, subject, "a name has at most %d bytes, not %d: file name too long", hemera.NameMax, len(name))
	case strings.IndexByte(name, '/') >= 0 || strings.IndexByte(name, 0) >= 0: // much faster than ContainsAny
		return refuse(errs.Invalid, op, subject, "a name holds no slash and no zero byte")
	}
	return nil
}

// checkMode refuses modes that are not permissions.
func checkMode(op, path string, mode uint32) error {
	if mode != hemera.ModeUnset && mode&^0o7777 != 0 {
		return refuse(errs.Invalid, op, path, "mode %o has bits beyond 07777", mode)
	}
	return nil
}

// timeMin is the beginning of the year 1700 and timeMax the end of 2200, in seconds since 1970.
const timeMin, timeMax = -8_520_336_000, 7_289_654_400

// checkTime refuses what does not fit the record's nanoseconds.
func checkTime(op, path string, at time.Time) error {
	if s := at.Unix(); s < timeMin || s >= timeMax {
		return refuse(errs.Invalid, op, path, "the year %d is outside of 1700 to 2200", at.UTC().Year())
	}
	return nil
}
