package errs

import (
	"errors"
	"testing"
)

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"namespace.Stat /f: no such file": "stat /f: no such file",
		"namespace.SetMode /f: no":        "set mode /f: no",
		"namespace.RemoveXattr":           "remove xattr",
		"open /f.Txt: no":                 "open /f.Txt: no",
		"a.b: no":                         "a.b: no",
		"":                                "",
		"open /f: layout.Decide hem.replica: there is no such wish": "open /f: hem.replica: there is no such wish",
		"open /f: place.Choose: no room: add disks":                 "open /f: no room: add disks",
		"xrd.":                          "xrd.",
		"xrootd.ParseURL x: no":         "parse url x: no",
		"xrootd.ParseURLPath x: no":     "parse url path x: no",
		"hemera.FsAdd /d: no":           "fs add /d: no",
		"xrootd.Stat2 x: no":            "xrootd.Stat2 x: no",
		"Stat. x: no":                   "Stat. x: no",
		"open a.B: xrootd.TalkTo h: no": "open a.B: h: no",
	} {
		if got := Plain(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestReason(t *testing.T) {
	for text, want := range map[string]string{
		"disk.ReadLabel /d: no label: not mounted":          "no label: not mounted",
		"maint.Relocate: place.Choose: no room for a piece": "no room for a piece",
		"maint.Relocate /other: place.Choose /d: no room":   "/other: no room",
		"read /d: input/output error":                       "read /d: input/output error",
		"namespace.Stat":                                    "namespace.Stat",
		"":                                                  "",
	} {
		if got := Reason(errors.New(text), "/d"); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
}
