package server

import (
	"context"
	"errors"
	"math"
	"time"

	"hemera/tape/device"
	"hemera/tape/session"
	"hemera/tape/volume"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// work does what a mount is for, and reports its end.
func (d *drive) work(ctx context.Context, m tapeapi.Mount) outcome {
	k := desk{d, m}
	begun := d.server.o.Now()
	// It has reported what it did on the way; what it returns is the end.
	r, err := d.session(ctx, k)
	if err == nil {
		err = ctx.Err() // a session that the end of the server cut short
	}
	x := d.judge(ctx, err, "tape "+string(m.VID)+" could not be "+map[bool]string{true: "written", false: "read"}[m.Job == tapeapi.Archive || m.Kind == tapeapi.MountLabel]+" in")
	d.carried(&r.Session)
	if errors.As(err, new(lost)) { // nobody waits for the end
		return x
	}
	r.Ended = true
	k.sign(&r.Session, begun, x.problem)
	r.Session.Ended = d.server.o.Now()
	if x.bad {
		r.Problem, r.Cause = x.problem, x.cause
	}
	if errors.Is(err, volume.ErrUnscanned) {
		r.Unscanned = errs.Reason(err, string(m.VID))
	}
	// Without an answer the manager ends the mount itself when the drive asks again.
	if err := k.done(ctx, r); err != nil && x.fault == noFault {
		x = outcome{fault: askFault}
	}
	return x
}

// carried adds to the figures of a session what was waited for before it began.
func (d *drive) carried(s *tapeapi.Session) {
	s.Robot += d.robotTime
	s.Tape += d.loadTime
	d.robotTime, d.loadTime = 0, 0
}

// session runs what the mount is for. It returns what is left to be reported.
func (d *drive) session(ctx context.Context, k desk) (r tapeapi.Results, err error) {
	if k.mount.Kind == tapeapi.MountLabel {
		// VOL1 has to be readable by every drive, and by people without the key.
		if err := d.useKey(ctx, tapeapi.Key{}); err != nil {
			return r, err
		}
		l := volume.Label{VID: string(k.mount.VID), Protected: k.mount.Labels.Protected, Force: k.mount.Labels.Force}
		d.volume = nil
		err := volume.Format(ctx, d.loaded, l, d.writer())
		r.Labelled = err == nil
		return r, err
	}
	v, err := d.open(ctx, k.mount.VID)
	if errs.KindOf(err) == errs.Corrupt && k.mount.Kind == tapeapi.MountScan {
		// A new cartridge has no label to open it by, which is no fault of it.
		if c, _ := volume.Inspect(ctx, d.loaded); c.Blank {
			return tapeapi.Results{Scan: &tapeapi.ScanResults{Complete: true, Blank: true}}, nil
		}
	}
	if err != nil {
		return r, err
	}
	// After an error the label is read again: whatever went before, it says which tape this is.
	defer func() {
		if err != nil {
			d.volume = nil
		}
	}()
	// The label itself is never encrypted, so that every drive can tell which tape it is.
	if err := d.useKey(ctx, k.mount.Labels.Key); err != nil {
		return r, err
	}
	defer d.forgetKey(ctx)
	if k.mount.Kind == tapeapi.MountScan {
		return r, k.scan(ctx, v, &r.Session)
	}
	return r, d.transfer(ctx, k, v, &r.Session)
}

// open verifies the label of the tape. One that stayed in the drive since it was verified is not rewound for that.
func (d *drive) open(ctx context.Context, vid hemera.VID) (v *volume.Volume, err error) {
	if d.volume.Is(d.loaded, string(vid)) {
		return d.volume, nil
	}
	d.volume, err = volume.Open(ctx, d.loaded, string(vid), d.writer())
	return d.volume, err
}

// transfer archives, recalls or verifies.
func (d *drive) transfer(ctx context.Context, k desk, v *volume.Volume, figures *tapeapi.Session) (err error) {
	o := &d.server.o
	begun := o.Now()
	// A session may end its own context and still report; only the end of the server ends its reports.
	paper := journal(func(r tapeapi.Results) error {
		k.sign(&r.Session, begun, "")
		return k.done(ctx, r)
	})
	// Nil where the drive counts nothing.
	monitor, _ := device.Feature[device.Monitor](d.loaded)
	var onTheWay func() time.Duration
	if t, ok := o.Files.(transit); ok {
		onTheWay = t.OnTheWay
	}
	shown := time.Time{}
	common := session.Common{Limits: o.Limits, Now: o.Now, Monitor: monitor, OnTheWay: onTheWay, Panics: o.Panics, Progress: func(s tapeapi.Session) {
		k.sign(&s, begun, "")
		d.progress(ctx, s, &shown)
	}}
	switch k.mount.Job {
	case tapeapi.Archive:
		labels := k.mount.Labels
		known := volume.Known{Last: volume.Last{FSeq: labels.LastFSeq, ArchiveID: labels.LastID},
			Reclaimed: volume.Last{FSeq: labels.ReclaimedFSeq, ArchiveID: labels.ReclaimedID}}
		*figures, err = session.Archive(ctx, session.ArchiveOptions{Volume: v, Known: known, Jobs: k, Source: files{k, o.Files}, Journal: paper, Common: common})
	// A verification is a recall that is written nowhere.
	case tapeapi.Recall, tapeapi.Verify:
		*figures, err = session.Recall(ctx, session.RecallOptions{Volume: v, Jobs: &recalls{desk: k, tape: d.loaded}, Sink: files{k, o.Files}, Journal: paper, Common: common})
	default:
		err = k.refuse(ctx)
	}
	return err
}

// refuse reports the jobs of a mount as failed: no session of this version does such work. The manager stops giving them out after some attempts.
func (k desk) refuse(ctx context.Context) error {
	const page = 1000
	for {
		jobs, _, err := k.Next(ctx, page, math.MaxInt64)
		if err != nil || len(jobs) == 0 {
			return err
		}
		var r tapeapi.Results
		for _, j := range jobs {
			r.Failed = append(r.Failed, tapeapi.Failure{Job: j.JobKey, Error: "this tape server cannot " + k.mount.Job.String()})
		}
		if err := k.done(ctx, r); err != nil {
			return err
		}
	}
}

// useKey has the drive encrypt and decrypt with the key of a mount; without one it writes in clear, whatever an earlier mount has left. What cannot
// be set fails as Unavailable: it is the drive's fault, and nothing is written.
func (d *drive) useKey(ctx context.Context, key tapeapi.Key) error {
	e, ok := device.Feature[device.Encrypter](d.loaded)
	switch {
	// The manager gives no such mount by itself; that it did is no fault of the drive.
	case key.Name != "" && len(key.Secret) == 0:
		return errs.New(errs.Invalid, "tape.Encrypt", d.Name, "the mount came without the secret of encryption key "+key.Name).
			WithRemedy("bring the key back: hemera tape key add " + key.Name + " --from FILE")
	// Of all work for this pool the drive can do none, so another one is to take it.
	case !ok && key.Name != "":
		return errs.New(errs.Unavailable, "tape.Encrypt", d.Name, "the tape needs encryption key "+key.Name+", and this drive cannot encrypt").
			WithRemedy("put the drive down, so that another one takes the tapes of this pool")
	case !ok:
		return nil
	// A drive that cannot say that it writes in clear is not used: a block with a forgotten key is lost.
	case key.Name == "":
		return errs.As(e.ClearKey(ctx), errs.Unavailable, "tape.Encrypt", d.Name)
	}
	return errs.As(e.SetKey(ctx, device.Key{Secret: key.Secret, Name: key.Name}), errs.Unavailable, "tape.Encrypt", d.Name)
}

// forgetKey clears the key at the end of a mount. If that fails, the next mount, or the unload, does it.
func (d *drive) forgetKey(ctx context.Context) {
	_ = d.useKey(context.WithoutCancel(ctx), tapeapi.Key{})
}

// journal is a session.Journal.
type journal func(tapeapi.Results) error

// Report implements session.Journal.
func (j journal) Report(_ context.Context, r tapeapi.Results) error { return j(r) }

// writer names this drive and its host for labels.
func (d *drive) writer() volume.Writer {
	// Site is left out: labels then say NONE, which every reader of the format takes.
	o := &d.server.o
	return volume.Writer{Host: o.Host, System: "HEMERA " + o.Version, Drive: d.Identity(), Owner: "HEMERA", Now: o.Now}
}
