package tapecatalogue

import (
	"strings"
	"testing"

	"hemera"
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
		{hemera.TapeBroken, "", "writes what is on disk"},
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
