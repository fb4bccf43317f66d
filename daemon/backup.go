package daemon

import (
	"context"
	"io"
	"time"

	"hemera/auth"
	"hemera/errs"
	"hemera/kv"
	"hemera/kv/archive"
	"hemera/namespace"
)

// backups implements hemera.Backups for a manager: the whole store, and the authority beside it.
type backups struct {
	store     kv.Store
	epoch     uint64
	authority *auth.Authority
	addr      string
	program   string
}

// Backup implements hemera.Backups.
func (b backups) Backup(ctx context.Context, out io.Writer) (err error) {
	head := archive.Header{Taken: time.Now().UTC(), Epoch: b.epoch, Program: b.program, Manager: b.addr}
	authority, err := b.authority.File()
	if err != nil {
		return errs.Wrap(err, "ns backup", "")
	}
	picture, err := b.store.Snapshot(ctx)
	if err != nil {
		return errs.Wrap(err, "ns backup", "")
	}
	defer func() {
		if closeErr := picture.Close(); err == nil {
			err = errs.Wrap(closeErr, "ns backup", "")
		}
	}()
	s, err := namespace.Describe(ctx, picture)
	if err != nil {
		return errs.Wrap(err, "ns backup", "")
	}
	head.Sequence, head.Files, head.Directories, head.Pairs = s.Sequence, s.Totals.Files, s.Totals.Dirs, s.Pairs
	_, err = archive.Write(ctx, out, picture, head, archive.Attachment{Name: auth.AuthorityFile, Content: authority})
	return err
}
