package backup

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"hemera/platform/pki"
	"hemera/process/statedir"
	"hemera/words/errs"
)

// Rekey makes a new certificate authority in the state directory of a stopped manager, or of hemera up, and returns the
// authority's file. It is for a cluster whose authority is lost and not in a backup: every node has to join again. It
// fails with Exists if there is an authority, and with Unavailable while a manager runs.
func Rekey(ctx context.Context, dir string, log *slog.Logger) (file string, err error) {
	store, err := statedir.Open(dir, false, log)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	dir, _ = statedir.Find(dir) // Open found a store there
	if err := statedir.CheckRestored(dir); err != nil {
		return "", err
	}
	c, err := statedir.Cluster(ctx, store)
	if err != nil {
		return "", err
	}
	if c == nil {
		return "", errs.New(errs.NotFound, "backup.Rekey", dir, "no manager has used this namespace yet").
			WithRemedy("start the manager: it makes the first authority")
	}
	authority, err := pki.NewAuthority(dir, pki.AuthorityOptions{})
	if err != nil {
		return "", err
	}
	// The cluster's records name the authority, so that a wrong file is noticed.
	fingerprint := authority.Fingerprint()
	return filepath.Join(dir, pki.AuthorityFile), c.SetAuthority(ctx, fingerprint[:])
}
