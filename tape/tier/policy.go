package tier

import (
	"cmp"
	"slices"
	"time"

	"hemera/tape/catalogue"
	"hemera/tape/mounting"
	"hemera/tape/tapeconfig"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// A job gets its mount policy when it is queued, as all that rules ask for
// is known only then: groups and activity. The job keeps the name, so a policy
// that is changed later holds for jobs that wait, and a rule does not.
//
// Rules have names of users and groups, requests have their numbers. A job is
// queued within a transaction, which must not read files of the machine. So
// the names in rules are looked up beforehand: there are few rules.

// policies finds mount policies of jobs by settings.
type policies struct{ settings *tapeconfig.Settings }

// groupsOf returns all groups of a user, for mount rules.
func groupsOf(who hemera.Identity) []uint32 {
	return append(slices.Clone(who.Groups), who.GID)
}

// stored returns the policy that a job of a user names. Jobs of before policies were stored are judged by their user, and
// those whose policy was removed by the default.
func (t policies) stored(name string, kind tapeapi.JobKind, uid uint32) string {
	_, there := t.settings.Config.Policies[name]
	switch {
	case there:
		return name
	case name == "":
		return t.settings.PolicyOf(tapeconfig.Requester{Recall: kind == tapeapi.Recall, UID: uid})
	}
	return tapeconfig.DefaultName
}

// of names the policies of the jobs of a user in a queue.
func (t policies) of(q catalogue.Queue) []string {
	out := make([]string, len(q.Policies))
	for i, name := range q.Policies {
		out[i] = t.stored(name, q.Kind, q.UID)
	}
	return out
}

// byPriority returns the jobs of a user in their order as rules see them, those of the highest priority first. It sorts
// the jobs, too.
func (t policies) byPriority(jobs []tapeapi.Job) (out []mounting.Job) {
	known := map[string]int64{} // the jobs of one user and kind have few policies
	priority := func(j *tapeapi.Job) int64 {
		p, there := known[j.Policy]
		if !there {
			p, _ = t.urgency(t.stored(j.Policy, j.Kind, j.UID), j.Kind)
			known[j.Policy] = p
		}
		return p
	}
	// Mostly all have one policy, and are in their order already.
	if slices.ContainsFunc(jobs, func(j tapeapi.Job) bool { return j.Policy != jobs[0].Policy }) {
		slices.SortStableFunc(jobs, func(a, b tapeapi.Job) int { return cmp.Compare(priority(&b), priority(&a)) })
	}
	for i := range jobs {
		out = append(out, mounting.Job{Bytes: jobs[i].Size, Priority: priority(&jobs[i])})
	}
	return out
}

// sooner reports whether a mount policy has a higher priority than that of a
// job which waits.
func (t policies) sooner(policy string, waits *tapeapi.Job) bool {
	asked, _ := t.urgency(t.stored(policy, waits.Kind, waits.UID), waits.Kind)
	now, _ := t.urgency(t.stored(waits.Policy, waits.Kind, waits.UID), waits.Kind)
	return asked > now
}

// urgency returns the priority and the age of a mount policy for a kind of jobs.
func (t policies) urgency(policy string, kind tapeapi.JobKind) (int64, time.Duration) {
	p := t.settings.Config.Policies[policy]
	if kind == tapeapi.Archive {
		return p.ArchivePriority, p.ArchiveMinAge.Duration()
	}
	return p.RecallPriority, p.RecallMinAge.Duration()
}

// ofQueue returns the highest priority and the lowest age of the policies of a user's jobs.
func (t policies) ofQueue(q catalogue.Queue) (priority int64, age time.Duration) {
	for i, policy := range t.of(q) {
		high, low := t.urgency(policy, q.Kind)
		if i == 0 {
			priority, age = high, low
		}
		priority, age = max(priority, high), min(age, low)
	}
	return priority, age
}
