package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Maint has the calls for jobs, checks and the files of disks. It implements adminapi.MaintAdmin.
type Maint struct{ server *server }

// Jobs implements adminapi.MaintAdmin.
func (c Maint) Jobs(ctx context.Context) ([]adminapi.JobStatus, error) {
	return call[[]adminapi.JobStatus](ctx, c.server, "Jobs", adminapi.None{})
}

// DiskFiles implements adminapi.MaintAdmin.
func (c Maint) DiskFiles(ctx context.Context, id hemera.DiskID, after hemera.FileID, limit int) (adminapi.DiskFiles, error) {
	return call[adminapi.DiskFiles](ctx, c.server, "DiskFiles", adminapi.DiskFilesRequest{ID: id, After: after, Limit: limit})
}

// FileInfo implements adminapi.MaintAdmin.
func (c Maint) FileInfo(ctx context.Context, _ hemera.Identity, ref string) (adminapi.FileReport, error) {
	return call[adminapi.FileReport](ctx, c.server, "FileInfo", adminapi.FileRef{Ref: ref})
}

// CheckFile implements adminapi.MaintAdmin.
func (c Maint) CheckFile(ctx context.Context, ref string, repair bool) ([]adminapi.PieceCheck, error) {
	return call[[]adminapi.PieceCheck](ctx, c.server, "CheckFile", adminapi.FileRef{Ref: ref, Repair: repair})
}

// Fsck implements adminapi.MaintAdmin.
func (c Maint) Fsck(ctx context.Context, repair bool) (adminapi.FsckReport, error) {
	return call[adminapi.FsckReport](ctx, c.server, "Fsck", adminapi.FsckRequest{Repair: repair})
}

// CheckNamespace implements adminapi.MaintAdmin. The last report has Done set. If the stream ends without it,
// CheckNamespace fails with Unavailable: the server stopped, and nothing is proved.
func (c Maint) CheckNamespace(ctx context.Context, progress func(adminapi.NamespaceCheck) error) (last adminapi.NamespaceCheck, err error) {
	err = receive(ctx, c.server, "CheckNamespace", adminapi.None{}, func(r *adminapi.NamespaceCheck) error {
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
