package policy

import (
	"errors"
	"testing"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// Decide accepts what CheckAttribute accepts, and refuses what it refuses.
func TestCheckAttributeAgreesWithDecide(t *testing.T) {
	for _, test := range []struct {
		name, value string
		ok          bool
	}{
		{AttrLayout, "plain", true}, {AttrLayout, "replica", true}, {AttrLayout, "raid6", true}, {AttrLayout, "raid7", false},
		{AttrLayout, "rs:4+2", true}, {AttrLayout, "rs", false}, {AttrLayout, "rs:31+2", false}, {AttrLayout, "lrc:12+2+2", true}, {AttrLayout, "stripe:4", true},
		{AttrBlockSize, "1M", true}, {AttrBlockSize, "4k", false}, {AttrBlockSize, "large", false}, {"user.forced.blocksize", "64k", true},
		{AttrStripes, "1", true}, {AttrStripes, "16", true}, {AttrStripes, "33", false}, {AttrStripes, "two", false}, {AttrStripes, "0", false},
		{AttrChecksum, "crc64nvme", true}, {AttrChecksum, "crc7", false},
		{AttrNoUserLayout, "1", true}, {AttrNoUserLayout, "yes", false},
		{AttrSpace, "anything", true}, {AttrStripes, "", true},
		{"user.forced.nstripes", "3", true}, {"user.forced.nstripes", "99", false}, {"user.forced.checksum", "crc7", false},
		{"user.campaign", "99", true}, {"sys.acl", "u:1:rw", true},
		{"sys.forced.nstripe", "3", false}, {"user.forced.nstripe", "3", true}, // the first looks as if it had an effect
	} {
		err := CheckAttribute(test.name, test.value)
		if (err == nil) != test.ok || err != nil && !errors.Is(err, errs.Invalid) {
			t.Errorf("%s=%s: %v", test.name, test.value, err)
		}
		attrs := map[string][]byte{test.name: []byte(test.value)}
		_, err = Decide(Attributes{Sys: attrs, User: attrs}, hemera.Space{Name: "s", Policy: hemera.Policy{Layout: hemera.Replica(2)}}, hemera.Wish{}, hemera.Identity{})
		if (err == nil) != test.ok && test.name != "sys.forced.nstripe" {
			t.Errorf("Decide with %s=%s: %v", test.name, test.value, err)
		}
	}
}

// A number that the space's own layout cannot have may be for another layout, which another attribute names.
func TestAnAttributeIsJudgedAlone(t *testing.T) {
	if err := CheckAttribute(AttrStripes, "2"); err != nil {
		t.Error(err)
	}
	if _, err := Decide(attrs(AttrStripes, "2"), hemera.Space{Name: "s", Policy: hemera.Policy{Layout: hemera.ReedSolomon(4, 2)}}, hemera.Wish{}, hemera.Identity{}); !errors.Is(err, errs.Invalid) || errs.RemedyOf(err) == "" {
		t.Errorf("2 pieces of rs:4+2: %v", err)
	}
	if p, err := Decide(attrs(AttrStripes, "20", AttrLayout, "raid6"), two, hemera.Wish{}, hemera.Identity{}); err != nil || p.Layout.String() != "rs:18+2" {
		t.Errorf("20 pieces of raid6: %v, %v", p.Layout, err)
	}
}

func TestIsSpaceAttribute(t *testing.T) {
	if !IsSpaceAttribute(AttrSpace) || !IsSpaceAttribute("user.forced.space") || IsSpaceAttribute("user.space") {
		t.Error("the attribute that names a space is not recognised")
	}
}
