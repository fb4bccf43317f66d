package prepare

import (
	"strings"
	"testing"
	"time"

	"hemera/rules/wire"
	"hemera/test/fixture"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A request must name a file, with tape and without; the error for a directory says this.
func TestDirectoriesAreNotStaged(t *testing.T) {
	tree := fixture.NewTree()
	who := hemera.Identity{Name: "alice", UID: 1001, GID: 100}
	for name, s := range map[string]*Service{"with tape": New(tree, fixture.NewStaging(tree, time.Now)), "without": New(tree, nil)} {
		ask := wire.Prepare{Options: wire.PrepareStage}
		for _, lines := range [][]string{{"/exp"}, {"/exp", "/exp/run1"}} {
			if _, err := s.Do(t.Context(), who, ask, lines); errs.KindOf(err) != errs.IsDirectory {
				t.Errorf("%s: %v: %v", name, lines, err)
			}
		}
		id, err := s.Do(t.Context(), who, ask, []string{"/exp", "/exp/data.root"})
		if err != nil || id == "" {
			t.Errorf("%s: with a file: %v", name, err)
		}
		text, err := s.Query(t.Context(), who, []string{id, "/exp"})
		if err != nil || !strings.Contains(text, `"path_exists":true`) || name == "without" && !strings.Contains(text, `"online":false`) {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}
