package tier_test

import (
	"strings"
	"testing"

	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// TestRefusalsOfUsersHaveARemedy: each says what its reader does next.
func TestRefusalsOfUsersHaveARemedy(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.put(alice(), "/single/waits", 1000)
		s.put(alice(), "/f", 1000)
		s.put(alice(), "/empty", 0)
		id := stageOf(s, alice(), "/f")
		stage := func(who hemera.Identity, name string, files ...string) error {
			r := tapeapi.StageRequest{Name: name}
			for _, f := range files {
				r.Files = append(r.Files, tapeapi.StageFile{Path: f})
			}
			return second(s.tier.Stager.Stage(s.Context(), who, r))
		}
		evict := func(who hemera.Identity, path string) error {
			return second(s.tier.Stager.Evict(s.Context(), who, path))
		}
		archive := func(who hemera.Identity, path string) error {
			return second(s.tier.Stager.ArchiveNow(s.Context(), who, path, "default"))
		}
		s.good(stage(alice(), "mine", "/f"))
		for what, c := range map[string]struct {
			err  error
			want string // in the remedy
		}{
			"evict of a file that is not on tape": {evict(admin(), "/f"), "hemera tape archive PATH"},
			"evict of one that is not yet there":  {evict(admin(), "/single/waits"), "hemera tape archive PATH"},
			"evict of a directory":                {evict(admin(), "/single"), "-r"},
			"evict by a user":                     {evict(alice(), "/f"), "release"},
			"archive of a directory":              {archive(admin(), "/single"), "-r"},
			"archive of another user's":           {archive(bob(), "/f"), "owner"},
			"stage of nothing":                    {stage(alice(), ""), "fewer files"},
			"stage under a name with a blank":     {stage(alice(), "a b", "/f"), "another name"},
			"stage under another user's name":     {stage(bob(), "mine", "/f"), "another name"},
			"stage of other files under a name":   {stage(alice(), "mine", "/single/waits"), "hemera tape stage drop mine"},
			"stage under a long name":             {stage(alice(), strings.Repeat("x", 300), "/f"), "shorter"},
			"status of another user's request":    {second(s.tier.Stager.StageStatus(s.Context(), bob(), id)), "hemera tape stage ls"},
			"status of none":                      {second(s.tier.Stager.StageStatus(s.Context(), bob(), "none")), "hemera tape stage ls"},
			"cancel of another path":              {s.tier.Stager.CancelStage(s.Context(), alice(), id, []string{"/other"}, false), "paths"},
		} {
			if errs.KindOf(c.err) == errs.Internal || !strings.Contains(errs.RemedyOf(c.err), c.want) {
				t.Errorf("%s: %v: %q", what, c.err, errs.RemedyOf(c.err))
			}
		}
		s.archive()
		if err := archive(admin(), "/single/waits"); errs.KindOf(err) != errs.Exists || !strings.Contains(errs.RemedyOf(err), "hemera tape evict PATH") {
			t.Errorf("archived already: %v: %q", err, errs.RemedyOf(err))
		}
	})
}
