package tier

import (
	"context"

	"hemera/platform/fairshare"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Tier is the tape tier, as named services over shared state. Their methods may be called from any goroutine.
type Tier struct {
	Admin   Admin       // what an admin's tape commands need
	Config  *configurer // configuration, tapes, keys
	Servers *servers    // who may report, and what is reported
	Drives  *dispatcher // what drives do next
	Jobs    *giver      // jobs for mounts
	Results *recorder   // what mounts did
	Stager  *stager     // files to disk and away, for users
	Reports *reporter   // what people see
	Queue   *jobList    // files and jobs of tapes
	Orders  *orderer    // what admins order once
	Copies  *diskCopies // copies on disk of what is on tape, and copies that were not read back yet
	Sweeper *sweeper    // what time does
}

// Admin is the services that the admin API has as one; it implements adminapi.TapeAdmin. Each interface names what it takes of one service.
type Admin struct {
	changer
	fileLister
	shower
	taker
	tapeLister
}

type (
	changer interface {
		TapeConfig(ctx context.Context) ([]byte, error)
		ChangeTape(ctx context.Context, who string, c adminapi.TapeChange) error
	}
	fileLister interface {
		TapeFiles(ctx context.Context, vid hemera.VID, after uint64, dead bool) ([]tapeapi.File, error)
		TapeJobList(ctx context.Context, q adminapi.TapeJobQuery) ([]tapeapi.Work, error)
	}
	shower interface {
		TapePicture(ctx context.Context) (adminapi.TapePicture, error)
		ExplainTape(ctx context.Context, subject string) ([]string, error)
	}
	taker interface {
		OrderTape(ctx context.Context, who string, o adminapi.TapeOrder) (string, error)
	}
	tapeLister interface {
		Tapes(ctx context.Context) ([]tapeapi.Tape, error)
	}
)

var (
	_ adminapi.TapeAdmin    = Admin{}
	_ adminapi.TapeKeys     = (*configurer)(nil)
	_ adminapi.TapeSessions = (*reporter)(nil)
	_ tapeapi.Staging       = (*stager)(nil)
)

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
	orderer := &orderer{e, scanner, tasks, jobs}
	return &Tier{
		Admin:   Admin{configurer, jobs, reporter, orderer, tasks},
		Config:  configurer,
		Servers: &servers{e, set, ls, ms, configurer},
		Drives:  &dispatcher{e, inv, ls, ms, ss, given},
		Jobs:    &giver{e, inv, ms, recalls},
		Results: &recorder{e, set, ls, ms, given, scanner, disks, recalls},
		Stager:  &stager{e, set, stages, recalls, disks, reporter},
		Reports: reporter,
		Queue:   jobs,
		Orders:  orderer,
		Copies:  disks,
		Sweeper: &sweeper{e, set, ls, ms, given, stages, scanner, disks, tasks, &releasing{env: e}, newCollector(e, set, disks)},
	}, nil
}
