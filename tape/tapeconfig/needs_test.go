package tapeconfig_test

import (
	"strings"
	"testing"

	"hemera/tape/tapeconfig"
	"hemera/words/hemera"
)

// TestNeeds: a tape is in the list for what a person can do about it, and for nothing else.
func TestNeeds(t *testing.T) {
	inside := map[string]string{"IN": "LTO-9"}
	for _, c := range []struct {
		name   string
		tape   hemera.Tape
		inside map[string]string
		want   string // of what it needs, and of the command; "" for nothing; parts for several are joined by " | "
	}{
		{"good", hemera.Tape{VID: "IN", State: hemera.TapeActive, Files: 3}, inside, ""},
		{"disabled", hemera.Tape{VID: "IN", State: hemera.TapeDisabled, Reason: "torn"}, inside, "is disabled: torn; hemera tape tape set IN state=ACTIVE"},
		{"broken", hemera.Tape{VID: "IN", State: hemera.TapeBroken, Files: 1}, inside, "has 1 file; a repack moves those that disks or other tapes have; if it can be read after all, `hemera tape tape set IN state=ACTIVE`; hemera tape repack IN"},
		{"repacked", hemera.Tape{VID: "IN", State: hemera.TapeBroken, Files: 2, Repack: &hemera.TapeTask{}}, inside, "has 2 files; its repack is under way; if it can be read after all, `hemera tape tape set IN state=ACTIVE`; hemera tape repack ls"},
		{"left", hemera.Tape{VID: "IN", State: hemera.TapeBroken, Files: 2, Repack: &hemera.TapeTask{Left: []hemera.TapeLeft{{}}}}, inside, "hemera tape tape set IN full=true state=ACTIVE | its repack leaves 0 files of class"},
		{"left on a tape that is read", hemera.Tape{VID: "IN", State: hemera.TapeRepacking, Repack: &hemera.TapeTask{Left: []hemera.TapeLeft{{Class: "raw", Files: 1, Why: "no route"}}}}, inside,
			"its repack leaves 1 file of class raw: no route; hemera tape repack ls"},
		{"broken and empty", hemera.Tape{VID: "IN", State: hemera.TapeBroken}, inside, ""},
		{"full of what is gone", hemera.Tape{VID: "IN", State: hemera.TapeActive, Full: true, LastFSeq: 9}, inside, "hemera tape reclaim IN"},
		{"full of what only a scan calls removed", hemera.Tape{VID: "IN", State: hemera.TapeActive, Full: true, LastFSeq: 9, Inferred: 2}, inside,
			"has 2 files that no directory has and whose removal nobody knows; they come back, or a reclaim loses them by --lose; hemera tape undelete --tape IN"},
		{"away", hemera.Tape{VID: "OUT", State: hemera.TapeActive, Files: 3}, inside, "has files and is in no library; put the cartridge back, or say where it is; hemera tape tape set OUT state=EXPORTED"},
		{"away and empty", hemera.Tape{VID: "OUT", State: hemera.TapeActive}, inside, ""},
		{"exported", hemera.Tape{VID: "OUT", State: hemera.TapeExported, Files: 3}, inside, ""},
		{"before a library is heard of", hemera.Tape{VID: "OUT", State: hemera.TapeActive, Files: 3}, nil, ""},
	} {
		got := tapeconfig.Needs([]hemera.Tape{c.tape}, c.inside)
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
	many := tapeconfig.Needs([]hemera.Tape{{VID: "A", State: hemera.TapeActive, Files: 1}, {VID: "B", State: hemera.TapeActive, Files: 1}}, inside)
	if len(many) != 1 || !strings.Contains(many[0].What, "and 1 more") {
		t.Errorf("%+v", many)
	}
}
