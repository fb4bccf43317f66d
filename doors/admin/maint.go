package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// serveMaint serves jobs, checks and the content of disks. FileInfo is open to users; fileInfo leaves out what they may
// not see. CheckNamespace is a stream because a check of a large tree takes minutes: it reports progress a few times a
// second, and ends when the client leaves.
func serveMaint(d *door) {
	maint(d, "Jobs", func(ctx context.Context, m adminapi.MaintAdmin, _ *adminapi.None) ([]adminapi.JobStatus, error) {
		return m.Jobs(ctx)
	})
	unary(d, "FileInfo", false, func(ctx context.Context, who hemera.Identity, r *adminapi.FileRef) (adminapi.FileReport, error) {
		return fileInfo(ctx, d, who, r)
	})
	maint(d, "CheckFile", func(ctx context.Context, m adminapi.MaintAdmin, r *adminapi.FileRef) ([]adminapi.PieceCheck, error) {
		return m.CheckFile(ctx, r.Ref, r.Repair)
	})
	maint(d, "DiskFiles", func(ctx context.Context, m adminapi.MaintAdmin, r *adminapi.DiskFilesRequest) (adminapi.DiskFiles, error) {
		return m.DiskFiles(ctx, r.ID, r.After, r.Limit)
	})
	maint(d, "Fsck", func(ctx context.Context, m adminapi.MaintAdmin, r *adminapi.FsckRequest) (adminapi.FsckReport, error) {
		return m.Fsck(ctx, r.Repair)
	})
	stream(d, "CheckNamespace", true, func(ctx context.Context, _ hemera.Identity, _ *adminapi.None, send func(*adminapi.NamespaceCheck) error) error {
		m, err := part(d.Maint, "maintenance")
		if err != nil {
			return err
		}
		report, err := m.CheckNamespace(ctx, func(c adminapi.NamespaceCheck) error { return send(&c) })
		if err != nil {
			return err
		}
		return send(&report)
	})
}

// maint serves a verb of adminapi.MaintAdmin, for admins.
func maint[Req, Res any](d *door, verb string, f func(context.Context, adminapi.MaintAdmin, *Req) (Res, error)) {
	unary(d, verb, true, func(ctx context.Context, _ hemera.Identity, r *Req) (res Res, err error) {
		m, err := part(d.Maint, "maintenance")
		if err != nil {
			return res, err
		}
		return f(ctx, m, r)
	})
}

// fileInfo returns the report of a file. For users it has only files that they can reach, and only the fields of disks
// that say where a piece is.
func fileInfo(ctx context.Context, d *door, who hemera.Identity, r *adminapi.FileRef) (report adminapi.FileReport, err error) {
	m, err := part(d.Maint, "maintenance")
	if err != nil {
		return report, err
	}
	report, err = m.FileInfo(ctx, who, r.Ref)
	if err != nil || who.Admin {
		return report, err
	}
	// Users see where a piece is and whether it can be read, but not the use or the load of the disk.
	for i, p := range report.Pieces {
		report.Pieces[i].Disk = hemera.Disk{ID: p.Disk.ID, Node: p.Disk.Node, Path: p.Disk.Path, Space: p.Disk.Space,
			Zone: p.Disk.Zone, Config: p.Disk.Config, Health: p.Disk.Health, Active: p.Disk.Active}
	}
	return report, nil
}
