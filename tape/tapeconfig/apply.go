package tapeconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hemera/words/adminapi"
	"hemera/words/errs"
)

// Usage says how many tapes refer to objects, by name. Tapes are kept elsewhere: there are many.
type Usage struct {
	Pools, Media, Libraries, Keys map[string]int64
}

// of returns the number of tapes that refer to an object.
func (u Usage) of(ref Ref) int64 {
	switch ref.Kind {
	case KindPool:
		return u.Pools[ref.Name]
	case KindMedia:
		return u.Media[ref.Name]
	case KindKey:
		return u.Keys[ref.Name]
	}
	return 0 // a library without an object is an enabled one
}

// Author is the admin that makes a change, and the time.
type Author struct {
	Name string
	Time time.Time
}

// Apply returns the configuration after a change, or why it makes no sense. Kinds of errors: NotFound and Exists for the object; Invalid for
// the change; NotEmpty for an object that others or tapes use.
//
// An object that is added begins as the default one of its kind where there is one, as far as Values say nothing else. A route may be added
// without class and copy when its name says them.
func (c Config) Apply(change adminapi.TapeChange, by Author, used Usage) (Config, error) {
	const op = "tapeconfig.Apply"
	ref := Ref{Kind(change.Object), change.Name}
	// A refused change leaves c as it was.
	next := c.clone()
	t := next.table(ref.Kind)
	if t == nil {
		return c, invalid(op, ref, "there is no such kind of object; there are "+kindList())
	}
	old := t.object(ref.Name)
	if old == nil && change.Verb != "add" {
		return c, errs.New(errs.NotFound, op, ref.String(), "there is no such object").
			WithRemedy(fmt.Sprintf("list them: hemera tape %s ls", ref.Kind))
	}
	switch change.Verb {
	case "add":
		if old != nil {
			return c, errs.New(errs.Exists, op, ref.String(), "it is there already").
				WithRemedy(fmt.Sprintf("change it: hemera tape %s set %s KEY=VALUE", ref.Kind, ref.Name))
		}
		o := template(ref)
		*o.log() = Log{MadeBy: by.Name, Made: by.Time}
		old = o
		fallthrough
	case "set":
		if err := setFields(old, change.Values); err != nil {
			return c, errs.As(err, errs.Invalid, op, ref.String())
		}
		old.log().ChangedBy, old.log().Changed = by.Name, by.Time
		t.set(ref.Name, old)
		// All of it: a change of one object may make no sense for another.
		if err := next.Check(); err != nil {
			return c, err
		}
	case "remove":
		// Nothing that refers to it is left, so the rest still makes sense.
		if err := c.removable(ref, used); err != nil {
			return c, err
		}
		t.remove(ref.Name)
	default:
		return c, invalid(op, ref, fmt.Sprintf("there is no verb %q; there are add, set and remove", change.Verb))
	}
	return next, nil
}

// template returns an object before its values are set.
func template(ref Ref) object {
	defaults := Defaults()
	t := defaults.table(ref.Kind)
	// Media types and libraries have no default one and begin with nothing.
	o := t.object(DefaultName)
	if o == nil {
		o = t.blank()
	}
	// A route and a rule have no default one, but most of what they say is known.
	if r, is := o.(*Route); is {
		*r = routeOf(ref.Name)
	}
	if r, is := o.(*Rule); is {
		r.Policy = DefaultName
	}
	return o
}

// routeOf reads the name of a route, as far as it is one.
func routeOf(name string) Route {
	r := Route{Type: RouteDefault}
	// A name that is no route's leaves class and copy empty, and the check says what is missing.
	if rest, is := strings.CutSuffix(name, "/"+RouteRepack); is {
		name, r.Type = rest, RouteRepack
	}
	if class, number, is := cutLast(name, "/"); is && len(number) == 1 {
		r.Class, r.Copy = class, int64(number[0]-'0')
	}
	return r
}

// cutLast cuts around the last separator.
func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

// removable says why an object cannot be removed.
func (c Config) removable(ref Ref, used Usage) error {
	const op, namesMax = "tapeconfig.Remove", 5
	// Enough names that a person sees where to begin.
	users := c.Users(ref)
	var by []string
	for _, u := range users[:min(len(users), namesMax)] {
		by = append(by, u.String())
	}
	if more := len(users) - namesMax; more > 0 {
		by = append(by, fmt.Sprintf("%d more", more))
	}
	// Tapes are many and moved by commands of their own.
	remedy := "change or remove these first"
	if n := used.of(ref); n > 0 {
		by = append(by, fmt.Sprintf("%d tapes", n))
		remedy = "move the tapes first, such as: hemera tape tape set VID tapepool=OTHER"
		if ref.Kind == KindKey {
			remedy = "nothing else reads these tapes: hemera tape repack VID and hemera tape reclaim VID first"
		}
	}
	if len(by) > 0 {
		return errs.New(errs.NotEmpty, op, ref.String(), "it is used by "+strings.Join(by, ", ")).WithRemedy(remedy)
	}
	// Requests without a rule need it, and so do files of directories that name no class.
	if ref.Name == DefaultName && (ref.Kind == KindPolicy || ref.Kind == KindMounting || ref.Kind == KindBuffer) {
		return invalid(op, ref, "it is taken where nothing else is said, so it has to stay")
	}
	return nil
}

// kindList returns the kinds in words.
func kindList() string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// keyList returns the keys of a map in words.
func keyList[T any](m map[string]T) string { return strings.Join(slices.Sorted(maps.Keys(m)), ", ") }
