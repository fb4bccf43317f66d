package tier

import (
	"context"

	"hemera/platform/fairshare"
	"hemera/words/errs"
)

// Tier is the tape tier as the manager has it. Its methods may be called from
// any goroutine; each is done by the part that it names.
type Tier struct {
	configurer *configurer // configuration, tapes, keys
	servers    *servers    // who may report, and what is reported
	dispatcher *dispatcher // what drives do next
	giver      *giver      // jobs for mounts
	recorder   *recorder   // what mounts did
	stager     *stager     // files to disk and away, for users
	reporter   *reporter   // what people see
	jobs       *jobList
	orderer    *orderer // what admins order once
	sweeper    *sweeper // what time does
}

// Open reads the configuration; a system that has none gets one that
// archives without any set-up.
func Open(ctx context.Context, o Options) (*Tier, error) {
	if o.Turns == nil {
		o.Turns = fairshare.New()
	}
	e := &env{o, o.Tree.Tapes, &bell{rung: make(chan struct{})}}
	set, err := openSettings(ctx, e.catalogue)
	if err != nil {
		return nil, err
	}
	records, err := e.catalogue.Scans(ctx)
	if err != nil {
		return nil, err
	}
	ss, err := readScans(records, e.now)
	if err != nil {
		return nil, err
	}
	given, err := readIssued(ctx, e.catalogue)
	if err != nil {
		return nil, err
	}
	ls := newLibraries(o.Now)
	disks := &diskCopies{env: e, settings: set, libraries: ls, returned: returned{}}
	if err := disks.noteReturned(ctx); err != nil {
		return nil, errs.Wrap(err, "tier.Open", "")
	}
	stored, err := e.catalogue.Stages(ctx)
	if err != nil {
		return nil, errs.Wrap(err, "tier.Open", "")
	}
	stages, ms := newStages(stored), newMounts(e, ls, set)
	inv := &inventory{e, set, ls}
	jobs, recalls := &jobList{e}, &recalls{e, set, ls}
	scanner := &scanner{e, set, ls, ss, inv}
	reporter := &reporter{e, ms, ss, inv, disks}
	tasks := &tasker{e, set, ls, inv, scanner, recalls, reporter}
	configurer := &configurer{e, set, ls, disks, recalls, jobs}
	return &Tier{
		configurer: configurer,
		servers:    &servers{e, set, ls, ms, configurer},
		dispatcher: &dispatcher{e, inv, ls, ms, ss, given},
		giver:      &giver{e, inv, ms, recalls},
		recorder:   &recorder{e, set, ls, ms, given, scanner, disks, recalls},
		stager:     &stager{e, set, stages, recalls, disks, reporter},
		reporter:   reporter,
		jobs:       jobs,
		orderer:    &orderer{e, scanner, tasks, jobs},
		sweeper:    &sweeper{e, set, ls, ms, given, stages, scanner, disks, tasks, &releasing{env: e}, newCollector(e, set, disks)},
	}, nil
}
