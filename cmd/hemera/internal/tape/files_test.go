package tape

import (
	"testing"

	"hemera"
)

// A command that could stage nothing has failed, and says why as users know things.
func TestNoneStaged(t *testing.T) {
	missing := hemera.Locality{Path: "/nope", Error: "namespace.Stat /nope: no such file or directory"}
	other := hemera.Locality{Path: "/d", Error: "manager.Stage /d: it is a directory"}
	err := noneStaged([]hemera.Locality{missing, other})
	if err == nil || err.Error() != "stage /nope: no such file or directory\nstage /d: it is a directory" {
		t.Errorf("%v", err)
	}
	if err := noneStaged([]hemera.Locality{missing, {Path: "/f"}}); err != nil {
		t.Errorf("one can be staged: %v", err)
	}
	for _, field := range localityRecord(missing, "id") {
		if field.Key == "error_text" && field.Value != "no such file or directory" {
			t.Errorf("%q", field.Value)
		}
	}
}
