package recycle

import (
	"errors"
	"strings"
	"testing"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Rule{
		"30d": {Keep: 30 * 24 * time.Hour}, "90s": {Keep: 90 * time.Second}, "2w": {Keep: 14 * 24 * time.Hour}, "10T": {Bytes: 10e12},
		"12h,500G": {12 * time.Hour, 500e9}, "500G,12h": {12 * time.Hour, 500e9}, "45m, 3P": {45 * time.Minute, 3e15}, "1K": {Bytes: 1000}, "off": {},
	} {
		got, err := Parse(text)
		if got != want || err != nil || got.On() != (text != Off) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0d", "-1d", "d", "T", "30", "30d,", ",30d", "30d,7d", "1T,2T", "30d,1T,1G", "on", "1e3d", "10t", "200000w", "99999999P", "/eos/recycle", "1dd", "30 d"} {
		if got, err := Parse(text); !errors.Is(err, errs.Invalid) || got.On() {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// An error for a value names the part that is wrong, and the range.
func TestErrorsNameWhatIsWrong(t *testing.T) {
	for value, want := range map[string][2]string{
		Attr + "=1x":            {`"1x" is neither a time such as 30d nor a size`, "with a unit"},
		Attr + "=30d,7d":        {`"7d" is a second time or size`, "30d,10T"},
		Attr + "=200000w":       {`"200000w" is more than 100 years`, "100 years"},
		Attr + "=99999999P":     {`"99999999P" is more than 9223P`, "off"},
		AttrVersions + "=1000":  {`"1000" is not a whole number from 0 to 100`, "100 at most"},
		UserVersions + "=-1":    {`"-1" is not a whole number from 0 to 100`, "0 for none"},
		AttrVersions + "=three": {`"three" is not a whole number`, "versions of a file"},
	} {
		name, text, _ := strings.Cut(value, "=")
		err := CheckAttribute(name, text)
		if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), want[0]) || strings.Contains(err.Error(), "says nothing") || !strings.Contains(errs.RemedyOf(err), want[1]) {
			t.Errorf("%s: %v, remedy %q", value, err, errs.RemedyOf(err))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("30d,10T")
	f.Add("5")
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := ParseVersions(text); err == nil && n < 0 {
			t.Errorf("%q is %d versions", text, n)
		}
		if r, err := Parse(text); err == nil && (r.Keep < 0 || r.Bytes < 0) {
			t.Errorf("%q is %+v", text, r)
		}
	})
}

func TestWhatHasToGo(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	both := Rule{Keep: time.Hour, Bytes: 1000}
	if both.Expired(at, at.Add(time.Hour-1)) || !both.Expired(at, at.Add(time.Hour)) || (Rule{Bytes: 1}).Expired(at, at.Add(1e6*time.Hour)) {
		t.Error("ages are judged wrong")
	}
	if both.Excess(999) != 0 || both.Excess(1000) != 0 || both.Excess(1500) != 500 || (Rule{Keep: 1}).Excess(1<<60) != 0 {
		t.Error("sizes are judged wrong")
	}
	if !both.Expires(at).Equal(at.Add(time.Hour)) || !(Rule{Bytes: 1}).Expires(at).IsZero() {
		t.Error("the end is wrong")
	}
}

func TestCheckAttribute(t *testing.T) {
	for name, values := range map[string]map[string]bool{
		Attr:                    {"30d": true, "off": true, "": true, "thirty": false},
		AttrVersions:            {"0": true, "10": true, "100": true, "101": false, "-1": false, "many": false, "": true},
		UserVersions:            {"3": true, "x": false},
		Attr + ".path":          {"/a": false},
		"user.recycle":          {"x": true},
		"sys.versioningandmore": {"x": true},
	} {
		for value, ok := range values {
			if err := CheckAttribute(name, value); (err == nil) != ok || err != nil && !errors.Is(err, errs.Invalid) {
				t.Errorf("%s=%s: %v", name, value, err)
			}
		}
	}
}

func TestVersionNames(t *testing.T) {
	at := time.Unix(1_700_000_000, 5)
	name := VersionName(at, 0xfe21)
	if name != "1700000000.0000fe21" {
		t.Error(name)
	}
	if mtime, id, ok := VersionOf(name); !ok || mtime.Unix() != at.Unix() || id != hemera.FileID(0xfe21) {
		t.Error(mtime, id, ok)
	}
	for _, bad := range []string{"", "x.1", "1.x", "1", ".", "-1.5"} {
		if _, _, ok := VersionOf(bad); ok {
			t.Errorf("%q is a version", bad)
		}
	}
	dir, ok := VersionDir("data.root")
	if back, is := FileOfVersions(dir); dir != ".sys.v#.data.root" || !ok || !is || back != "data.root" {
		t.Error(dir, ok, back, is)
	}
	if _, ok := VersionDir(strings.Repeat("x", hemera.NameMax-7)); ok {
		t.Error("the name is too long")
	}
	for _, name := range []string{"data.root", ".sys.v#.", ".sys.v#"} {
		if _, ok := FileOfVersions(name); ok {
			t.Errorf("%q holds versions", name)
		}
	}
}
