package tapeconfig

import (
	"fmt"
	"regexp"
	"slices"

	"hemera/words/errs"
	"hemera/words/tapeapi"
)

// Destination is the pool and the number of a copy of a file.
type Destination struct {
	Copy uint8
	Pool tapeapi.PoolName
}

// Resolve returns the pool of each copy of a class, by number. Repack is for files that a repack writes. NotFound if there is no such class;
// Invalid if a copy has no route: then nothing of the class can be archived.
func (c Config) Resolve(class string, repack bool) ([]Destination, error) {
	const op = "tapeconfig.Resolve"
	cl, there := c.Classes[class]
	if !there {
		return nil, errs.New(errs.NotFound, op, class, "there is no such storage class").
			WithRemedy("add it: hemera tape class add " + class + " nbCopies=1, or name another in sys.archive.storage_class")
	}
	// A class with one route missing resolves to nothing: half of the copies would look archived.
	var list []Destination
	for n := int64(1); n <= cl.Copies; n++ {
		r, there := c.Routes[Route{Class: class, Copy: n, Type: RouteRepack}.Name()]
		if !there || !repack {
			r, there = c.Routes[Route{Class: class, Copy: n, Type: RouteDefault}.Name()]
		}
		if !there {
			return nil, errs.New(errs.Invalid, op, class, fmt.Sprintf("copy %d of %d of the storage class has no archive route", n, cl.Copies)).
				WithRemedy(fmt.Sprintf("add it: hemera tape route add %s/%d tapepool=POOL", class, n))
		}
		list = append(list, Destination{uint8(n), r.Pool})
	}
	return list, nil
}

// Admit says why a file of a class and size is not archived, nil if it is. TooLarge if its organisation takes no files of the size.
func (c Config) Admit(class string, size int64) error {
	if _, err := c.Resolve(class, false); err != nil {
		return err
	}
	// The limit is the organisation's: one file must fit on its tapes.
	name := c.Classes[class].Organisation
	if most := int64(c.Organisations[name].MaxFileSize); most > 0 && size > most {
		return errs.New(errs.TooLarge, "tapeconfig.Admit", class,
			fmt.Sprintf("the file has %d bytes, organisation %s takes %d at most", size, name, most)).
			WithRemedy("raise the limit: hemera tape organisation set " + name + " maxFileSize=SIZE")
	}
	return nil
}

// Request has the fields that decide which mount policy a request gets.
type Request struct {
	User     string
	Groups   []string
	Activity string
	Recall   bool
	Policy   string // that the request names itself, "" for none
}

// PolicyOf returns the mount policy of a request and the rule that decided, in words. In this order: the policy that the request names; of
// recalls a rule for the user and the activity, the one with the highest recall priority; a rule for the user; for one of the groups; for
// everybody; the policy [DefaultName].
func (c Config) PolicyOf(r Request) (policy, why string) {
	// A policy that was removed since is passed over.
	if _, there := c.Policies[r.Policy]; there {
		return r.Policy, "the request names policy " + r.Policy
	}
	// found returns the rule that a step takes, of several the one with the highest recall priority.
	found := func(is func(Rule) bool) (string, bool) {
		best := ""
		for _, name := range sortedNames(c.Rules) {
			if is(c.Rules[name]) && (best == "" || c.Policies[c.Rules[name].Policy].RecallPriority > c.Policies[c.Rules[best].Policy].RecallPriority) {
				best = name
			}
		}
		return best, best != ""
	}
	// The order is that of CTA: what says most about the request goes first.
	steps := []func(Rule) bool{
		func(one Rule) bool {
			return r.Recall && one.Requester == r.User && one.Activity != "" && matches(one.Activity, r.Activity)
		},
		func(one Rule) bool { return one.Activity == "" && one.Requester != "" && one.Requester == r.User },
		func(one Rule) bool { return one.Group != "" && slices.Contains(r.Groups, one.Group) },
		func(one Rule) bool { return one.Activity == "" && one.Requester == DefaultName },
	}
	for _, step := range steps {
		if name, is := found(step); is {
			return c.Rules[name].Policy, "rule " + name
		}
	}
	return DefaultName, "no rule is for the request"
}

// matches reports whether an activity fits. A request without one fits no rule for activities.
func matches(pattern, activity string) bool {
	// A pattern such as .* is for activities that were named.
	if activity == "" {
		return false
	}
	// The pattern was compiled when the rule was made; rules are few.
	is, err := regexp.MatchString(pattern, activity)
	return err == nil && is
}
