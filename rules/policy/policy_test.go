package policy

import (
	"errors"
	"strings"
	"testing"

	"hemera/words/errs"
	"hemera/words/hemera"
)

func attrs(pairs ...string) Attributes {
	a := Attributes{Sys: map[string][]byte{}, User: map[string][]byte{}}
	for i := 0; i < len(pairs); i += 2 {
		to := a.Sys
		if strings.HasPrefix(pairs[i], "user.") {
			to = a.User
		}
		to[pairs[i]] = []byte(pairs[i+1])
	}
	return a
}

var two = hemera.Space{Name: "default", Policy: hemera.Policy{
	Layout: hemera.Replica(2), Checksum: hemera.Adler32, Sync: true,
}}

func TestDecide(t *testing.T) {
	admin := hemera.Identity{Admin: true}
	for _, c := range []struct {
		name   string
		attrs  Attributes
		wish   hemera.Wish
		who    hemera.Identity
		layout string
		sum    hemera.ChecksumKind
	}{
		{"space policy", attrs(), hemera.Wish{}, hemera.Identity{}, "replica:2", hemera.Adler32},
		{"forced plain", attrs(AttrLayout, "plain", AttrStripes, "4"), hemera.Wish{}, hemera.Identity{}, "plain", hemera.Adler32},
		{"forced replica keeps the space's count", attrs(AttrLayout, "replica"), hemera.Wish{}, hemera.Identity{}, "replica:2", hemera.Adler32},
		{"forced count", attrs(AttrStripes, "3"), hemera.Wish{}, hemera.Identity{}, "replica:3", hemera.Adler32},
		{"forced beats wish", attrs(AttrStripes, "3", AttrChecksum, "md5"), hemera.Wish{Pieces: 5, Checksum: "crc32c"}, hemera.Identity{}, "replica:3", hemera.MD5},
		{"wish beats default and policy", attrs("user.forced.nstripes", "3"), hemera.Wish{Pieces: 5, Checksum: "crc32c"}, hemera.Identity{}, "replica:5", hemera.CRC32C},
		{"default beats policy", attrs("user.forced.nstripes", "3", "user.forced.checksum", "adler"), hemera.Wish{}, hemera.Identity{}, "replica:3", hemera.Adler32},
		{"wish for plain", attrs(), hemera.Wish{Layout: "plain"}, hemera.Identity{}, "plain", hemera.Adler32},
		{"wish forbidden", attrs(AttrNoUserLayout, "1"), hemera.Wish{Layout: "plain", Checksum: "md5"}, hemera.Identity{}, "replica:2", hemera.Adler32},
		{"admins are not bound", attrs(AttrNoUserLayout, "1"), hemera.Wish{Layout: "plain"}, admin, "plain", hemera.Adler32},
		{"nor is anyone by 0", attrs(AttrNoUserLayout, "0"), hemera.Wish{Layout: "plain"}, hemera.Identity{}, "plain", hemera.Adler32},
		{"sixteen", attrs(AttrStripes, "16"), hemera.Wish{}, hemera.Identity{}, "replica:16", hemera.Adler32},
		{"no checksum", attrs(AttrChecksum, "none"), hemera.Wish{}, hemera.Identity{}, "replica:2", hemera.ChecksumNone},
	} {
		p, err := Decide(c.attrs, two, c.wish, c.who)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if p.Layout.String() != c.layout || p.Checksum != c.sum || p.Space != "default" || !p.Sync {
			t.Errorf("%s: %s %s, want %s %s", c.name, p.Layout, p.Checksum, c.layout, c.sum)
		} else if err := p.Layout.Validate(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestReplicasOfAPlainSpaceAreTwo(t *testing.T) {
	space := two
	space.Policy.Layout = hemera.Plain()
	for _, c := range []struct {
		attrs Attributes
		wish  hemera.Wish
		want  string
	}{
		{attrs(), hemera.Wish{}, "plain"},
		{attrs(AttrLayout, "replica"), hemera.Wish{}, "replica:2"},
		{attrs("user.forced.layout", "replica"), hemera.Wish{}, "replica:2"},
		{attrs(), hemera.Wish{Layout: "replica"}, "replica:2"},
		{attrs(AttrLayout, "replica", AttrStripes, "1"), hemera.Wish{}, "replica:1"},
		{attrs(), hemera.Wish{Pieces: 3}, "replica:3"},
		{attrs(AttrStripes, "1"), hemera.Wish{}, "plain"},
	} {
		if p, err := Decide(c.attrs, space, c.wish, hemera.Identity{}); err != nil || p.Layout.String() != c.want {
			t.Errorf("%v %+v: %s, %v, want %s", c.attrs, c.wish, p.Layout, err, c.want)
		}
	}
}

func TestErrorsNameTheSource(t *testing.T) {
	for _, c := range []struct {
		attrs Attributes
		wish  hemera.Wish
		names string
	}{
		{attrs(AttrLayout, "raid7"), hemera.Wish{}, AttrLayout},
		{attrs(AttrStripes, "0"), hemera.Wish{}, AttrStripes},
		{attrs(AttrStripes, "33"), hemera.Wish{}, AttrStripes},
		{attrs(AttrStripes, "two"), hemera.Wish{}, AttrStripes},
		{attrs(AttrChecksum, "crc16"), hemera.Wish{}, AttrChecksum},
		{attrs(AttrNoUserLayout, "yes"), hemera.Wish{}, AttrNoUserLayout},
		{attrs("user.forced.layout", "x"), hemera.Wish{}, "user.forced.layout"},
		{attrs(), hemera.Wish{Pieces: -1}, "wish for nstripes"},
		{attrs(AttrBlockSize, "4k"), hemera.Wish{}, AttrBlockSize},
		{attrs("user.forced.blocksize", "64M"), hemera.Wish{}, "user.forced.blocksize"},
		{attrs(), hemera.Wish{BlockSize: "65537"}, "wish for blocksize"},
		{attrs(AttrLayout, "rs"), hemera.Wish{Pieces: 6}, AttrLayout},
		{attrs(AttrLayout, "qrain"), hemera.Wish{Pieces: 4}, AttrLayout + "=qrain: with wish for nstripes=4"},
		{attrs(AttrLayout, "raid6", AttrStripes, "2"), hemera.Wish{}, AttrLayout + "=raid6: with " + AttrStripes + "=2"},
		{attrs(AttrStripes, "2"), hemera.Wish{Layout: "rs:4+2"}, AttrStripes},
		{attrs(), hemera.Wish{Layout: "qrain:4"}, "wish for layout"},
	} {
		_, err := Decide(c.attrs, two, c.wish, hemera.Identity{})
		if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), c.names) {
			t.Errorf("want Invalid naming %s, got %v", c.names, err)
		}
		if c.names != AttrChecksum && c.names != AttrNoUserLayout && errs.RemedyOf(err) == "" {
			t.Errorf("%v has no remedy", err)
		}
	}
}

func TestSpace(t *testing.T) {
	for _, c := range []struct {
		attrs Attributes
		wish  hemera.SpaceName
		want  hemera.SpaceName
	}{
		{attrs(), "", "default"},
		{attrs(), "ssd", "ssd"},
		{attrs(AttrSpace, "tape"), "ssd", "tape"},
		{attrs("user.forced.space", "home"), "", "home"},
		{attrs(AttrNoUserLayout, "1"), "ssd", "default"},
	} {
		got, err := Space(c.attrs, hemera.Wish{Space: c.wish}, hemera.Identity{})
		if err != nil || got != c.want {
			t.Errorf("%v: %q, %v, want %q", c.attrs, got, err, c.want)
		}
	}
}

func FuzzDecide(f *testing.F) {
	f.Add("replica", "2", "adler", "plain", 3, "md5")
	f.Add("raid6", "10", "adler", "rs:4+2", 0, "md5")
	f.Fuzz(func(t *testing.T, layout, stripes, sum, wish string, n int, wishSum string) {
		p, err := Decide(attrs(AttrLayout, layout, AttrStripes, stripes, AttrChecksum, sum), two,
			hemera.Wish{Layout: wish, Pieces: n, Checksum: wishSum}, hemera.Identity{})
		if err == nil && (p.Layout.Validate() != nil || !p.Checksum.Valid()) {
			t.Fatalf("accepted %+v", p)
		}
		if err != nil && !errors.Is(err, errs.Invalid) {
			t.Fatal(err)
		}
	})
}
