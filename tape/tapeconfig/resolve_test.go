package tapeconfig

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"hemera/words/errs"
	"hemera/words/hemera"

	"github.com/google/go-cmp/cmp"
	"hemera/words/tapeapi"
)

func TestResolve(t *testing.T) {
	c := site(t)
	for _, one := range []struct {
		class  string
		repack bool
		want   []Destination
	}{
		{"raw", false, []Destination{{1, "raw1"}, {2, "raw2"}}},
		{"raw", true, []Destination{{1, "raw2"}, {2, "raw2"}}},
		{"default", true, []Destination{{1, "default"}}},
	} {
		if got, err := c.Resolve(one.class, one.repack); err != nil || !cmp.Equal(got, one.want) {
			t.Errorf("%+v: %v %v", one, got, err)
		}
	}
	if _, err := c.Resolve("none", false); !errors.Is(err, errs.NotFound) || errs.RemedyOf(err) == "" {
		t.Error(err)
	}
	half := apply(t, c, "remove route raw/2")
	_, err := half.Resolve("raw", false)
	if !errors.Is(err, errs.Invalid) || !strings.Contains(errs.RemedyOf(err), "hemera tape route add raw/2") {
		t.Error(err, errs.RemedyOf(err))
	}
	if err := half.Admit("raw", 1); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
	if err := c.Admit("raw", 1e12); err != nil {
		t.Error(err)
	}
	if err := c.Admit("raw", 1e12+1); !errors.Is(err, errs.TooLarge) {
		t.Error(err)
	}
}

func TestPolicyOf(t *testing.T) {
	c := apply(t, site(t), `
		add policy other retrievePriority=5
		add rule aBobT requester=bob activityRegex=T mountPolicy=other
	`)
	everybody := apply(t, c, "add rule all requester=default mountPolicy=other")
	for _, one := range []struct {
		c    Config
		r    Request
		want string
	}{
		{c, Request{User: "eve"}, "default"},
		{c, Request{User: "eve", Groups: []string{"x", "production"}}, "fast"},
		{c, Request{User: "bob", Groups: []string{"production"}}, "slow"}, // the user goes before the group
		{c, Request{User: "bob", Activity: "T0 export", Recall: true}, "fast"},
		{c, Request{User: "bob", Activity: "T0 export"}, "slow"}, // archives have no activity
		{c, Request{User: "bob", Activity: "at T1", Recall: true}, "other"},
		{c, Request{User: "bob", Activity: "user", Recall: true}, "slow"},
		{c, Request{User: "bob", Recall: true}, "slow"},
		{c, Request{User: "bob", Policy: "other"}, "other"},
		{c, Request{User: "eve", Policy: "gone"}, "default"},
		{everybody, Request{User: "eve"}, "other"},
		{everybody, Request{User: "eve", Groups: []string{"production"}}, "fast"},
		{everybody, Request{User: ""}, "other"},
	} {
		if got, why := one.c.PolicyOf(one.r); got != one.want || why == "" {
			t.Errorf("%+v: %s, because %s; want %s", one.r, got, why, one.want)
		}
	}
}

func TestVID(t *testing.T) {
	for _, vid := range []hemera.VID{"V00001", "A", "123456"} {
		if err := CheckVID(vid); err != nil {
			t.Error(err)
		}
	}
	for _, vid := range []hemera.VID{"", "V000001", "v00001", "V 0001", "V0001é", "V0001\n"} {
		if err := CheckVID(vid); !errors.Is(err, errs.Invalid) {
			t.Errorf("%q: %v", vid, err)
		}
	}
}

func TestBarcode(t *testing.T) {
	for _, one := range []struct {
		barcode string
		vid     hemera.VID
		media   string
		ok      bool
	}{
		{"V00001L9", "V00001", "LTO-9", true},
		{" V00001LA ", "V00001", "LTO-10", true},
		{"V00001M8", "V00001", "LTO-7 M8", true},
		{"V00001XX", "V00001", "", true},
		{"V00001", "V00001", "", true},
		{"V00001L", "V00001L", "", false},
		{"CLNU01CU", "CLNU01", "", true}, // a cleaning cartridge: no media type, so it becomes no tape
		{"", "", "", false},
	} {
		vid, media, err := Defaults().Barcode(one.barcode)
		if vid != one.vid || media != one.media || (err == nil) != one.ok {
			t.Errorf("%q: %q %q %v", one.barcode, vid, media, err)
		}
	}
}

func TestCheckTape(t *testing.T) {
	good := tapeapi.Tape{VID: "V00001", MediaType: "LTO-9", Pool: "default", Library: "any", Capacity: 1}
	if err := Defaults().CheckTape(good); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*tapeapi.Tape){
		func(t *tapeapi.Tape) { t.VID = "bad" },
		func(t *tapeapi.Tape) { t.MediaType = "VHS" },
		func(t *tapeapi.Tape) { t.Pool = "none" },
		func(t *tapeapi.Tape) { t.Capacity = -1 },
	} {
		bad := good
		change(&bad)
		if err := Defaults().CheckTape(bad); !errors.Is(err, errs.Invalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestStates(t *testing.T) {
	full := tapeapi.Tape{VID: "V00001", Full: true}
	for _, from := range allStates() {
		for _, to := range allStates() {
			one := full
			one.State = from
			err := CheckTransition(one, to, "because")
			want := from == to || slices.Contains(Followers(from), to)
			if (err == nil) != want {
				t.Errorf("%s to %s: %v", from, to, err)
			}
		}
		// What may be written or read must be mounted, and what is mounted has jobs that wait.
		p := Permits(from)
		if (p.Write || p.Recall || p.Repack) && !p.Mount || p.Mount && !p.Queue {
			t.Errorf("%s: %+v", from, p)
		}
	}
	active := tapeapi.Tape{VID: "V00001", State: tapeapi.Active}
	for _, one := range []struct {
		to     tapeapi.State
		reason string
		ok     bool
	}{
		{tapeapi.Disabled, "noise", true},
		{tapeapi.Disabled, "  ", false},
		{tapeapi.Repacking, "old", false}, // it is not full
		{tapeapi.RepackingDisabled, "old", false},
		{tapeapi.Active, "", true},
		{"MELTED", "fire", false},
	} {
		if err := CheckTransition(active, one.to, one.reason); (err == nil) != one.ok {
			t.Errorf("%+v: %v", one, err)
		}
	}
	if Permits(tapeapi.Active) == Permits(tapeapi.Repacking) || Permits(tapeapi.Broken) != (Permission{}) || Permits("MELTED") != (Permission{}) {
		t.Error("permissions")
	}
}
