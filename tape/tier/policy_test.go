package tier_test

import (
	"testing"
	"time"

	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// prio returns the priority that the queue of a kind shows, and the policy that gives it.
func (s *site) prio(kind tapeapi.JobKind) (int64, string) {
	s.Helper()
	p, err := s.tier.Reports.TapePicture(s.Context())
	s.good(err)
	for _, q := range p.Queues {
		if q.Kind == kind {
			return q.Priority, q.PriorityPolicy
		}
	}
	s.Fatalf("no queue of %s", kind)
	return 0, ""
}

// wantPrio compares what the queue shows.
func (s *site) wantPrio(what string, kind tapeapi.JobKind, priority int64, policy string) {
	s.Helper()
	if p, name := s.prio(kind); p != priority || name != policy {
		s.Errorf("%s: priority %d of policy %q, want %d of %q", what, p, name, priority, policy)
	}
}

// stage asks for a file, with an activity.
func (s *site) stage(who hemera.Identity, file, activity string) {
	s.Helper()
	_, err := s.tier.Stager.Stage(s.Context(), who, tapeapi.StageRequest{Files: []tapeapi.StageFile{{Path: file, Activity: activity}}})
	s.good(err)
}

// carol returns a user in two groups, whose numbers no machine has.
func carol() hemera.Identity {
	return hemera.Identity{Name: "carol", UID: 310001, GID: 310002, Groups: []uint32{310003}, Admin: true}
}

// withPolicies adds the policies "high" and "higher", and a rule.
func withPolicies(s *site, values ...string) {
	s.Helper()
	s.label()
	s.change("policy", "add", "high", "archivePriority", "10", "retrievePriority", "20", "archiveMinRequestAge", "0", "retrieveMinRequestAge", "0")
	s.change("policy", "add", "higher", "archivePriority", "11", "retrievePriority", "30", "archiveMinRequestAge", "0", "retrieveMinRequestAge", "0")
	s.change("rule", "add", "r", values...)
}

// The requests that a rule is for get its priority, and no others.
func TestRulesDecideAboutRecalls(t *testing.T) {
	for _, one := range []struct {
		what     string
		rule     []string
		activity string
		high     bool
	}{
		{"user", []string{"requester", "310001"}, "", true},
		{"another user", []string{"requester", "310009"}, "", false},
		{"the user root, which every machine knows", []string{"requester", "root"}, "", false},
		{"primary group", []string{"group", "310002"}, "", true},
		{"further group", []string{"group", "310003"}, "", true},
		{"another group", []string{"group", "310001"}, "", false},
		{"activity", []string{"requester", "310001", "activityRegex", "^reco"}, "reconstruction", true},
		{"another activity", []string{"requester", "310001", "activityRegex", "^reco"}, "simulation", false},
		{"no activity", []string{"requester", "310001", "activityRegex", "^reco"}, "", false},
		{"everybody", []string{"requester", "default"}, "", true},
	} {
		t.Run(one.what, func(t *testing.T) {
			at(t, func(s *site) {
				withPolicies(s, append(one.rule, "mountPolicy", "high")...)
				s.evicted("/single/f")
				s.stage(carol(), "/single/f", one.activity)
				priority, policy := int64(1), "default"
				if one.high {
					priority, policy = 20, "high"
				}
				s.wantPrio("staged", tapeapi.Recall, priority, policy)
			})
		})
	}
}

// Within a queue, too, what a rule is for goes first: of other users, and of the same.
func TestRulesDecideWithinAQueue(t *testing.T) {
	at(t, func(s *site) {
		withPolicies(s, "requester", "310001", "activityRegex", "reco", "mountPolicy", "high")
		files := []string{"/single/a", "/single/b", "/single/c"}
		for _, f := range files {
			s.evicted(f)
		}
		dave := bob()
		dave.Admin = true // the files are alice's
		s.stage(dave, files[0], "")
		time.Sleep(time.Second)
		s.stage(carol(), files[1], "simulation")
		time.Sleep(time.Second)
		s.stage(carol(), files[2], "reco")
		m := s.mount("d1", tapeapi.Recall)
		r, err := s.tier.Jobs.TapeJobs(s.Context(), server, tapeapi.JobsRequest{Mount: m.ID, Files: 2})
		s.good(err)
		// Two, in the order of the tape. Carol has had one, so dave's goes before her other one.
		if len(r.Jobs) != 2 || r.Jobs[0].Path != files[0] || r.Jobs[1].Path != files[2] {
			t.Errorf("%+v", r.Jobs)
		}
	})
}

// Names are those of the machine.
func TestRulesByName(t *testing.T) {
	for _, rule := range [][]string{{"requester", "root"}, {"group", "root"}} {
		at(t, func(s *site) {
			withPolicies(s, append(rule, "mountPolicy", "high")...)
			s.evicted("/single/f")
			s.stage(hemera.Identity{Name: "carol", Admin: true}, "/single/f", "")
			s.wantPrio(rule[0], tapeapi.Recall, 20, "high")
		})
	}
}

// An archive has the policy of the file's owner and group; an open that begins a recall that of the user.
func TestRulesDecideAboutArchivesAndOpens(t *testing.T) {
	at(t, func(s *site) {
		withPolicies(s, "group", "310002", "mountPolicy", "high")
		s.put(alice(), "/single/a", 1000)
		s.wantPrio("of alice", tapeapi.Archive, 1, "default")
		s.put(carol(), "/single/c", 1000)
		s.wantPrio("of carol", tapeapi.Archive, 10, "high")
		s.archive()
		s.good(second(s.tier.Stager.Evict(s.Context(), admin(), "/single/a")))
		if err := s.tier.Stager.OnOpen(s.Context(), carol(), s.stat("/single/a"), "/single/a"); err == nil {
			t.Error("no recall")
		}
		s.wantPrio("opened", tapeapi.Recall, 20, "high")
	})
}

// The policy of a job is looked up by its name at each decision.
func TestAPolicyThatChanges(t *testing.T) {
	at(t, func(s *site) {
		withPolicies(s, "group", "310003", "mountPolicy", "high")
		s.evicted("/single/f")
		s.stage(carol(), "/single/f", "")
		s.change("rule", "set", "r", "mountPolicy", "higher")
		s.wantPrio("a rule that changes is for the next request", tapeapi.Recall, 20, "high")
		s.change("policy", "set", "high", "retrievePriority", "25")
		s.wantPrio("a policy that changes", tapeapi.Recall, 25, "high")
		s.start()
		s.report()
		s.wantPrio("after a restart", tapeapi.Recall, 25, "high")
		s.change("policy", "remove", "high")
		s.wantPrio("a policy that is gone", tapeapi.Recall, 1, "default")
		s.evicted("/single/g")
		s.stage(carol(), "/single/g", "")
		s.wantPrio("the rule as it is now", tapeapi.Recall, 30, "higher")
	})
}

// Jobs of before policies were stored are judged by their user, as the rules are now.
func TestJobsOfBefore(t *testing.T) {
	at(t, func(s *site) {
		withPolicies(s, "requester", "310001", "mountPolicy", "high")
		s.evicted("/single/f")
		s.evicted("/single/g")
		s.stage(carol(), "/single/f", "")
		f, err := s.tree.Tree.Stat(s.Context(), admin(), "/single/f")
		s.good(err)
		s.good(s.tree.Parts().Tapes.ChangeJob(s.Context(), tapeapi.JobKey{File: f.ID, Kind: tapeapi.Recall, Copy: 1}, func(j tapeapi.Job, _ time.Time) *tapeapi.Job {
			j.Policy = ""
			return &j
		}))
		s.start()
		s.report()
		s.wantPrio("of before", tapeapi.Recall, 20, "high")
		s.change("rule", "set", "r", "mountPolicy", "higher")
		s.wantPrio("of before, and the rule changed", tapeapi.Recall, 30, "higher")
		s.change("rule", "set", "r", "mountPolicy", "default")
		s.stage(carol(), "/single/g", "")
		s.wantPrio("both kinds", tapeapi.Recall, 1, "default")
		jobs := s.jobs(s.mount("d1", tapeapi.Recall))
		if len(jobs) != 2 || jobs[0].Policy != "" || jobs[1].Policy != "default" {
			t.Errorf("%+v", jobs)
		}
		s.arrives("/single/f")
		s.arrives("/single/g")
		if left, err := s.tree.Parts().Tapes.Queues(s.Context()); err != nil || len(left) != 0 {
			t.Errorf("%+v %v", left, err)
		}
	})
}

// Of two tapes the one goes first that the rule is for, though its file was asked for last.
func TestARuleDecidesAboutTheNextMount(t *testing.T) {
	at(t, func(s *site) {
		s.change("class", "add", "second", "nbCopies", "1", "vo", "default")
		s.change("route", "add", "second/1", "storageClass", "second", "copyNumber", "1", "tapepool", "second")
		withPolicies(s, "requester", "310001", "activityRegex", "reco", "mountPolicy", "high")
		_, err := s.tree.Tree.Mkdir(s.Context(), admin(), "/second", 0o777, true)
		s.good(err)
		s.good(s.tree.Tree.SetXattr(s.Context(), admin(), "/second", hemera.AttrStorageClass, []byte("second"), false))
		s.evicted("/single/f")
		s.evicted("/second/f")
		s.stage(carol(), "/single/f", "simulation")
		s.stage(carol(), "/second/f", "reco")
		m := s.mount("d1", tapeapi.Recall)
		if jobs := s.jobs(m); m.VID != "BBB001" || len(jobs) != 1 || jobs[0].Path != "/second/f" || jobs[0].Policy != "high" {
			t.Errorf("%+v %+v", m, jobs)
		}
	})
}

// A further request of a higher priority has the file go sooner; one of a lower priority changes nothing. It waits once.
func TestAMoreUrgentRequest(t *testing.T) {
	at(t, func(s *site) {
		withPolicies(s, "requester", "310001", "activityRegex", "reco", "mountPolicy", "high")
		s.evicted("/single/f")
		s.stage(carol(), "/single/f", "")
		s.wantPrio("first", tapeapi.Recall, 1, "default")
		s.stage(carol(), "/single/f", "reco")
		s.wantPrio("more urgent", tapeapi.Recall, 20, "high")
		s.stage(carol(), "/single/f", "")
		s.wantPrio("less urgent", tapeapi.Recall, 20, "high")
		m := s.mount("d1", tapeapi.Recall)
		jobs := s.jobs(m)
		if len(jobs) != 1 || jobs[0].Policy != "high" || jobs[0].Activity != "reco" {
			t.Fatalf("%+v", jobs)
		}
		// A drive has it already: what changes then does no harm.
		s.change("rule", "set", "r", "mountPolicy", "higher")
		s.stage(carol(), "/single/f", "reco")
		s.arrives("/single/f")
		s.good(s.tier.Results.TapeDone(s.Context(), server, tapeapi.Results{Mount: m.ID, VID: m.VID, Ended: true, Done: []tapeapi.JobKey{jobs[0].JobKey}}))
		if left, err := s.tree.Parts().Tapes.Queues(s.Context()); err != nil || len(left) != 0 {
			t.Errorf("%+v %v", left, err)
		}
	})
}
