package wire

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestPaths(t *testing.T) {
	for _, c := range []struct {
		in, path, opaque string
		code             Code
	}{
		{"/a/b", "/a/b", "", 0},
		{"//a///b/./c", "/a/b/c", "", 0},
		{"//a///b/./c/", "/a/b/c/", "", 0},
		{"/a/", "/a/", "", 0},
		{"/a//", "/a/", "", 0},
		{"/a/.", "/a/", "", 0},
		{"/a/./", "/a/", "", 0},
		{"/.", "/", "", 0},
		{"/./", "/", "", 0},
		{"/", "/", "", 0},
		{"//", "/", "", 0},
		{"/a?x=1&y=2\x00junk", "/a", "x=1&y=2", 0},
		{"/a\x00?x=1", "/a", "", 0},
		{"/a?x=?", "/a", "x=?", 0},
		{"/a b/%20", "/a b/%20", "", 0},
		{"/..a/...", "/..a/...", "", 0},
		{"", "", "", ArgMissing},
		{"?x=1", "", "x=1", ArgMissing},
		{"a/b", "", "", NotAuthorized},
		{"/a/../b", "", "", NotAuthorized},
		{"/..", "", "", NotAuthorized},
		{"/a\nb", "", "", ArgInvalid},
		{"/" + strings.Repeat("n", 255), "/" + strings.Repeat("n", 255), "", 0},
		{"/" + strings.Repeat("n", 256), "", "", ArgTooLong},
		{strings.Repeat("/n", 3000), "", "", ArgTooLong},
	} {
		raw, opaque := SplitPath([]byte(c.in))
		path, err := CleanPath(raw)
		var e *Error
		errors.As(err, &e)
		if path != c.path || string(opaque) != c.opaque || (e == nil) != (c.code == 0) || e != nil && e.Code != c.code {
			t.Errorf("%.40q: path %q opaque %q error %v", c.in, path, opaque, err)
		}
	}
}

// Leaving out one of the two slashes of a URL is a common mistake, so the error shows both.
func TestPathWithoutSlash(t *testing.T) {
	if _, err := CleanPath("exp/f"); err == nil || !strings.Contains(err.Error(), "root://HOST//exp/f") {
		t.Errorf("%v", err)
	}
}

func TestOpaque(t *testing.T) {
	o := Opaque("&a=1&b&a=2?c=x=y&&")
	if o.Value("a") != "1" || !o.Has("b") || o.Value("c") != "x=y" || o.Has("d") {
		t.Errorf("parsed wrongly: %q", o)
	}
	if got := o.With("a", "3"); got != "b=&c=x=y&a=3" {
		t.Errorf("With: %q", got)
	}
	if got := Opaque("").With("k", "v").Join("/p"); got != "/p?k=v" {
		t.Errorf("Join: %q", got)
	}
	if got := Opaque("").Join("/p"); got != "/p" {
		t.Errorf("Join of nothing: %q", got)
	}
}

func TestMvSplit(t *testing.T) {
	for _, c := range []struct {
		n            int16
		in, from, to string
		ok           bool
	}{
		{2, "/a /b", "/a", "/b", true},
		{0, "/a /b c", "/a", "/b c", true},
		{4, "/a b /c", "/a b", "/c", true},
		{3, "/a /b", "", "", false},
		{-1, "/a /b", "", "", false},
		{9, "/a /b", "", "", false},
		{2, "/a ", "", "", false},
		{0, "/a", "", "", false},
		{0, "", "", "", false},
	} {
		from, to, err := Mv{c.n}.Split([]byte(c.in))
		if string(from) != c.from || string(to) != c.to || (err == nil) != c.ok {
			t.Errorf("%d %q: %q %q %v", c.n, c.in, from, to, err)
		}
	}
}

func TestLocations(t *testing.T) {
	list := []Location{{'S', 'w', "h:1"}, {'M', 'r', "[::1]:2"}}
	b := AppendLocations(nil, list)
	if string(b) != "Swh:1 Mr[::1]:2\x00" {
		t.Errorf("encoded %q", b)
	}
	if got, err := ParseLocations(b); err != nil || !reflect.DeepEqual(got, list) {
		t.Errorf("decoded %+v, %v", got, err)
	}
	if _, err := ParseLocations([]byte("Xrh:1")); err == nil {
		t.Error("an unknown type was accepted")
	}
}

func TestFattrArgs(t *testing.T) {
	value := []byte("v\x00\xff")
	set := FattrArgs{"/f", []string{"a", "bb"}, [][]byte{value, {}}}
	payload := set.Append(nil)
	if string(payload) != "/f\x00\x00\x00a\x00\x00\x00bb\x00\x00\x00\x00\x03v\x00\xff\x00\x00\x00\x00" {
		t.Errorf("encoded %q", payload)
	}
	got, err := ParseFattrArgs(Fattr{Subcode: FattrSet, Count: 2}, payload)
	if err != nil || !reflect.DeepEqual(got, set) {
		t.Errorf("decoded %+v, %v", got, err)
	}
	long := strings.Repeat("n", FattrMaxName+1)
	for _, c := range []struct {
		name    string
		r       Fattr
		payload string
		code    Code
	}{
		{"no end of name", Fattr{Subcode: FattrGet, Count: 1}, "/f\x00\x00\x00a", ArgInvalid},
		{"no names", Fattr{Subcode: FattrGet, Count: 1}, "/f\x00", ArgInvalid},
		{"no path end", Fattr{Subcode: FattrGet, Count: 1}, "/f", ArgMissing},
		{"count zero", Fattr{Subcode: FattrGet}, "/f\x00", ArgMissing},
		{"too many", Fattr{Subcode: FattrGet, Count: 17}, "/f\x00", ArgTooLong},
		{"empty name", Fattr{Subcode: FattrGet, Count: 1}, "/f\x00\x00\x00\x00", ArgInvalid},
		{"long name", Fattr{Subcode: FattrGet, Count: 1}, "/f\x00\x00\x00" + long + "\x00", ArgTooLong},
		{"nonzero code", Fattr{Subcode: FattrSet, Count: 1}, "/f\x00\x01\x01a\x00\x00\x00\x00\x01x", ArgInvalid},
		{"value longer than sent", Fattr{Subcode: FattrSet, Count: 1}, "/f\x00\x00\x00a\x00\x00\x00\x03\xe8xx", ArgInvalid},
		{"negative value", Fattr{Subcode: FattrSet, Count: 1}, "/f\x00\x00\x00a\x00\xff\xff\xff\xfd", ArgInvalid},
		{"no value", Fattr{Subcode: FattrSet, Count: 1}, "/f\x00\x00\x00a\x00", ArgMissing},
		{"bytes left over", Fattr{Subcode: FattrDel, Count: 1}, "/f\x00\x00\x00a\x00x", ArgInvalid},
		{"unknown operation", Fattr{Subcode: 4, Count: 1}, "/f\x00\x00\x00a\x00", ArgInvalid},
	} {
		_, err := ParseFattrArgs(c.r, []byte(c.payload))
		var e *Error
		if !errors.As(err, &e) || e.Code != c.code {
			t.Errorf("%s: %v, want %d", c.name, err, c.code)
		}
	}
}

func TestFattrAnswers(t *testing.T) {
	list := []FattrResult{{0, "a", []byte("1")}, {AttrNotFound, "b", []byte{}}}
	for _, values := range []bool{true, false} {
		got, err := ParseFattrResults(AppendFattrResults(nil, list, values), values)
		if err != nil || len(got) != 2 || got[0].Name != "a" || got[1].Code != AttrNotFound || values != (string(got[0].Value) == "1") {
			t.Errorf("results (%t): %+v, %v", values, got, err)
		}
		got, err = ParseFattrList(AppendFattrList(nil, list, values), values)
		if err != nil || len(got) != 2 || got[1].Name != "b" || values != (string(got[0].Value) == "1") {
			t.Errorf("list (%t): %+v, %v", values, got, err)
		}
	}
}

func TestResponsesRoundTrip(t *testing.T) {
	if got := ParseError(AppendError(nil, Error{NoSpace, "a\x00b"})); *got != (Error{NoSpace, "a?b"}) {
		t.Errorf("error: %+v", got)
	}
	for _, r := range []Redirect{{1094, "host", "a=b&c"}, {1, "[::1]", ""}, {-1, "root://u@h:1//p", "x=1"}} {
		if got, err := ParseRedirect(r.Append(nil)); err != nil || got != r {
			t.Errorf("redirect: %+v, %v", got, err)
		}
	}
	if _, err := ParseRedirect(Redirect{0, "h", ""}.Append(nil)); err == nil {
		t.Error("a redirect to port 0 was accepted")
	}
	if got, err := ParseWait(Wait{3, "later"}.Append(nil)); err != nil || got != (Wait{3, "later"}) {
		t.Errorf("wait: %+v, %v", got, err)
	}
	b := AppendAsync(nil, StreamID{1, 2}, StatusError, []byte("body"))
	h, body, ok, err := ParseAttn(b[ResponseHeaderSize:])
	if err != nil || !ok || h.Stream != (StreamID{1, 2}) || h.Status != StatusError || string(body) != "body" {
		t.Errorf("async: %+v %q %t %v", h, body, ok, err)
	}
	s := StatInfo{ID: 1, Size: 2, Flags: 3, Mtime: 4, Owner: "*", Group: "*"}
	if got, err := ParseOpenReply(OpenReply{Handle{9}, &s}.Append(nil, false)); err != nil || got.Handle != (Handle{9}) || *got.Stat != s {
		t.Errorf("open: %+v, %v", got, err)
	}
	if kind, hex, err := ParseChecksumReply([]byte("adler32 00ab\x00")); kind != "adler32" || hex != "00ab" || err != nil {
		t.Errorf("checksum: %q %q %v", kind, hex, err)
	}
	if got := Lines([]byte("/a\n\n/b\n\x00x")); !reflect.DeepEqual(got, []string{"/a", "/b"}) {
		t.Errorf("lines: %q", got)
	}
}
