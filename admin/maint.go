package admin

import (
	"context"

	"hemera"
)

type fileRef struct {
	Ref    string // a path, fid:<dec> or fxid:<hex>
	Repair bool   `json:",omitempty"` // CheckFile only
}

type fsck struct {
	Repair bool `json:",omitempty"`
}

func (d *door) serveMaint() {
	maint(d, "Jobs", func(ctx context.Context, m hemera.MaintAdmin, _ *none) ([]hemera.JobStatus, error) {
		return m.Jobs(ctx)
	})
	maint(d, "FileInfo", func(ctx context.Context, m hemera.MaintAdmin, r *fileRef) (hemera.FileReport, error) {
		return m.FileInfo(ctx, r.Ref)
	})
	maint(d, "CheckFile", func(ctx context.Context, m hemera.MaintAdmin, r *fileRef) ([]hemera.PieceCheck, error) {
		return m.CheckFile(ctx, r.Ref, r.Repair)
	})
	maint(d, "Fsck", func(ctx context.Context, m hemera.MaintAdmin, r *fsck) (hemera.FsckReport, error) {
		return m.Fsck(ctx, r.Repair)
	})
}

func maint[Req, Res any](d *door, verb string, f func(context.Context, hemera.MaintAdmin, *Req) (Res, error)) {
	unary(d, verb, true, func(ctx context.Context, _ hemera.Identity, r *Req) (res Res, err error) {
		m, err := part(d.Maint, "maintenance")
		if err != nil {
			return res, err
		}
		return f(ctx, m, r)
	})
}

// Jobs implements hemera.MaintAdmin.
func (c *Client) Jobs(ctx context.Context) ([]hemera.JobStatus, error) {
	return call[[]hemera.JobStatus](ctx, c, "Jobs", none{})
}

// FileInfo implements hemera.MaintAdmin.
func (c *Client) FileInfo(ctx context.Context, ref string) (hemera.FileReport, error) {
	return call[hemera.FileReport](ctx, c, "FileInfo", fileRef{Ref: ref})
}

// CheckFile implements hemera.MaintAdmin.
func (c *Client) CheckFile(ctx context.Context, ref string, repair bool) ([]hemera.PieceCheck, error) {
	return call[[]hemera.PieceCheck](ctx, c, "CheckFile", fileRef{Ref: ref, Repair: repair})
}

// Fsck implements hemera.MaintAdmin.
func (c *Client) Fsck(ctx context.Context, repair bool) (hemera.FsckReport, error) {
	return call[hemera.FsckReport](ctx, c, "Fsck", fsck{repair})
}
