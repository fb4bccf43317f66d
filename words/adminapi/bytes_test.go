package adminapi

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hemera/words/hemera"
)

func TestTextsAreSpelt(t *testing.T) {
	for in, want := range map[string]string{
		"":           "",
		"/exp/Ünï":   "/exp/Ünï",
		"/a\xff\xfe": "/a\x00ff\x00fe",
		"\xc3(":      "\x00c3(",
		"a\x00ff":    "a\x0000ff",
		"\ufffd":     "\ufffd",
	} {
		got := spell(in)
		if got != want || unspell(got) != in {
			t.Errorf("%q became %q and %q", in, got, unspell(got))
		}
	}
	for _, odd := range []string{"\x00", "a\x00f", "\x00zz", "\x00\x00"} {
		if got := unspell(odd); got != odd {
			t.Errorf("%q became %q", odd, got)
		}
	}
}

func FuzzSpell(f *testing.F) {
	f.Add("/a\xff\x00\xc3(")
	f.Fuzz(func(t *testing.T, s string) {
		if got := unspell(spell(s)); got != s || strings.ToValidUTF8(spell(s), "?") != spell(s) {
			t.Errorf("%q became %q by %q", s, got, spell(s))
		}
	})
}

// Any bytes may be a name; none may arrive as another.
func TestNamesThatAreNotUTF8Arrive(t *testing.T) {
	size := int64(5)
	e := hemera.Entry{ID: 7, Name: "b\xff", Kind: hemera.KindFile, Mtime: time.Unix(1, 2).UTC(),
		Xattrs: map[string][]byte{"user.\xfe": {0, 255}}, Checksums: []hemera.Checksum{}, Pieces: []hemera.Piece{{Index: 1, Disk: 2}}}
	for _, sent := range []any{
		&PathRequest{Path: "/a\xff"}, &PathRequest{Path: "/plain"}, &RenameRequest{From: "/a\xff\xfe", To: "/b\x00"}, &FoundEntries{Paths: []string{"/a", "/\x80"}, Sum: &Sum{Files: 3}},
		&FoundEntries{Found: []Found{{Path: "/\xffü", Entry: e}}}, &e, &WalkRequest{Path: "/\xff", SizeMax: &size}, &[]string{"\xff"}, &None{},
		&FileReport{Path: "/\xff", Pieces: []PieceReport{{Host: "h"}}},
	} {
		before := reflect.ValueOf(sent).Elem().Interface()
		data, err := Codec{}.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		got := reflect.New(reflect.TypeOf(sent).Elem())
		if err := (Codec{Strict: true}).Unmarshal(data, got.Interface()); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if d := cmp.Diff(sent, got.Interface()); d != "" {
			t.Errorf("%s is another message:\n%s", data, d)
		}
		if d := cmp.Diff(before, reflect.ValueOf(sent).Elem().Interface()); d != "" {
			t.Errorf("the message itself was changed:\n%s", d)
		}
	}
}
