package errs

import "testing"

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"namespace.Stat /f: no such file": "stat /f: no such file",
		"namespace.SetMode /f: no":        "set mode /f: no",
		"namespace.RemoveXattr":           "remove xattr",
		"open /f.Txt: no":                 "open /f.Txt: no",
		"a.b: no":                         "a.b: no",
		"":                                "",
		"xrd.":                            "xrd.",
	} {
		if got := Plain(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
}
