package lifecycle

import (
	"errors"
	"slices"
	"testing"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// now is the time in all tests, and day a day.
var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

// file returns a file that was written that long ago and never read.
func file(name string, size int64, age time.Duration) hemera.Entry {
	e := hemera.Entry{Name: name, Kind: hemera.KindFile, Size: size, Mtime: now.Add(-age), Birth: now.Add(-age), Layout: hemera.Replica(2), Space: "default"}
	e.Checksums = []hemera.Checksum{{Kind: hemera.Adler32}, {Kind: hemera.CRC32C}}
	return e
}

// rulesOf returns the rules of a directory with pairs of attributes.
func rulesOf(pairs ...string) Rules {
	attrs := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		attrs[pairs[i]] = []byte(pairs[i+1])
	}
	return Of(attrs)
}

func TestDecide(t *testing.T) {
	coded := hemera.Form{Layout: hemera.ReedSolomon(4, 2)}
	archive := hemera.Form{Space: "archive"}
	expire := Action{Expire: true}
	read := func(e hemera.Entry, at time.Time) hemera.Entry {
		e.Xattrs = map[string][]byte{AttrAccess: []byte(Day(at))}
		return e
	}
	copied := file("f", 1, day)
	copied.Mtime = now.Add(-1000 * day)
	like := file("f", 1e9, 40*day)
	like.Layout = hemera.ReedSolomon(4, 2)
	for _, c := range []struct {
		name  string
		rules Rules
		file  hemera.Entry
		since time.Time
		want  Action
	}{
		{"no rules", rulesOf(), file("f", 1, 1000*day), time.Time{}, Action{}},
		{"too young", rulesOf(AttrExpire, "age=30d"), file("f", 1, 30*day-time.Second), time.Time{}, Action{}},
		{"old enough", rulesOf(AttrExpire, "age=30d"), file("f", 1, 30*day), time.Time{}, expire},
		{"a copy that kept its time", rulesOf(AttrExpire, "age=30d"), copied, time.Time{}, Action{}},
		{"of another name", rulesOf(AttrExpire, "age=1d name=*.tmp"), file("f.root", 1, 30*day), time.Time{}, Action{}},
		{"of the name", rulesOf(AttrExpire, "age=1d name=*.tmp"), file("f.tmp", 1, 30*day), time.Time{}, expire},
		{"too small", rulesOf(AttrExpire, "age=1d min=1k"), file("f", 999, 30*day), time.Time{}, Action{}},
		{"large enough", rulesOf(AttrExpire, "age=1d min=1k"), file("f", 1000, 30*day), time.Time{}, expire},
		{"small enough", rulesOf(AttrExpire, "age=1d max=1KiB"), file("f", 1024, 30*day), time.Time{}, expire},
		{"too large", rulesOf(AttrExpire, "age=1d max=1KiB"), file("f", 1025, 30*day), time.Time{}, Action{}},
		{"empty ones only", rulesOf(AttrExpire, "age=1d max=0"), file("f", 1, 30*day), time.Time{}, Action{}},
		{"the second rule", rulesOf(AttrExpire, "age=1d name=*.tmp; age=20d"), file("f", 1, 30*day), time.Time{}, expire},
		{"never noted", rulesOf(AttrExpire, "unused=30d"), file("f", 1, 31*day), time.Time{}, expire},
		{"noted for too short a time", rulesOf(AttrExpire, "unused=30d"), file("f", 1, 90*day), now.Add(-29 * day), Action{}},
		{"noted for long", rulesOf(AttrExpire, "unused=30d"), file("f", 1, 90*day), now.Add(-30 * day), expire},
		{"read since", rulesOf(AttrExpire, "unused=30d"), read(file("f", 1, 90*day), now.Add(-30*day)), now.Add(-80 * day), Action{}},
		{"read long ago", rulesOf(AttrExpire, "unused=30d"), read(file("f", 1, 90*day), now.Add(-31*day)), now.Add(-80 * day), expire},
		{"written since it was read", rulesOf(AttrExpire, "unused=30d"), read(file("f", 1, day), now.Add(-31*day)), now.Add(-80 * day), Action{}},
		{"unused and old", rulesOf(AttrExpire, "unused=1d age=90d"), read(file("f", 1, 80*day), now.Add(-31*day)), time.Time{}, Action{}},
		{"to convert", rulesOf(AttrConvert, "layout=rs:4+2 age=30d min=100M"), file("f", 1e9, 40*day), time.Time{}, Action{Form: coded}},
		{"converted", rulesOf(AttrConvert, "layout=rs:4+2 age=30d min=100M"), like, time.Time{}, Action{}},
		{"no age", rulesOf(AttrConvert, "layout=rs:4+2"), file("f", 1, 0), time.Time{}, Action{Form: coded}},
		{"the first that is due", rulesOf(AttrConvert, "space=archive age=90d; layout=rs:4+2 age=30d"), file("f", 1, 40*day), time.Time{}, Action{Form: coded}},
		{"the older rule first", rulesOf(AttrConvert, "space=archive age=90d; layout=rs:4+2 age=30d"), file("f", 1, 99*day), time.Time{}, Action{Form: archive}},
		{"rules do not take turns", rulesOf(AttrConvert, "layout=rs:4+2 age=30d; layout=replica:2"), like, time.Time{}, Action{}},
		{"expired rather than converted", rulesOf(AttrConvert, "space=archive age=1d", AttrExpire, "age=2d"), file("f", 1, 3*day), time.Time{}, expire},
		{"off", rulesOf(AttrExpire, Off), file("f", 1, 3*day), time.Time{}, Action{}},
		{"the other one stays", rulesOf(AttrExpire, "age=1d", AttrConvert, Off), file("f", 1, 3*day), time.Time{}, expire},
		{"nonsense", rulesOf(AttrExpire, "everything"), file("a", 1, 5*day), time.Time{}, Action{}},
	} {
		if got := c.rules.Decide(c.file, c.since, now); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		// The slow twin: if an action is due now, Next returns it. Otherwise it is due at the time that Next returns, and
		// not a moment before.
		a, when, ok := c.rules.Next(c.file, c.since, now)
		switch {
		case !c.want.None() && (a != c.want || when.After(now)):
			t.Errorf("%s: next is %+v at %v", c.name, a, when)
		case c.want.None() && ok:
			if c.rules.Decide(c.file, c.since, when) != a || !c.rules.Decide(c.file, c.since, when.Add(-1)).None() {
				t.Errorf("%s: next is %+v at %v, which is not so", c.name, a, when)
			}
		}
	}
}

func TestCheckAttribute(t *testing.T) {
	for _, c := range []struct {
		name, value string
		ok          bool
	}{
		{AttrExpire, "age=30d", true}, {AttrExpire, "unused=6mo name=*.tmp max=1G", true}, {AttrExpire, "off", true}, {AttrExpire, "", true},
		{AttrExpire, "30d", false}, {AttrExpire, "age=30", false}, {AttrExpire, "age=30s", false}, {AttrExpire, "age=0d", false}, {AttrExpire, "age=101y", false},
		{AttrExpire, "age=99999999999999d", false}, {AttrExpire, "name=*", false}, {AttrExpire, "min=1G", false}, {AttrExpire, "age=1d;", false},
		{AttrExpire, "age=1d age=2d", false}, {AttrExpire, "age=1d name=[", false}, {AttrExpire, "age=1d min=2k max=1k", false},
		{AttrExpire, "age=1d layout=plain", false}, {AttrExpire, "age=1d min=1Gb", false}, {AttrExpire, "age=1d min=999999999P", false}, {AttrExpire, "age=-1d", false},
		{AttrConvert, "layout=rs:4+2", true}, {AttrConvert, "space=archive age=30d; layout=plain max=64KiB", true}, {AttrConvert, "age=30d", false},
		{AttrConvert, "layout=raid7", false}, {AttrConvert, "layout=plain blocksize=1M", false}, {AttrConvert, "checksum=none", false}, {AttrConvert, "space=", false},
		{AttrAccess, "2026-11-23", true}, {AttrAccess, "today", false},
		{"sys.lifecycle.expires", "age=1d", false}, {"sys.other", "anything", true}, {"user.lifecycle.expire", "anything", true},
	} {
		_, err := CheckAttribute(c.name, c.value)
		if (err == nil) != c.ok || err != nil && (!errors.Is(err, errs.Invalid) || errs.RemedyOf(err) == "") {
			t.Errorf("%s=%s: %v", c.name, c.value, err)
		}
	}
	want := []hemera.Form{{Space: "a"}, {Layout: hemera.Plain()}, {Space: "b"}}
	if spaces, err := CheckAttribute(AttrConvert, "space=a age=1d; layout=plain; space=b"); err != nil || !slices.Equal(spaces, want) {
		t.Errorf("%v, %v", spaces, err)
	}
}

func TestInterval(t *testing.T) {
	for _, c := range []struct {
		rules Rules
		want  time.Duration
	}{
		{rulesOf(), 24 * time.Hour},
		{rulesOf(AttrExpire, "age=1y"), 24 * time.Hour},
		{rulesOf(AttrExpire, "age=1y; unused=10h"), time.Hour},
		{rulesOf(AttrExpire, "age=1m"), time.Minute},
		{rulesOf(AttrConvert, "layout=plain min=1G"), time.Hour},
	} {
		if got := c.rules.Interval(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.rules, got, c.want)
		}
	}
}

func TestWanted(t *testing.T) {
	small := hemera.ReedSolomon(4, 2).WithBlockSize(64 << 10)
	e := file("f", 1, 0)
	coded := e
	coded.Layout = small
	for _, c := range []struct {
		name string
		e    hemera.Entry
		form hemera.Form
		want hemera.Layout
		due  bool
	}{
		{"nothing", e, hemera.Form{}, hemera.Replica(2), false},
		{"the same", e, hemera.Form{Layout: hemera.Replica(2), Space: "default", Checksum: hemera.Adler32}, hemera.Replica(2), false},
		{"more copies", e, hemera.Form{Layout: hemera.Replica(3)}, hemera.Replica(3), true},
		{"another space", e, hemera.Form{Space: "archive"}, hemera.Replica(2), true},
		{"one more checksum", e, hemera.Form{Checksum: hemera.MD5}, hemera.Replica(2), true},
		{"blocks of what has none", e, hemera.Form{BlockSize: 1 << 20}, hemera.Replica(2), false},
		{"blocks stay", coded, hemera.Form{Layout: hemera.ReedSolomon(4, 2)}, small, false},
		{"blocks stay in another layout", coded, hemera.Form{Layout: hemera.ReedSolomon(2, 1)}, hemera.ReedSolomon(2, 1).WithBlockSize(64 << 10), true},
		{"blocks of the layout that is asked for", coded, hemera.Form{Layout: hemera.ReedSolomon(2, 1).WithBlockSize(128 << 10)}, hemera.ReedSolomon(2, 1).WithBlockSize(128 << 10), true},
		{"no blocks", coded, hemera.Form{Layout: hemera.Replica(2)}, hemera.Replica(2), true},
		{"other blocks", coded, hemera.Form{BlockSize: 1 << 20}, hemera.ReedSolomon(4, 2), true},
		{"layout and blocks", e, hemera.Form{Layout: hemera.ReedSolomon(4, 2), BlockSize: 64 << 10}, small, true},
	} {
		s, due := Wanted(c.e, c.form)
		if s.Layout != c.want || due != c.due {
			t.Errorf("%s: %+v, %v", c.name, s, due)
		}
		// A converted file has the wanted form.
		c.e.Layout, c.e.Space, c.e.Checksums = s.Layout, s.Space, nil
		for _, k := range s.Checksums {
			c.e.Checksums = append(c.e.Checksums, hemera.Checksum{Kind: k})
		}
		if _, again := Wanted(c.e, c.form); again {
			t.Errorf("%s: due for ever", c.name)
		}
	}
	if s, _ := Wanted(e, hemera.Form{Checksum: hemera.MD5}); len(s.Checksums) != 3 || s.Checksums[0] != hemera.MD5 {
		t.Errorf("checksums %v: the new one is not the first", s.Checksums)
	}
}

func FuzzCheckAttribute(f *testing.F) {
	for _, s := range []string{"age=30d", "off", "layout=rs:4+2 age=1y; space=a min=1G max=2T name=*.root", "*.tmp:3d,*:1mo:>1G", "20640542|scattered"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{AttrExpire, AttrConvert, AttrMatch, AttrConvertMatch, "sys.conversion.*"} {
			if _, err := CheckAttribute(name, text); err != nil {
				continue
			}
			// An accepted rule never removes a file that was written a moment ago.
			if r := rulesOf(name, text); r.Decide(file("f", 1, 0), now, now).Expire {
				t.Errorf("%s=%q removes a new file", name, text)
			}
		}
	})
}
