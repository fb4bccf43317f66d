package statedir

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"hemera/cluster"
	"hemera/platform/kv"
	"hemera/platform/kv/pebblekv"
	"hemera/platform/pki"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// StoreDir is the directory of the store, below a manager's state directory.
	StoreDir = "namespace"
	// RestoringDir is the directory in which a restore makes the store. It is renamed when it is complete.
	RestoringDir = StoreDir + ".restoring"
	// UpManager is the manager's state directory, below the directory of hemera up.
	UpManager = "manager"
	// OfflineCache is the cache, in bytes, of a command that reads a store from end to end.
	OfflineCache = 256 << 20
)

// Open opens the store of a stopped manager. dir is the manager's state directory or that of hemera up. It fails with
// Unavailable while a manager has the store. A directory without a store gets an empty one if create is set; otherwise
// Open fails with NotFound. The caller closes the store.
func Open(dir string, create bool, log *slog.Logger) (kv.Store, error) {
	state, ok := Find(dir)
	if !ok && !create {
		return nil, NotFound(dir)
	}
	if !ok {
		state = dir
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, errs.Wrap(err, "statedir.Open", dir)
		}
	}
	s, err := OpenAt(state, pebblekv.Options{CacheBytes: OfflineCache, Logger: log})
	if err != nil {
		return nil, err // not s: a nil *Store in a kv.Store is not nil
	}
	return s, nil
}

// Find returns the state directory that has a store: dir, or the manager's directory in it if dir is that of hemera up.
func Find(dir string) (state string, ok bool) {
	for _, d := range []string{dir, filepath.Join(dir, UpManager)} {
		if HasStore(d) {
			return d, true
		}
	}
	return "", false
}

// HasStore reports whether the directory is the state directory of a manager that has run.
func HasStore(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, StoreDir))
	return err == nil
}

// CheckStore fails with Corrupt if the directory has a cluster's authority but no store, or an empty one. A manager makes
// its store before its authority, so the store is lost, or its filesystem is not mounted.
func CheckStore(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, pki.AuthorityFile)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	path := filepath.Join(dir, StoreDir)
	list, err := os.ReadDir(path)
	if len(list) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errs.Wrap(err, "statedir.CheckStore", path)
	}
	return errs.New(errs.Corrupt, "statedir.CheckStore", path, "the namespace is missing, and "+pki.AuthorityFile+" beside it says that there was one").
		WithRemedy("mount or put back the directory; if it is lost, restore the newest backup into an empty directory with `hemera ns restore FILE NEWDIR`")
}

// NotFound returns the error for a directory without a manager's store.
func NotFound(dir string) error {
	return errs.New(errs.NotFound, "statedir.Open", filepath.Join(dir, StoreDir), "there is no namespace").
		WithRemedy("name the directory the manager was given with --data, or that of hemera up")
}

// OpenAt opens the store of the manager whose state directory is state; see [Find].
func OpenAt(state string, o pebblekv.Options) (*pebblekv.Store, error) {
	path := filepath.Join(state, StoreDir)
	if err := Private(path); err != nil {
		return nil, err
	}
	s, err := pebblekv.Open(path, o)
	if errs.KindOf(err) == errs.Unavailable {
		return nil, (&errs.Error{Kind: errs.Unavailable, Op: "statedir.Open", Subject: path, Cause: err}).
			WithRemedy("stop the manager first: this works on its store while nobody else does; if none runs, check the filesystem")
	}
	return s, err
}

// Disks lists the disks in a store. Neighbours in the list are disks of different nodes, as far as possible, so that the
// pieces of a file get different nodes. A store that no manager has used has no disks.
func Disks(ctx context.Context, s kv.Store) ([]hemera.DiskID, error) {
	c, err := Cluster(ctx, s)
	if err != nil || c == nil {
		return nil, err
	}
	return interleaved(c.View().Disks), nil
}

// Cluster opens the records of the cluster in a store. It returns nil if no manager has used the store. It acquires the
// writer of the store, so an earlier writer is fenced.
func Cluster(ctx context.Context, s kv.Store) (*cluster.Cluster, error) {
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

// interleaved orders disks: the first of each node, then the second of each node, and so on. Within a rank, nodes are in
// the order of their ids.
func interleaved(disks []hemera.Disk) []hemera.DiskID {
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

// CheckRestored fails with Corrupt if a restore into the directory was interrupted. Such a directory has a part of a
// namespace: a manager that started from it would take all other pieces for orphans.
func CheckRestored(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, RestoringDir)); err == nil {
		return errs.New(errs.Corrupt, "statedir.CheckRestored", dir, "a restore into this directory was not finished").
			WithRemedy("empty the directory and restore again")
	}
	return nil
}
