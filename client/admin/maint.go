package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Maint asks for jobs, checks and the files of disks. It implements hemera.MaintAdmin.
type Maint struct{ server *server }

// Jobs implements hemera.MaintAdmin.
func (c Maint) Jobs(ctx context.Context) ([]hemera.JobStatus, error) {
	return call[[]hemera.JobStatus](ctx, c.server, "Jobs", adminapi.None{})
}

// DiskFiles implements hemera.MaintAdmin.
func (c Maint) DiskFiles(ctx context.Context, id hemera.DiskID, after hemera.FileID, limit int) (hemera.DiskFiles, error) {
	return call[hemera.DiskFiles](ctx, c.server, "DiskFiles", adminapi.DiskFilesRequest{ID: id, After: after, Limit: limit})
}

// FileInfo implements hemera.MaintAdmin.
func (c Maint) FileInfo(ctx context.Context, _ hemera.Identity, ref string) (hemera.FileReport, error) {
	return call[hemera.FileReport](ctx, c.server, "FileInfo", adminapi.FileRef{Ref: ref})
}

// CheckFile implements hemera.MaintAdmin.
func (c Maint) CheckFile(ctx context.Context, ref string, repair bool) ([]hemera.PieceCheck, error) {
	return call[[]hemera.PieceCheck](ctx, c.server, "CheckFile", adminapi.FileRef{Ref: ref, Repair: repair})
}

// Fsck implements hemera.MaintAdmin.
func (c Maint) Fsck(ctx context.Context, repair bool) (hemera.FsckReport, error) {
	return call[hemera.FsckReport](ctx, c.server, "Fsck", adminapi.FsckRequest{Repair: repair})
}

// CheckNamespace implements hemera.MaintAdmin.
// The last report has Done set. A stream that ends without one is Unavailable: the server stopped, and nothing is
// proved.
func (c Maint) CheckNamespace(ctx context.Context, progress func(hemera.NamespaceCheck) error) (last hemera.NamespaceCheck, err error) {
	err = receive(ctx, c.server, "CheckNamespace", adminapi.None{}, func(r *hemera.NamespaceCheck) error {
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
