package tapeconfig

import (
	"strings"
	"testing"

	"hemera/words/hemera"
)

// What helps fits what is wrong with a tape.
func TestRemediesFitTheCause(t *testing.T) {
	for _, c := range []struct {
		state hemera.TapeState
		cause hemera.TapeCause
		want  string
	}{
		{hemera.TapeDisabled, "", "state=ACTIVE"},
		{hemera.TapeDisabled, hemera.TapeUnreadable, "hemera tape repack V00001"},
		{hemera.TapeDisabled, hemera.TapeWriteProtected, "set V00001 full=true state=ACTIVE"},
		{hemera.TapeRepackingDisabled, hemera.TapeWriteProtected, "full=true"},
		{hemera.TapeDisabled, hemera.TapeEncrypted, "hemera tape key ls"},
		{hemera.TapeDisabled, hemera.TapeMislabelled, "hemera tape scan V00001"},
		{hemera.TapeBroken, "", "hemera tape repack V00001"},
		{hemera.TapeExported, "", "in a library again"},
	} {
		tape := hemera.Tape{VID: "V00001", State: c.state, Cause: c.cause, Reason: "why"}
		if got := Remedy(&tape); !strings.Contains(got, c.want) {
			t.Errorf("%s, %q: %s", c.state, c.cause, got)
		}
		if needs := Needs([]hemera.Tape{tape}, nil); c.cause == hemera.TapeWriteProtected && (len(needs) != 1 || !strings.Contains(needs[0].Command, "full=true")) {
			t.Errorf("%s, %q: %+v", c.state, c.cause, needs)
		}
	}
}

// A broken tape with files is told of twice, as a tape that needs a person and as one whose files cannot be read: both have the same two ways out.
func TestABrokenTapeHasOneAdvice(t *testing.T) {
	for name, task := range map[string]*hemera.TapeTask{"none": nil, "under way": {}, "files are left": {Left: []hemera.TapeLeft{{Files: 1}}}} {
		tape := hemera.Tape{VID: "V00001", State: hemera.TapeBroken, Files: 1, Repack: task}
		needs := Needs([]hemera.Tape{tape}, nil)
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
