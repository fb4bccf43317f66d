// Package recycle has the commands for recycle bins, which keep removed and replaced entries for a while. All ask the admin
// API, from any machine. The manager shows users their own entries, and admins all; see adminapi.RecycleBin.
//
// The API knows entries by their ids. This package resolves paths and trees: a path stands for the entry that was removed
// there last, and a tree is restored entry by entry, in the order of paths. So an interrupted command leaves whole entries,
// and can be repeated. Memory grows with the entries that an argument names; ls needs none.
package recycle

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Command makes `hemera recycle`. The verbs are EOS's. The long text explains how bins are switched on, because that is
// done with attr set.
func Command(e *cli.Env) *cobra.Command {
	c := cli.Noun("recycle", "What was removed or replaced, and is kept: list, restore, purge",
		lsCommand(e), restoreCommand(e), purgeCommand(e), statusCommand(e))
	c.Long = `Below a directory with the attribute sys.recycle, what is removed or replaced goes to a recycle bin,
whatever client does it: hemera, xrdfs, xrdcp -f, xrootdfs. It keeps its id, its attributes and its
place on the disks, so it is restored at once. It counts in no quota while it is there.

  hemera attr set sys.recycle=30d /exp           keep everything for 30 days
  hemera attr set sys.recycle=30d,10T /exp       … and at most 10 TB on the disks, oldest first
  hemera attr set sys.recycle=off /exp/scratch   but nothing of this tree
  hemera space set default policy.recycle=7d     every file of a space

Users see, restore and purge what they own, admins everything.`
	c.Example = `  hemera recycle ls /exp
  hemera recycle restore /exp/run1/data.root
  hemera recycle restore -r /exp/run1`
	return c
}

// wanted is one argument of restore and purge: an entry by its id, or by its former path.
type wanted struct {
	id   hemera.FileID // 0: by path
	path string        // "" if it is named by id
}

// parse parses fxid:<hexadecimal>, fid:<decimal> or a path. The prefixes are those of file info; those with p are EOS's
// for directories. It fails with Invalid, and asks no server.
func parse(e *cli.Env, arg string) (w wanted, err error) {
	for prefix, base := range map[string]int{"fxid:": 16, "fid:": 10, "pxid:": 16, "pid:": 10} {
		text, ok := strings.CutPrefix(arg, prefix)
		if !ok {
			continue
		}
		// No entry has the id 0.
		id, err := strconv.ParseUint(text, base, 64)
		if err != nil || id == 0 {
			return w, cli.Usage(errs.New(errs.Invalid, "hemera.ReadId", arg, "it is no id").WithRemedy("hemera recycle ls shows ids, as fxid:0000fe21"))
		}
		return wanted{id: hemera.FileID(id)}, nil
	}
	w.path, err = e.OnManager(arg)
	return w, err
}

// newest returns the entry that was removed last at the path, and with below also at each path below it. It fails with
// NotFound if there are none. The manager sends everything below the path in any case: without an index by path it reads
// the bins, and sending costs less than that.
func newest(ctx context.Context, m *admin.Client, path string, below bool) (map[string]adminapi.Recycled, error) {
	found := map[string]adminapi.Recycled{}
	at := hemera.PlainPath(path)
	err := m.Recycle.ListRecycled(ctx, hemera.Identity{}, adminapi.RecycleQuery{All: true, Below: at}, func(r adminapi.Recycled) error {
		// A path that ends in a slash is that of a directory.
		if r.Path == at && hemera.OfDirectory(path) && !r.Entry.IsDir() {
			return nil
		}
		// Of two removals within a millisecond the later one of the list counts.
		if was, ok := found[r.Path]; (below || r.Path == at) && (!ok || !r.Removed.Before(was.Removed)) {
			found[r.Path] = r
		}
		return nil
	})
	if err == nil && len(found) == 0 {
		err = errs.New(errs.NotFound, "hemera.Recycle", path, "nothing that was here is in a recycle bin").
			WithRemedy("hemera recycle ls lists what there is; name a tree with -r")
	}
	return found, err
}
