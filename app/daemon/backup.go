package daemon

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"hemera"
	"hemera/core/namespace"
	"hemera/errs"
	"hemera/platform/kv"
	"hemera/platform/kv/archive"
	"hemera/platform/kv/pebblekv"
	"hemera/platform/pki"
)

// backups implements hemera.Backups for a manager: the whole store, and the authority beside it.
type backups struct {
	store     kv.Store
	epoch     uint64
	authority *pki.Authority
	addr      string
	program   string
	taken     func(ctx context.Context, at time.Time) error // remembers it
	log       *slog.Logger
}

func (m *Manager) backups() hemera.Backups {
	return backups{store: m.store, epoch: m.tree.Writer().Epoch(), authority: m.authority, addr: m.Addr, program: "hemera " + m.options.Version,
		taken: m.Cluster().BackupTaken, log: m.options.Log}
}

// Backup implements hemera.Backups. The backup is remembered once all of it was sent.
func (b backups) Backup(ctx context.Context, out io.Writer) (err error) {
	head := archive.Header{Taken: time.Now().UTC(), Epoch: b.epoch, Program: b.program, Manager: b.addr}
	authority, err := b.authority.File()
	if err != nil {
		return errs.Wrap(err, "ns backup", "")
	}
	if err := writeArchive(ctx, out, b.store, authority, func(namespace.Summary) archive.Header { return head }); err != nil {
		return err
	}
	if err := b.taken(ctx, head.Taken); err != nil {
		b.log.Error("it is not remembered that a backup was taken", "err", err) // the backup is good
	}
	return nil
}

// writeArchive writes one picture of a store, and the authority's file beside it.
func writeArchive(ctx context.Context, out io.Writer, store kv.Store, authority []byte, header func(namespace.Summary) archive.Header) (err error) {
	picture, err := store.Snapshot(ctx)
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
	head := header(s)
	head.Sequence, head.Files, head.Directories, head.Pairs = s.Sequence, s.Totals.Files, s.Totals.Dirs, s.Pairs
	_, err = archive.Write(ctx, out, picture, head, archive.Attachment{Name: pki.AuthorityFile, Content: authority})
	return err
}

// StateBackups implements hemera.Backups for the state directory of a manager that does not run, of which it changes
// nothing. What it writes is as of the last change to the tree: what the manager did after it counts as forgotten.
type StateBackups struct {
	Dir     string // as for [OpenState]
	Program string
	// Damaged lets a store be taken whose log is damaged, as far as it goes, and is told of it; nil: Corrupt.
	Damaged func(error)
	Log     *slog.Logger
}

// Backup implements hemera.Backups. Unavailable while a manager has the directory, NotFound when it is none's.
func (b StateBackups) Backup(ctx context.Context, out io.Writer) (err error) {
	dir, ok := stateDir(b.Dir)
	if !ok {
		return noState(b.Dir)
	}
	store, err := openStore(dir, pebblekv.Options{ReadOnly: true, Damaged: b.Damaged, CacheBytes: stateCache, Logger: b.Log})
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := store.Close(); err == nil {
			err = closeErr
		}
	}()
	authority, err := os.ReadFile(filepath.Join(dir, pki.AuthorityFile))
	if err != nil {
		return errs.Wrap(err, "ns backup", dir)
	}
	return writeArchive(ctx, out, store, authority, func(s namespace.Summary) archive.Header {
		taken := time.Unix(0, 0)
		if s.Changed.After(taken) {
			taken = s.Changed
		}
		return archive.Header{Taken: taken.UTC(), Epoch: store.Epoch(), Program: b.Program}
	})
}
