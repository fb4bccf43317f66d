package tapeconfig

import (
	"strings"
	"testing"

	"hemera/words/tapeapi"
)

// What helps fits what is wrong with a tape.
func TestRemediesFitTheCause(t *testing.T) {
	for _, c := range []struct {
		state tapeapi.State
		cause tapeapi.Cause
		want  string
	}{
		{tapeapi.Disabled, "", "state=ACTIVE"},
		{tapeapi.Disabled, tapeapi.Unreadable, "hemera tape repack V00001"},
		{tapeapi.Disabled, tapeapi.WriteProtected, "set V00001 full=true state=ACTIVE"},
		{tapeapi.RepackingDisabled, tapeapi.WriteProtected, "full=true"},
		{tapeapi.Disabled, tapeapi.Encrypted, "hemera tape key ls"},
		{tapeapi.Disabled, tapeapi.Mislabelled, "hemera tape scan V00001"},
		{tapeapi.Broken, "", "hemera tape repack V00001"},
		{tapeapi.Exported, "", "in a library again"},
	} {
		tape := tapeapi.Tape{VID: "V00001", State: c.state, Cause: c.cause, Reason: "why"}
		if got := Remedy(&tape); !strings.Contains(got, c.want) {
			t.Errorf("%s, %q: %s", c.state, c.cause, got)
		}
		if needs := Needs([]tapeapi.Tape{tape}, nil); c.cause == tapeapi.WriteProtected && (len(needs) != 1 || !strings.Contains(needs[0].Command, "full=true")) {
			t.Errorf("%s, %q: %+v", c.state, c.cause, needs)
		}
	}
}

// A broken tape with files is told of twice, as a tape that needs a person and as one whose files cannot be read: both have the same two ways out.
func TestABrokenTapeHasOneAdvice(t *testing.T) {
	for name, task := range map[string]*tapeapi.Task{"none": nil, "under way": {}, "files are left": {Left: []tapeapi.Left{{Files: 1}}}} {
		tape := tapeapi.Tape{VID: "V00001", State: tapeapi.Broken, Files: 1, Repack: task}
		needs := Needs([]tapeapi.Tape{tape}, nil)
		if len(needs) == 0 {
			t.Fatalf("%s: %+v", name, needs)
		}
		said, remedy := needs[0].What+" "+needs[0].Command, Remedy(&tape)
		repack := "hemera tape repack V00001"
		for _, words := range []string{again(&tape), "if it can be read after all"} {
			if !strings.Contains(said, words) || !strings.Contains(remedy, words) {
				t.Errorf("%s: %q is not in both of %q and %q", name, words, said, remedy)
			}
		}
		if strings.Contains(said, repack) != (task == nil) || strings.Contains(remedy, repack) != (task == nil) {
			t.Errorf("%s: %q, %q", name, said, remedy)
		}
	}
}
