package tape

import (
	"context"
	"errors"

	"hemera"
	"hemera/core/tape/volume"
	"hemera/errs"
)

// work does what a mount is for, and reports its end.
func (d *drive) work(ctx context.Context, m hemera.TapeMount) outcome {
	k := desk{d, m}
	begun := d.server.o.Now()
	r, err := d.session(ctx, k)
	if err == nil {
		err = ctx.Err()
	}
	x := d.judge(ctx, err, "work on "+m.VID)
	if errors.As(err, new(lost)) { // nobody waits for the end
		return x
	}
	r.Ended = true
	r.Session.Mount, r.Session.Kind, r.Session.VID, r.Session.Drive = m.ID, m.Job, m.VID, d.Name
	r.Session.Begun, r.Session.Ended, r.Session.Error = begun, d.server.o.Now(), x.problem
	if x.bad {
		r.Problem = x.problem
	}
	if err := k.done(ctx, r); err != nil && x.fault == noFault {
		x = outcome{fault: askFault}
	}
	return x
}

// session runs what the mount is for. It returns what is left to be reported.
func (d *drive) session(ctx context.Context, k desk) (r hemera.TapeResults, err error) {
	if k.mount.Kind == hemera.MountLabel {
		l := volume.Label{VID: k.mount.VID, Protected: k.mount.Labels.Protected, Force: k.mount.Labels.Force}
		if err := volume.Format(ctx, d.loaded, l, d.writer()); err != nil {
			return r, err
		}
		r.Labelled = true
		return r, nil
	}
	v, err := volume.Open(ctx, d.loaded, k.mount.VID, d.writer())
	if err != nil {
		return r, err
	}
	if k.mount.Kind == hemera.MountScan {
		return r, k.scan(ctx, v)
	}
	return r, errs.New(errs.Unsupported, "tape.Work", k.mount.VID, "no session does such work")
}

// writer is what labels say of this drive.
func (d *drive) writer() volume.Writer {
	o := &d.server.o
	return volume.Writer{Host: o.Host, System: "HEMERA " + o.Version, Drive: d.Identity(), Owner: "HEMERA", Now: o.Now}
}
