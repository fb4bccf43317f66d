package sim

import (
	"context"
	"fmt"
	"path"
	"time"

	"hemera/rules/layout"
	"hemera/test/sim/simnet"
	"hemera/words/hemera"
)

// quotas has an admin set a limit somewhere, or remove all of a directory. Most are so high that only
// the counting matters; a low one has opens refused.
// Directories of all depths get limits, so that quota nodes nest.
func (n *nemesis) quotas(ctx context.Context) {
	h := n.w.head.Load()
	if h == nil {
		return
	}
	client := n.rng.IntN(len(n.w.clients))
	key := hemera.QuotaKey{Path: []string{"/", shared, fmt.Sprintf("/c%d", client)}[n.rng.IntN(3)]}
	// A quarter goes, so that what a node had goes back to the one above.
	if n.rng.IntN(4) == 0 {
		n.did("removes the quotas of %s: %v", key.Path, h.Quotas.RemoveQuota(ctx, key))
		// Removing a node gives its usage to the one above.
		return
	}
	key.Kind = []hemera.QuotaKind{hemera.QuotaUser, hemera.QuotaGroup, hemera.QuotaProject}[n.rng.IntN(3)]
	switch key.Kind {
	case hemera.QuotaUser:
		key.ID = n.w.clients[client].who.UID
	case hemera.QuotaGroup:
		key.ID = n.w.clients[client].who.GID
	}
	limits := hemera.QuotaAmount{Files: 1 << 20, Bytes: 1 << 40} // never reached
	if n.rng.IntN(4) == 0 {
		limits = hemera.QuotaAmount{Files: 3 + n.rng.Int64N(5), Bytes: 50_000 + n.rng.Int64N(100_000)}
	}
	n.did("sets the quota of %s %d at %s to %+v: %v", key.Kind, key.ID, key.Path, limits, h.Quotas.SetQuota(ctx, key, limits))
}

// countingTime is far more than counting takes.
const countingTime = time.Minute

// checkQuotas counts what everybody has below every quota node, and compares.
// It waits for counts under way: a new quota node is counted in the background.
func (j judge) checkQuotas(ctx context.Context) {
	var rows []hemera.QuotaRow
	for waited := time.Duration(0); ; waited += time.Second {
		var err error
		if rows, err = j.w.head.Load().Quotas.Quotas(ctx, ""); err != nil {
			j.w.fail("quotas: %v", err)
			return
		}
		if !counting(rows) {
			break
		}
		if waited > countingTime {
			j.w.fail("quotas are still not counted: %+v", rows)
			return
		}
		simnet.Rest(ctx, time.Second)
	}
	// A file counts at the nearest node above it, and at the projects of all.
	nodes := map[string]bool{}
	for _, row := range rows {
		nodes[row.Path] = true
	}
	used := map[hemera.QuotaKey]hemera.QuotaAmount{}
	// The tree does not change any more, so the two pictures are of the same moment.
	files, _, _ := j.w.tree(ctx)
	for name, e := range files {
		count(used, nodes, name, e)
	}
	for _, row := range rows {
		if row.Used != used[row.QuotaKey] {
			j.w.fail("quota of %s %d at %s: %+v are used, by the account %+v", row.Kind, row.ID, row.Path, used[row.QuotaKey], row.Used)
		}
	}
}

// count adds a file to the project of every node above it, and to its owners' accounts at the nearest.
// Physical bytes count the pieces there are, so a file under repair counts less.
func count(used map[hemera.QuotaKey]hemera.QuotaAmount, nodes map[string]bool, name string, e hemera.Entry) {
	amount := hemera.QuotaAmount{Files: 1, Bytes: e.Size, Physical: layout.Used(e.Layout, e.Size, e.Pieces)}
	nearest := true
	// From the file's own directory up to the root.
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if nodes[dir] {
			keys := []hemera.QuotaKey{{Path: dir, Kind: hemera.QuotaProject}}
			if nearest {
				keys = append(keys, hemera.QuotaKey{Path: dir, Kind: hemera.QuotaUser, ID: e.UID}, hemera.QuotaKey{Path: dir, Kind: hemera.QuotaGroup, ID: e.GID})
			}
			for _, k := range keys {
				used[k] = used[k].Add(amount)
			}
			nearest = false
		}
		if dir == "/" {
			return
		}
	}
}

// counting reports whether the manager still counts the files below a new quota node. A row that is still counting may be
// anything.
func counting(rows []hemera.QuotaRow) bool {
	for _, row := range rows {
		if row.Counting {
			return true
		}
	}
	return false
}
