package admin

import (
	"context"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// fileRef is the request of verbs about one file: by path or by id.
type fileRef struct {
	Ref    string // a path, fid:<dec> or fxid:<hex>
	Repair bool   `json:",omitempty"` // CheckFile only
}

// diskFiles is the request for a page of the files of a disk.
type diskFiles struct {
	ID    hemera.DiskID // whose files
	After hemera.FileID // the last id of the page before; 0 begins
	Limit int           // files in the page; the service has a maximum of its own
}

// fsck is the request of Fsck.
// Repair asks that what can be put right is put right at once.
type fsck struct {
	Repair bool `json:",omitempty"`
}

// serveMaint serves jobs, checks and what is on disks. FileInfo is open to users; fileInfo hides what they may not see.
// CheckNamespace is a stream because a check of a large tree takes minutes: progress comes a few times a second,
// and a client that leaves ends the check.
func serveMaint(d *door) {
	maint(d, "Jobs", func(ctx context.Context, m hemera.MaintAdmin, _ *none) ([]hemera.JobStatus, error) {
		return m.Jobs(ctx)
	})
	unary(d, "FileInfo", false, func(ctx context.Context, who hemera.Identity, r *fileRef) (hemera.FileReport, error) {
		return fileInfo(ctx, d, who, r)
	})
	maint(d, "CheckFile", func(ctx context.Context, m hemera.MaintAdmin, r *fileRef) ([]hemera.PieceCheck, error) {
		return m.CheckFile(ctx, r.Ref, r.Repair)
	})
	maint(d, "DiskFiles", func(ctx context.Context, m hemera.MaintAdmin, r *diskFiles) (hemera.DiskFiles, error) {
		return m.DiskFiles(ctx, r.ID, r.After, r.Limit)
	})
	maint(d, "Fsck", func(ctx context.Context, m hemera.MaintAdmin, r *fsck) (hemera.FsckReport, error) {
		return m.Fsck(ctx, r.Repair)
	})
	stream(d, "CheckNamespace", true, func(ctx context.Context, _ hemera.Identity, _ *none, send func(*hemera.NamespaceCheck) error) error {
		m, err := part(d.Maint, "maintenance")
		if err != nil {
			return err
		}
		report, err := m.CheckNamespace(ctx, func(c hemera.NamespaceCheck) error { return send(&c) })
		if err != nil {
			return err
		}
		return send(&report)
	})
}

// maint serves a verb of hemera.MaintAdmin, for admins.
func maint[Req, Res any](d *door, verb string, f func(context.Context, hemera.MaintAdmin, *Req) (Res, error)) {
	unary(d, verb, true, func(ctx context.Context, _ hemera.Identity, r *Req) (res Res, err error) {
		m, err := part(d.Maint, "maintenance")
		if err != nil {
			return res, err
		}
		return f(ctx, m, r)
	})
}

// fileInfo tells users of what they can reach, and of disks what says where a piece is.
func fileInfo(ctx context.Context, d *door, who hemera.Identity, r *fileRef) (report hemera.FileReport, err error) {
	m, err := part(d.Maint, "maintenance")
	if err != nil {
		return report, err
	}
	report, err = m.FileInfo(ctx, who, r.Ref)
	if err != nil || who.Admin {
		return report, err
	}
	// Users see where a piece is and whether it can be read, but not how full or how busy the disk is.
	for i, p := range report.Pieces {
		report.Pieces[i].Disk = hemera.Disk{ID: p.Disk.ID, Node: p.Disk.Node, Path: p.Disk.Path, Space: p.Disk.Space, Group: p.Disk.Group,
			Zone: p.Disk.Zone, Config: p.Disk.Config, Health: p.Disk.Health, Active: p.Disk.Active}
	}
	return report, nil
}

// maintClient is the part of a [Client] that asks for jobs, checks and the files of disks.
type maintClient struct{ server *server }

// Jobs implements hemera.MaintAdmin.
func (c maintClient) Jobs(ctx context.Context) ([]hemera.JobStatus, error) {
	return call[[]hemera.JobStatus](ctx, c.server, "Jobs", none{})
}

// DiskFiles implements hemera.MaintAdmin.
func (c maintClient) DiskFiles(ctx context.Context, id hemera.DiskID, after hemera.FileID, limit int) (hemera.DiskFiles, error) {
	return call[hemera.DiskFiles](ctx, c.server, "DiskFiles", diskFiles{id, after, limit})
}

// FileInfo implements hemera.MaintAdmin.
func (c maintClient) FileInfo(ctx context.Context, _ hemera.Identity, ref string) (hemera.FileReport, error) {
	return call[hemera.FileReport](ctx, c.server, "FileInfo", fileRef{Ref: ref})
}

// CheckFile implements hemera.MaintAdmin.
func (c maintClient) CheckFile(ctx context.Context, ref string, repair bool) ([]hemera.PieceCheck, error) {
	return call[[]hemera.PieceCheck](ctx, c.server, "CheckFile", fileRef{Ref: ref, Repair: repair})
}

// Fsck implements hemera.MaintAdmin.
func (c maintClient) Fsck(ctx context.Context, repair bool) (hemera.FsckReport, error) {
	return call[hemera.FsckReport](ctx, c.server, "Fsck", fsck{repair})
}

// CheckNamespace implements hemera.MaintAdmin.
// The last report has Done set. A stream that ends without one is Unavailable: the server stopped, and nothing is
// proved.
func (c maintClient) CheckNamespace(ctx context.Context, progress func(hemera.NamespaceCheck) error) (last hemera.NamespaceCheck, err error) {
	err = receive(ctx, c.server, "CheckNamespace", none{}, func(r *hemera.NamespaceCheck) error {
		if last = *r; r.Done {
			return nil
		}
		return progress(*r)
	})
	if err == nil && !last.Done {
		err = errs.New(errs.Unavailable, "admin.CheckNamespace", "", "the server ended before the check did").
			WithRemedy("see the manager's log, then repeat the command")
	}
	return last, err
}
