package server

import (
	"context"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// desk reports for a mount to the manager, and asks it for work.
type desk struct {
	d     *drive
	mount tapeapi.Mount
}

// reportPauseMax is the longest pause between two attempts: a manager that starts again is found soon.
const reportPauseMax = 10 * time.Second

// lost is an error of a call after which nothing more of the mount counts: it has another owner, or none.
type lost struct{ error }

// Unwrap returns what the manager said.
func (l lost) Unwrap() error { return l.error }

// done reports what the mount did, again and again until the answer is known. An error is a [lost]: the manager has not taken the report and
// never will, or the server stops.
func (k desk) done(ctx context.Context, r tapeapi.Results) error {
	// Sessions and scans fill in the rest.
	r.Mount, r.VID, r.Key = k.mount.ID, k.mount.VID, k.mount.Labels.Key.Name
	o := &k.d.server.o
	// The context of reports outlives that of the server for a moment.
	// What is on tape is worth a last attempt when the server stops.
	stop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		t := time.AfterFunc(o.LastReports, cancel)
		context.AfterFunc(stop, func() { t.Stop() })
	})()
	for try := 1; ; try++ {
		// The lease may be a new one since the last attempt: a manager that knows the mount takes the report all the same.
		node, epoch := k.d.server.lease(stop)
		err := noLease(k.mount.VID)
		if epoch != 0 {
			var seen []byte
			seen, err = o.Control.TapeDone(stop, node, epoch, r)
			o.Saw(seen)
		}
		if err == nil {
			return nil
		}
		// Fenced, NotFound or Conflict: what was written since the last report is void, and the next append overwrites it.
		if !asksAgain(err) || stop.Err() != nil {
			return lost{err}
		}
		o.Log.Info("the manager did not answer a tape drive's report", "drive", k.d.Name, "mount", k.mount.ID, "error", err)
		if err := o.Sleep(stop, backoff(try, reportPauseMax)); err != nil {
			return lost{err}
		}
	}
}

// sign says whose figures they are.
func (k desk) sign(s *tapeapi.Session, begun time.Time, problem string) {
	s.Mount, s.Kind, s.VID, s.Drive = k.mount.ID, k.mount.Job, k.mount.VID, k.d.Name
	switch k.mount.Kind {
	case tapeapi.MountScan:
		s.Kind = tapeapi.Scanning
	case tapeapi.MountLabel:
		s.Kind = tapeapi.Labelling
	}
	if k.mount.ReadBack {
		s.Kind = tapeapi.ReadBack
	}
	s.Begun, s.Error = begun, problem
}

// jobsTries is the number of times that a mount asks for jobs before it ends: longer than a manager takes to start.
const jobsTries = 8

// Next implements session.Jobs.
func (k desk) Next(ctx context.Context, files int, bytes int64) (jobs []tapeapi.Work, last bool, err error) {
	o := &k.d.server.o
	for try := 1; ; try++ {
		node, epoch := o.Node()
		var r tapeapi.JobsReply
		if err = noLease(k.mount.VID); epoch != 0 {
			r, err = o.Control.TapeJobs(ctx, node, epoch, tapeapi.JobsRequest{Mount: k.mount.ID, Files: files, Bytes: bytes})
		}
		// Jobs of an answer that was lost stay with the mount until it ends, and are given out again then.
		switch {
		case err == nil:
			return r.Jobs, r.Last, nil
		case ctx.Err() != nil:
			return nil, true, errs.Wrap(ctx.Err(), "tape.Jobs", string(k.mount.VID))
		case !asksAgain(err) || try == jobsTries:
			return nil, true, lost{err}
		}
		if err := o.Sleep(ctx, backoff(try, reportPauseMax)); err != nil {
			return nil, true, err
		}
	}
}

// grant asks for the permission to read or write a file. NotFound and Conflict: the job is void.
func (k desk) grant(ctx context.Context, job tapeapi.Work) (tapeapi.Grant, error) {
	o := &k.d.server.o
	node, epoch := o.Node()
	// Not tried again here: the job fails, and the manager gives it out again later.
	if epoch == 0 {
		return tapeapi.Grant{}, noLease(k.mount.VID)
	}
	return o.Control.TapeGrant(ctx, node, epoch, k.mount.ID, job.JobKey)
}

// noLease returns the error of calls while the node has no lease.
func noLease(vid hemera.VID) error {
	return errs.New(errs.Unavailable, "tape.Call", string(vid), "the node has no lease")
}

// asksAgain reports whether the outcome of a call is not known, or may be another one soon.
func asksAgain(err error) bool {
	switch errs.KindOf(err) {
	// Internal and IO are faults of the manager's own: it says them when its store fails, which passes or is repaired.
	case errs.Timeout, errs.Unavailable, errs.Overloaded, errs.Cancelled, errs.Internal, errs.IO:
		return true
	}
	return false
}

// cancel reports the end of a mount that could not begin. The manager puts a bad tape aside.
func (k desk) cancel(ctx context.Context, problem string, bad bool) {
	// The session has no length: it only says what went wrong.
	now := k.d.server.o.Now()
	r := tapeapi.Results{Ended: true}
	k.sign(&r.Session, now, problem)
	r.Session.Ended = now
	k.d.carried(&r.Session)
	if bad {
		r.Problem = problem
	}
	if err := k.done(ctx, r); err != nil && ctx.Err() == nil {
		k.d.server.o.Log.Info("the manager does not know of a mount that failed", "mount", k.mount.ID, "error", err)
	}
}
