package daemon

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"hemera"
	"hemera/core/cluster"
	"hemera/errs"
	"hemera/platform/kv"
	"hemera/platform/kv/pebblekv"
	"hemera/platform/pki"
)

// stateCache is the cache of whoever works on a store offline: it goes over tables from end to end.
const stateCache = 256 << 20

// OpenState opens the store of a manager that does not run, for commands that work on its state
// directory, which may also be that of `hemera up`. With create a directory without one gets an
// empty store. Unavailable while a manager has it; NotFound without create. The caller closes it.
func OpenState(dir string, create bool, log *slog.Logger) (kv.Store, error) {
	state, ok := stateDir(dir)
	if !ok && !create {
		return nil, noState(dir)
	}
	if !ok {
		state = dir
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, errs.Wrap(err, "open the namespace", dir)
		}
	}
	s, err := openStore(state, pebblekv.Options{CacheBytes: stateCache, Logger: log})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// stateDir is the state directory that has a store: the one given, or the manager's of `hemera up`.
func stateDir(dir string) (state string, ok bool) {
	for _, d := range []string{dir, filepath.Join(dir, upManager)} {
		if hasStore(d) {
			return d, true
		}
	}
	return "", false
}

// hasStore reports whether the directory is the state directory of a manager.
func hasStore(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, storeDir))
	return err == nil
}

// storeLost refuses a directory that has a cluster's authority and no store, or an empty one: a manager makes
// its store first. A filesystem that is not mounted looks so.
func storeLost(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, pki.AuthorityFile)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	path := filepath.Join(dir, storeDir)
	list, err := os.ReadDir(path)
	if len(list) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errs.Wrap(err, "open the namespace", path)
	}
	return errs.New(errs.Corrupt, "open the namespace", path, "the namespace is missing, and "+pki.AuthorityFile+" beside it says that there was one").
		WithRemedy("mount or put back the directory; if it is lost, restore the newest backup into an empty directory with `hemera ns restore FILE NEWDIR`")
}

func noState(dir string) error {
	return errs.New(errs.NotFound, "open the namespace", filepath.Join(dir, storeDir), "there is none").
		WithRemedy("name the directory the manager was given with --data, or that of hemera up")
}

func openStore(state string, o pebblekv.Options) (*pebblekv.Store, error) {
	path := filepath.Join(state, storeDir)
	if err := private(path); err != nil {
		return nil, err
	}
	s, err := pebblekv.Open(path, o)
	if errs.KindOf(err) == errs.Unavailable {
		return nil, (&errs.Error{Kind: errs.Unavailable, Op: "open the namespace", Subject: path, Cause: err}).
			WithRemedy("stop the manager first: this works on its store while nobody else does; if none runs, check the filesystem")
	}
	return s, err
}

// StateDisks is the disks a cluster's store knows, in an order in which neighbours are of different
// nodes as far as there are enough; none in a store that no manager has used.
func StateDisks(ctx context.Context, s kv.Store) ([]hemera.DiskID, error) {
	c, err := openCluster(ctx, s)
	if err != nil || c == nil {
		return nil, err
	}
	return dealtByNode(c.View().Disks), nil
}

// openCluster is the cluster of a store; nil if no manager has used it.
func openCluster(ctx context.Context, s kv.Store) (*cluster.Cluster, error) {
	found := false
	prefix := []byte(cluster.Prefix)
	if err := s.Scan(ctx, prefix, append(prefix, 0xff), func(_, _ []byte) bool { found = true; return false }); err != nil || !found {
		return nil, err
	}
	w, err := s.Acquire(ctx, "state")
	if err != nil {
		return nil, err
	}
	return cluster.Open(ctx, s, w, cluster.Options{})
}

// dealtByNode takes the first disk of each node, then the second of each.
func dealtByNode(disks []hemera.Disk) []hemera.DiskID {
	rank := make(map[hemera.DiskID]int)
	seen := make(map[hemera.NodeID]int)
	for _, d := range disks {
		rank[d.ID] = seen[d.Node]
		seen[d.Node]++
	}
	disks = slices.Clone(disks)
	slices.SortFunc(disks, func(a, b hemera.Disk) int {
		return cmp.Or(cmp.Compare(rank[a.ID], rank[b.ID]), cmp.Compare(a.Node, b.Node), cmp.Compare(a.ID, b.ID))
	})
	ids := make([]hemera.DiskID, len(disks))
	for i, d := range disks {
		ids[i] = d.ID
	}
	return ids
}
