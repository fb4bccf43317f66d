package backup

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"hemera/cluster"
	"hemera/namespace"
	"hemera/platform/kv/pebblekv"
	"hemera/platform/pki"
	"hemera/process/statedir"
	"hemera/words/errs"
)

// PrepareOptions tune the preparation of a rebuild. Zero values take the defaults.
type PrepareOptions struct {
	// Authority is the file of the cluster's authority, if it was saved: with it nodes come back without an admin. ""
	// begins a new authority, and every node has to join again.
	Authority string
	Now       func() time.Time // nil: time.Now
	Log       *slog.Logger     // nil: silent
}

// Prepare makes a state directory for a manager whose namespace is lost with all backups. It is empty, with ids that
// begin above all that were ever used, so that a piece on a disk cannot match a new file. Its manager lets nodes and
// disks come back under their ids, and clients cannot change anything, until an admin ends the rebuild.
//
// It fails with NotEmpty if the directory has content, and with Corrupt or Invalid if the file is not an authority. After
// a failure it leaves nothing behind; after a kill no manager starts from the directory.
func Prepare(ctx context.Context, dir string, o PrepareOptions) (_ namespace.Boundary, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	r := &restore{ctx: ctx, dir: dir, options: RestoreOptions{Now: o.Now, Log: o.Log}, files: map[string][]byte{}}
	if o.Authority != "" {
		// Read first: a wrong file locks every node out.
		if r.files[pki.AuthorityFile], err = readAuthority(o.Authority); err != nil {
			return namespace.Boundary{}, err
		}
	}
	if err := emptyDir(dir); err != nil {
		return namespace.Boundary{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.abandon())
		}
	}()
	if err := os.Mkdir(filepath.Join(dir, statedir.RestoringDir), 0o700); err != nil {
		return namespace.Boundary{}, errs.Wrap(err, "backup.Prepare", dir)
	}
	if err := r.empty(); err != nil {
		return namespace.Boundary{}, err
	}
	return r.done.Boundary, r.publish()
}

// empty makes a store with an empty root directory, and sets the boundaries above which numbers are new.
func (r *restore) empty() (err error) {
	now := r.options.Now()
	// Larger than the epoch of any writer that the lost store had; see header.
	r.store, err = pebblekv.Open(filepath.Join(r.dir, statedir.RestoringDir), pebblekv.Options{Epoch: uint64(now.Unix()), Logger: r.options.Log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.store.Close()) }()
	tree, err := namespace.Open(r.ctx, r.store, namespace.Options{Owner: "prepare", Logger: r.options.Log})
	if err == nil {
		err = tree.Close()
	}
	if err != nil {
		return err
	}
	if r.out, err = r.store.Acquire(r.ctx, "prepare"); err != nil {
		return err
	}
	// Without the time of a backup: everything that was sealed before now was lost.
	if r.done.Boundary, err = namespace.Restored(r.ctx, r.store, r.out, time.Time{}, now); err != nil {
		return err
	}
	return cluster.Prepared(r.ctx, r.store, r.out, now)
}

// readAuthority reads and checks the file of an authority.
func readAuthority(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, errs.Wrap(err, "backup.Prepare", path)
	}
	// OpenAuthority finds the file by its name in a directory.
	dir, err := os.MkdirTemp("", "hemera-authority-")
	if err != nil {
		return nil, errs.Wrap(err, "backup.Prepare", path)
	}
	defer os.RemoveAll(dir)
	if err := writeSecret(filepath.Join(dir, pki.AuthorityFile), content); err != nil {
		return nil, errs.Wrap(err, "backup.Prepare", path)
	}
	if _, err := pki.OpenAuthority(context.Background(), dir, pki.AuthorityOptions{}); err != nil {
		return nil, errs.New(errs.Corrupt, "backup.Prepare", path, "it is not a certificate authority with its key").
			WithRemedy("name the authority.pem of the lost manager, or leave --authority out and let every node join again")
	}
	return content, nil
}
