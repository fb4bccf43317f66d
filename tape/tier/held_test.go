package tier_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// sweep lets the tier do what time does, for a while.
func (s *site) sweep(d time.Duration) {
	s.Helper()
	ctx, stop := context.WithTimeout(s.Context(), d)
	defer stop()
	s.good(s.tier.Sweeper.Run(ctx))
	s.report() // its server was silent meanwhile
}

// explained returns the explanation of a name or a path for an admin.
func (s *site) explained(name string) string {
	s.Helper()
	lines, err := s.tier.Reports.ExplainTape(s.Context(), name)
	s.good(err)
	return strings.Join(lines, "; ")
}

// needs fails unless a line of what needs a person has the text.
func (s *site) needs(text string) {
	s.Helper()
	if a := strings.Join(s.attention(), "\n"); !strings.Contains(a, text) {
		s.Errorf("%q is not in %q", text, a)
	}
}

// Files of a class that is unknown, or has no route, are in the list for people with the next command, and are queued when it is there: also by
// a manager that was started since.
func TestAClassThatComesLater(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.good(s.tree.Tree.SetXattr(s.Context(), admin(), "/single", hemera.AttrStorageClass, []byte("raw"), false))
		s.put(alice(), "/single/f", 1000)
		s.put(bob(), "/single/g", 1000)
		s.needs("class raw 2 files are not queued for tape: there is no such storage class")
		if why := s.explained("/single/f"); !strings.Contains(why, "no pool takes it: there is no such storage class (hemera tape class add raw nbCopies=1") {
			t.Error(why)
		}
		jobs, err := s.tier.Queue.TapeJobList(s.Context(), adminapi.TapeJobQuery{Failed: true})
		if err != nil || len(jobs) != 2 || jobs[0].Queue != "class=raw" || !strings.Contains(jobs[0].Error, "no such storage class") {
			t.Errorf("%+v, %v", jobs, err)
		}
		p, err := s.tier.Reports.TapePicture(s.Context())
		if s.good(err); len(p.Held) != 1 || p.Held[0].Files != 2 || p.Held[0].Command != "hemera tape class add raw nbCopies=1" || len(p.Failed) != 0 || len(p.Queues) != 0 {
			t.Errorf("%+v", p)
		}
		// A retry of what has failed is not for them.
		said, err := s.tier.Orders.OrderTape(s.Context(), "ada", adminapi.TapeOrder{Kind: adminapi.OrderRetry})
		if s.good(err); said != "0 jobs" {
			t.Error(said)
		}
		_, err = s.tier.Orders.OrderTape(s.Context(), "ada", adminapi.TapeOrder{Kind: adminapi.OrderRetry, Subject: "class=raw"})
		s.wantKind("a retry of a class", err, errs.Invalid)
		s.change("class", "add", "raw", "nbCopies", "2", "vo", "default")
		s.sweep(time.Minute)
		s.needs("class raw 2 files are not queued for tape: copy 1 of 2 of the storage class has no archive route")
		if text := string(s.stat("/single/f").Xattrs[hemera.AttrArchiveError]); !strings.Contains(text, "hemera tape route add raw/1 tapepool=POOL") {
			t.Error(text)
		}
		s.change("route", "add", "raw/1", "storageClass", "raw", "copyNumber", "1", "tapepool", "default")
		s.change("route", "add", "raw/2", "storageClass", "raw", "copyNumber", "2", "tapepool", "second")
		why := s.explained("/single/f")
		if a := s.attention(); len(a) != 0 || !strings.Contains(why, "within seconds") || !strings.Contains(why, "a pool takes it now") || strings.Contains(why, "failed") {
			t.Errorf("%q, %s", a, why)
		}
		// A manager that starts looks again by itself.
		s.start()
		s.report()
		s.sweep(15 * time.Second)
		if m := s.mount("d1", tapeapi.Archive); len(s.jobs(m)) != 2 {
			t.Error("the files are not queued")
		}
		if m := s.mount("d2", tapeapi.Archive); len(s.jobs(m)) != 2 {
			t.Error("the second copies are not queued")
		}
	})
}

// A file that is larger than its organisation takes closes, is told of, and is queued once the limit is raised.
func TestTheLargestFile(t *testing.T) {
	at(t, func(s *site) {
		s.label()
		s.change("organisation", "set", "default", "maxFileSize", "1000")
		s.put(alice(), "/single/f", 1001)
		s.put(alice(), "/single/g", 1000)
		s.needs("class default 1 file is not queued for tape: organisation default takes no files of more than 1000 bytes")
		if why := s.explained("/single/f"); !strings.Contains(why, "hemera tape organisation set default maxFileSize=SIZE") {
			t.Error(why)
		}
		m := s.mount("d1", tapeapi.Archive)
		if jobs := s.jobs(m); len(jobs) != 1 || jobs[0].Path != "/single/g" {
			t.Errorf("%+v", jobs)
		}
		s.change("organisation", "set", "default", "maxFileSize", "1001")
		s.sweep(15 * time.Second)
		if a := s.attention(); len(a) != 0 {
			t.Errorf("%q", a)
		}
		if jobs := s.jobs(s.mount("d1", tapeapi.Archive)); len(jobs) == 0 {
			t.Error("it is not queued")
		}
	})
}

// A directory takes a class that there is.
func TestCheckClass(t *testing.T) {
	at(t, func(s *site) {
		for _, class := range []string{"", "none", "default", "double"} {
			s.good(s.tier.Config.CheckClass(class))
		}
		err := s.tier.Config.CheckClass("raw")
		if s.wantKind("raw", err, errs.NotFound); !strings.HasPrefix(errs.RemedyOf(err), "take one of default, double, or add it") {
			t.Error(errs.RemedyOf(err))
		}
	})
}
