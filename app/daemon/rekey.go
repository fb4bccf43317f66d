package daemon

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"hemera/errs"
	"hemera/platform/pki"
)

// Rekey begins a new certificate authority in the state directory of a manager that does not run, or in
// that of `hemera up`, and returns the authority's file: the old one is lost, and no backup has it. Every
// node has to join again. Exists while there is an authority; Unavailable while a manager runs.
func Rekey(ctx context.Context, dir string, log *slog.Logger) (file string, err error) {
	store, err := OpenState(dir, false, log)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	dir, _ = stateDir(dir) // it has a store: that is open
	if err := finished(dir); err != nil {
		return "", err
	}
	c, err := openCluster(ctx, store)
	if err != nil {
		return "", err
	}
	if c == nil {
		return "", errs.New(errs.NotFound, "ns rekey", dir, "no manager has used this namespace yet").
			WithRemedy("start the manager: it makes the first authority")
	}
	authority, err := pki.NewAuthority(dir, pki.AuthorityOptions{})
	if err != nil {
		return "", err
	}
	fingerprint := authority.Fingerprint()
	return filepath.Join(dir, pki.AuthorityFile), c.SetAuthority(ctx, fingerprint[:])
}
