package tier_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// files are n paths below /nothing, which are not there.
func nothing(n, length int) (out []tapeapi.StageFile) {
	for i := range n {
		out = append(out, tapeapi.StageFile{Path: fmt.Sprintf("/nothing/%0*d", length, i)})
	}
	return out
}

// Requests are listed and dropped by their users, and those of others by admins; what failed as a whole is answered for an hour.
func TestRequestsToStageAreListedAndDropped(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.evicted("/single/f")
		stageOf(s, alice(), "/single/f")
		id, err := s.tier.Stager.Stage(s.Context(), bob(), tapeapi.StageRequest{Files: nothing(300, 4000)})
		s.good(err)
		s.good(second(s.tier.Stager.Stage(s.Context(), bob(), tapeapi.StageRequest{Files: nothing(2, 10)})))
		s.start() // they are read again, with what they take
		s.report()
		_, err = s.tier.Stager.Stages(s.Context(), bob(), true)
		s.wantKind("a user lists those of others", err, errs.Denied)
		list := func(who hemera.Identity, all bool) []tapeapi.StageSummary {
			s.Helper()
			out, err := s.tier.Stager.Stages(s.Context(), who, all)
			s.good(err)
			return out
		}
		all, own := list(admin(), true), list(bob(), false)
		large := own[0]
		if large.ID != id {
			large = own[1]
		}
		if len(own) != 2 || len(all) != 3 || !large.Failed || large.Files != 300 || large.Bytes < 300*4000 {
			t.Errorf("%d of bob, %d of all: %+v", len(own), len(all), large)
		}
		s.wantKind("dropped by another user", s.tier.Stager.CancelStage(s.Context(), alice(), id, nil, true), errs.Denied)
		s.good(s.tier.Stager.CancelStage(s.Context(), admin(), id, nil, true))
		if own = list(bob(), false); len(own) != 1 {
			t.Errorf("%+v", own)
		}
		time.Sleep(2 * time.Hour)
		s.good(s.tier.Sweeper.ForgetStages(s.Context()))
		if all = list(admin(), true); len(all) != 1 || all[0].UID != alice().UID {
			t.Errorf("%+v", all)
		}
	})
}

// Equal paths are one file: the work of a request is that of what it names.
func TestEqualPathsAreOne(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.evicted("/single/f")
		files := make([]tapeapi.StageFile, tapeapi.StagePathsMax)
		for i := range files {
			files[i].Path = "/single/f"
		}
		id, err := s.tier.Stager.Stage(s.Context(), alice(), tapeapi.StageRequest{Files: files})
		s.good(err)
		status, err := s.tier.Stager.StageStatus(s.Context(), alice(), id)
		s.good(err)
		if len(status.Files) != 1 || s.waiting(tapeapi.Recall) != 1 {
			t.Errorf("%d files", len(status.Files))
		}
	})
}

// One user pins a file a number of times only, is told so, and others pin it.
func TestPinsOfAUserAreBounded(t *testing.T) {
	at(t, func(s *site) {
		file := shared(s)
		s.arrives(file)
		n := 0
		var err error
		for ; err == nil && n < 300; n++ {
			_, err = s.tier.Stager.Stage(s.Context(), bob(), tapeapi.StageRequest{Files: []tapeapi.StageFile{{Path: file}}})
		}
		s.wantKind("too many pins", err, errs.Overloaded)
		if n > 40 || !strings.Contains(errs.RemedyOf(err), "prepare -e") {
			t.Errorf("pin %d: %v", n, err)
		}
		// With another file the request is there, and says of this one why it did not get it.
		s.put(alice(), "/single/g", 1000)
		s.good(s.tree.Tree.SetMode(s.Context(), alice(), "/single/g", 0o644))
		id, err := s.tier.Stager.Stage(s.Context(), bob(), tapeapi.StageRequest{Files: []tapeapi.StageFile{{Path: file}, {Path: "/single/g"}}})
		s.good(err)
		where, err := s.tier.Stager.Localities(s.Context(), bob(), id, []string{file, "/single/g"})
		s.good(err)
		if !strings.Contains(where[0].Error, "which is the limit") || where[1].Error != "" {
			t.Errorf("%+v", where)
		}
		stageOf(s, alice(), file)
		if s.counter(file) != n {
			t.Errorf("%d pins after %d of bob and one of alice", s.counter(file), n-1)
		}
	})
}
