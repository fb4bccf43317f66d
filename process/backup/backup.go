package backup

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/platform/kv/archive"
	"hemera/platform/kv/pebblekv"
	"hemera/platform/pki"
	"hemera/process/statedir"
	"hemera/words/errs"
)

// Live implements adminapi.Backups for a running manager: the whole store, the cluster's authority and the keys of tapes.
type Live struct {
	Store     kv.Store
	Epoch     uint64                                        // of the running manager, for the header
	Authority *pki.Authority                                // its file goes into the archive
	Keys      statedir.TapeKeys                             // their secrets go into the archive
	Addr      string                                        // of the manager, for the header
	Program   string                                        // name and version, for the header
	Taken     func(ctx context.Context, at time.Time) error // records the time
	Log       *slog.Logger
}

// Backup implements adminapi.Backups. The cluster records the time of the backup once all of it was sent. A failure to
// record it is only logged, because the backup is good.
func (b Live) Backup(ctx context.Context, out io.Writer) (err error) {
	head := archive.Header{Taken: time.Now().UTC(), Epoch: b.Epoch, Program: b.Program, Manager: b.Addr}
	authority, err := b.Authority.File()
	if err != nil {
		return errs.Wrap(err, "backup.Write", "")
	}
	if err := writeArchive(ctx, out, b.Store, secrets{authority, b.Keys}, func(namespace.Summary) archive.Header { return head }); err != nil {
		return err
	}
	if err := b.Taken(ctx, head.Taken); err != nil {
		b.Log.Error("the time of the backup could not be recorded", "error", err)
	}
	return nil
}

// secrets has the parts of an archive besides the store.
type secrets struct {
	authority []byte // the content of its file
	keys      statedir.TapeKeys
}

// attachments reads the secrets. A key is stored before the record that names it, so keys that are read after the
// snapshot are all that it needs.
func (s secrets) attachments() ([]archive.Attachment, error) {
	all := []archive.Attachment{{Name: pki.AuthorityFile, Content: s.authority}}
	keys, err := s.keys.All()
	if err != nil || len(keys) == 0 {
		return all, err
	}
	content, err := json.Marshal(keys)
	return append(all, archive.Attachment{Name: statedir.TapeKeysDir, Content: content}), err
}

// writeArchive writes a snapshot of a store, the authority's file and the keys of tapes. header makes the archive's
// header from a summary of the snapshot; writeArchive fills in the counts. The header comes first, so its counts are read
// from the same snapshot before the records. The number of records is an estimate.
func writeArchive(ctx context.Context, out io.Writer, store kv.Store, beside secrets, header func(namespace.Summary) archive.Header) (err error) {
	picture, err := store.Snapshot(ctx)
	if err != nil {
		return errs.Wrap(err, "backup.Write", "")
	}
	defer func() {
		if closeErr := picture.Close(); err == nil {
			err = errs.Wrap(closeErr, "backup.Write", "")
		}
	}()
	s, err := namespace.Describe(ctx, picture)
	if err != nil {
		return errs.Wrap(err, "backup.Write", "")
	}
	attachments, err := beside.attachments()
	if err != nil {
		return errs.Wrap(err, "backup.Write", "")
	}
	head := header(s)
	head.Sequence, head.Files, head.Directories, head.Pairs = s.Sequence, s.Totals.Files, s.Totals.Dirs, s.Pairs
	_, err = archive.Write(ctx, out, picture, head, attachments...)
	return err
}

// Offline implements adminapi.Backups for the state directory of a manager that does not run. It changes nothing there.
// The archive's time is that of the last change to the tree, so that after a restore everything that the manager did
// later counts as lost.
type Offline struct {
	Dir     string // the directory of the manager's state
	Program string // name and version, for the header
	// Damaged, if not nil, accepts a store whose log is damaged: the archive has everything before the damage, and
	// Damaged gets the error. With nil a damaged log is an error, Corrupt.
	Damaged func(error)
	Log     *slog.Logger
}

// Backup implements adminapi.Backups. It fails with Unavailable while a manager has the directory, and with NotFound if
// no manager has used it.
func (b Offline) Backup(ctx context.Context, out io.Writer) (err error) {
	dir, ok := statedir.Find(b.Dir)
	if !ok {
		return statedir.NotFound(b.Dir)
	}
	store, err := statedir.OpenAt(dir, pebblekv.Options{ReadOnly: true, Damaged: b.Damaged, CacheBytes: statedir.OfflineCache, Logger: b.Log})
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
		return errs.Wrap(err, "backup.Write", dir)
	}
	return writeArchive(ctx, out, store, secrets{authority, statedir.TapeKeys{Dir: filepath.Join(dir, statedir.TapeKeysDir)}}, func(s namespace.Summary) archive.Header {
		taken := time.Unix(0, 0)
		if s.Changed.After(taken) {
			taken = s.Changed
		}
		return archive.Header{Taken: taken.UTC(), Epoch: store.Epoch(), Program: b.Program}
	})
}
