package tapeconfig_test

import (
	"strings"
	"testing"

	"hemera/tape/tapeconfig"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// TestNeeds: a tape is in the list for what a person can do about it, and for nothing else.
func TestNeeds(t *testing.T) {
	inside := map[hemera.VID]string{"IN": "LTO-9"}
	for _, c := range []struct {
		name   string
		tape   tapeapi.Tape
		inside map[hemera.VID]string
		want   string // of what it needs, and of the command; "" for nothing; parts for several are joined by " | "
	}{
		{"good", tapeapi.Tape{VID: "IN", State: tapeapi.Active, Files: 3}, inside, ""},
		{"disabled", tapeapi.Tape{VID: "IN", State: tapeapi.Disabled, Reason: "torn"}, inside, "is disabled: torn; hemera tape tape set IN state=ACTIVE"},
		{"broken", tapeapi.Tape{VID: "IN", State: tapeapi.Broken, Files: 1}, inside, "has 1 file; a repack moves those that disks or other tapes have; if it can be read after all, `hemera tape tape set IN state=ACTIVE`; hemera tape repack IN"},
		{"repacked", tapeapi.Tape{VID: "IN", State: tapeapi.Broken, Files: 2, Repack: &tapeapi.Task{}}, inside, "has 2 files; its repack is under way; if it can be read after all, `hemera tape tape set IN state=ACTIVE`; hemera tape repack ls"},
		{"left", tapeapi.Tape{VID: "IN", State: tapeapi.Broken, Files: 2, Repack: &tapeapi.Task{Left: []tapeapi.Left{{}}}}, inside, "hemera tape tape set IN full=true state=ACTIVE | its repack leaves 0 files of class"},
		{"left on a tape that is read", tapeapi.Tape{VID: "IN", State: tapeapi.Repacking, Repack: &tapeapi.Task{Left: []tapeapi.Left{{Class: "raw", Files: 1, Why: "no route"}}}}, inside,
			"its repack leaves 1 file of class raw: no route; hemera tape repack ls"},
		{"broken and empty", tapeapi.Tape{VID: "IN", State: tapeapi.Broken}, inside, ""},
		{"full of what is gone", tapeapi.Tape{VID: "IN", State: tapeapi.Active, Full: true, LastFSeq: 9}, inside, "hemera tape reclaim IN"},
		{"full of what only a scan calls removed", tapeapi.Tape{VID: "IN", State: tapeapi.Active, Full: true, LastFSeq: 9, Inferred: 2}, inside,
			"has 2 files that no directory has and whose removal nobody knows; they come back, or a reclaim loses them by --lose; hemera tape undelete --tape IN"},
		{"away", tapeapi.Tape{VID: "OUT", State: tapeapi.Active, Files: 3}, inside, "has files and is in no library; put the cartridge back, or say where it is; hemera tape tape set OUT state=EXPORTED"},
		{"away and empty", tapeapi.Tape{VID: "OUT", State: tapeapi.Active}, inside, ""},
		{"exported", tapeapi.Tape{VID: "OUT", State: tapeapi.Exported, Files: 3}, inside, ""},
		{"before a library is heard of", tapeapi.Tape{VID: "OUT", State: tapeapi.Active, Files: 3}, nil, ""},
	} {
		got := tapeconfig.Needs([]tapeapi.Tape{c.tape}, c.inside)
		var want []string
		if c.want != "" {
			want = strings.Split(c.want, " | ")
		}
		if len(got) != len(want) {
			t.Errorf("%s: %+v, want %q", c.name, got, want)
			continue
		}
		for i, part := range want {
			if !strings.Contains(got[i].What+"; "+got[i].Command, part) {
				t.Errorf("%s: %+v, want %q", c.name, got[i], part)
			}
		}
	}
	many := tapeconfig.Needs([]tapeapi.Tape{{VID: "A", State: tapeapi.Active, Files: 1}, {VID: "B", State: tapeapi.Active, Files: 1}}, inside)
	if len(many) != 1 || !strings.Contains(many[0].What, "and 1 more") {
		t.Errorf("%+v", many)
	}
}
