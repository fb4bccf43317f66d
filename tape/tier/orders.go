package tier

import (
	"context"
	"fmt"
	"time"

	"hemera/tape/catalogue"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Orders are durable when they are answered, so a restart forgets none.
// Labels, repacks and verifications are written to the record of their tape
// (tasks.go); scans have records of their own (scanrecord.go), as their tape
// need not be in the catalogue. What is done at once leaves no record.

// orderer does what admins order once.
type orderer struct {
	env     *env
	scanner *scanner
	tasks   *tasker
	jobs    *jobList
}

// OrderTape implements adminapi.TapeAdmin. It returns what was done, in
// words.
func (t *orderer) OrderTape(ctx context.Context, who string, o adminapi.TapeOrder) (string, error) {
	switch o.Kind {
	case adminapi.OrderLabel:
		return t.orderLabel(ctx, who, o)
	case adminapi.OrderReclaim:
		return t.orderReclaim(ctx, o)
	case adminapi.OrderRepack, adminapi.OrderCheck:
		return t.tasks.orderTask(ctx, who, o)
	case adminapi.OrderCopies:
		return t.tasks.orderCopies(ctx, o)
	case adminapi.OrderStopTape:
		return t.tasks.orderStop(ctx, who, o)
	case adminapi.OrderScan:
		return t.scanner.Order(ctx, who, o)
	case adminapi.OrderUndelete:
		return t.scanner.Undelete(ctx, who, o)
	case adminapi.OrderRetry, adminapi.OrderForget:
		return t.orderFailed(ctx, o)
	}
	return "", errs.New(errs.Unsupported, "tier.Order", string(o.Kind), "there is no such order for tapes")
}

// orderLabel has a tape labelled. A tape with files is not: its label
// goes with a reclaim.
func (t *orderer) orderLabel(ctx context.Context, who string, o adminapi.TapeOrder) (string, error) {
	tape, err := t.env.tape(ctx, hemera.VID(o.Subject))
	if err != nil {
		return "", err
	}
	order := tapeapi.Relabel{By: who, Asked: t.env.now(), Force: o.Force}
	refused := func(tape *tapeapi.Tape) error {
		if o.Force && tape.Unscanned != "" {
			return errs.New(errs.Conflict, "tier.Label", o.Subject, "the tape is not labelled by force: "+tape.Unscanned).WithRemedy("scan it first: `hemera tape scan " + o.Subject + "`")
		}
		if tape.LastFSeq == 0 {
			return nil
		}
		return errs.New(errs.NotEmpty, "tier.Label", o.Subject, "the catalogue knows files on the tape").WithRemedy("repack and reclaim it first")
	}
	if o.DryRun {
		return "the tape would be labelled by the next drive of its library that has nothing to do", refused(&tape)
	}
	err = t.env.catalogue.ChangeTape(ctx, hemera.VID(o.Subject), func(old *tapeapi.Tape) (*tapeapi.Tape, error) {
		if old == nil {
			return nil, errs.New(errs.NotFound, "tier.Label", o.Subject, "the tape is not in the catalogue")
		}
		now := *old
		now.Relabel, now.Unscanned = &order, tape.Unscanned
		return &now, refused(&now)
	})
	if err != nil {
		return "", err
	}
	t.env.wake.ring()
	return "the next drive of its library that has nothing to do labels the tape", nil
}

// orderReclaim has a full tape without files written from its beginning
// again.
func (t *orderer) orderReclaim(ctx context.Context, o adminapi.TapeOrder) (string, error) {
	tape, err := t.env.tape(ctx, hemera.VID(o.Subject))
	if err != nil {
		return "", err
	}
	if o.DryRun {
		return fmt.Sprintf("the tape has %d files of the tree; %d tape files would be forgotten, %d of them without a removal that is known", tape.Files, tape.LastFSeq, tape.Inferred), nil
	}
	if err := t.env.catalogue.Reclaim(ctx, hemera.VID(o.Subject), o.Lose); err != nil {
		return "", err
	}
	t.env.wake.ring()
	return "the tape is empty, and written from its beginning again", nil
}

// orderFailed has failed jobs tried again, or forgotten: those of one
// queue, or all.
func (t *orderer) orderFailed(ctx context.Context, o adminapi.TapeOrder) (string, error) {
	if _, _, held := catalogue.HeldBy(o.Subject); held && o.Kind == adminapi.OrderRetry {
		return "", errs.New(errs.Invalid, "tier.Retry", o.Subject, "its files are queued by themselves once a tape pool takes them").
			WithRemedy("`hemera tape status` says what to do for that")
	}
	// Nothing but a change of the configuration helps what is held, and a page
	// of it would keep others from being tried again.
	jobs, err := t.jobs.jobs(ctx, adminapi.TapeJobQuery{Queue: o.Subject, Failed: true}, o.Kind != adminapi.OrderRetry)
	if err != nil {
		return "", err
	}
	// At most a page of them: who has more repeats the order.
	for _, j := range jobs {
		if o.DryRun {
			continue
		}
		err := t.env.catalogue.ChangeJob(ctx, j.JobKey, func(j tapeapi.Job, _ time.Time) *tapeapi.Job {
			if o.Kind == adminapi.OrderForget {
				return nil
			}
			j.Failed, j.Attempts, j.After = false, 0, time.Time{}
			return &j
		})
		if err != nil {
			return "", err
		}
	}
	t.env.wake.ring()
	return fmt.Sprintf("%d jobs", len(jobs)), nil
}
