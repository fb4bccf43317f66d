package cluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// OpenCommand makes `hemera open`: files that are being written. Reads are not listed, because they lock nothing; see who
// --files.
func OpenCommand(e *cli.Env) *cobra.Command {
	c := cli.Noun("open", "Files that are being written: list, free, commit or drop", openLsCommand(e), openRmCommand(e), openEndCommand(e, true), openEndCommand(e, false))
	c.Long = `A file that is being written is locked for its writer until the writer closes it. If the writer's
connection is lost, its node decides after 2 minutes: it commits a write that was synced,
or that has every byte that was announced. Anything else it keeps for an hour, without the lock: "open commit" makes
it the file as it is, "open drop" removes it. Nodes keep 512 such writes, 64 of one user; more
remove the oldest. They outlast a restart of the node. If the writer never comes to the node, the
write ends after 1 minute.`
	c.Example = `  hemera open ls
  hemera open commit 1p8mg0tbs2qzk
  hemera open rm 1p8mg0tbs2qzk`
	return c
}

// openLsCommand makes `hemera open ls`: the locks of current writes in the manager's memory. It changes nothing.
func openLsCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List the files that are being written, oldest first", Args: cobra.NoArgs, Aliases: []string{"list"},
		Long: `Lists writes under way, at most 100,000; users see their own. "granted": the manager sent the
writer to its node; "open": the writer has the file open there; "detached": the writer's
connection is lost, and it has 2 minutes to come back; "kept": it did not. "gone" is since when,
"then" what becomes of the write, and "in" after which time. Writes whose commit was refused are
named below the table with the reason, which -m and -j have as "refused". So are writes whose node was
killed after a sync ("found"): they have what was synced, but pages that were written over after it
are as they are; "open commit" says how many ("differ"). Every 30 s the manager asks nodes about
writes that are at least a minute old: "written" and "idle" are their answers. About writes whose
clients are gone it asks now.`,
		Example: `  hemera open ls
  hemera open ls -m`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				writes, err := m.Writes.Writes(ctx, hemera.Identity{})
				if err != nil {
					return err
				}
				if err := e.List(writeColumns, writeRecords(e, writes), "nothing is being written"); err != nil {
					return err
				}
				for _, w := range writes {
					if (w.Found || w.Differ > 0) && !e.ForPrograms() {
						e.Say("%s %s: its node was killed: %s", w.ID, w.Path, sinceSync(w, false))
					}
					if w.Refused != "" && !e.ForPrograms() {
						e.Say("%s %s: the commit was refused: %s", w.ID, w.Path, w.Refused)
					}
				}
				return nil
			})
		},
	}
}

// openRmCommand makes `hemera open rm`, which removes such a lock. It fails with NotFound without such a write, and with
// Denied without consent.
func openRmCommand(e *cli.Env) *cobra.Command {
	var k cli.Consent
	c := &cobra.Command{
		Use: "rm <id>", Short: "Free a file that is being written, for others to write it", Args: cobra.ExactArgs(1),
		Long: `Frees the name that a write locks, and the room that it claims of quotas. The writer is not stopped:
its close succeeds if nobody else replaced the file first, and fails otherwise. The command asks. A
script gives its consent with --yes. hemera open ls shows the ids.`,
		Example:           `  hemera open rm 1p8mg0tbs2qzk`,
		ValidArgsFunction: complete.Writes(e),
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				writes, err := m.Writes.Writes(ctx, hemera.Identity{})
				if err != nil {
					return err
				}
				// The list names the owner of the write, so that the user can decide.
				i := slices.IndexFunc(writes, func(w hemera.WriteInfo) bool { return w.ID == args[0] })
				if i < 0 {
					return errs.New(errs.NotFound, "hemera.OpenRm", args[0], "no such write is under way").WithRemedy("see `hemera open ls`")
				}
				w := writes[i]
				// Path and user are those of the list: the manager frees the write by its id.
				stake := []string{fmt.Sprintf("%s is being written by %s@%s (%s); that write is not stopped, but others may write the file then", w.Path, w.Who.Name, w.Who.Host, w.State)}
				if ok, err := e.Agree(ctx, k, "hemera.OpenRm", stake); !ok {
					return err
				}
				// The write may have ended meanwhile; then this fails, and nothing is lost.
				if w, err = m.Writes.FreeWrite(ctx, args[0]); err != nil {
					return err
				}
				e.Say("%s is free", w.Path)
				return nil
			})
		},
	}
	k.Flags(c)
	return c
}

// openEndCommand makes `hemera open commit` or `hemera open drop`, which end a write whose client is gone. It fails with
// Denied for users that neither own the write nor are admins, and for drop without consent.
func openEndCommand(e *cli.Env, commit bool) *cobra.Command {
	var k cli.Consent
	c := &cobra.Command{
		Use: "commit <id|path>", Short: "Commit a write whose client is gone, as it is", Args: cobra.ExactArgs(1),
		Long: `Makes a write whose client is gone the file, with the bytes it has, whatever size was announced.
It needs room in the quota, and nobody may have written the file since it was opened: otherwise
the command fails, and what was kept stays. For the write's owner and admins. If the write's node
was killed after a sync, the command says how many pages were written over after that sync.`,
		Example: `  hemera open commit 1p8mg0tbs2qzk
  hemera open commit /data/run7.root`,
		ValidArgsFunction: complete.Writes(e),
	}
	op := "hemera.OpenCommit"
	if !commit {
		op = "hemera.OpenDrop"
		c.Use, c.Short = "drop <id|path>", "Remove a write whose client is gone"
		c.Long = `Removes a write whose client is gone. The file that was there before stays. For the
write's owner and admins. The command asks. A script gives its consent with --yes.`
		c.Example = `  hemera open drop 1p8mg0tbs2qzk`
		k.Flags(c)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
			w, err := leftWrite(ctx, m, op, args[0])
			if err != nil {
				return err
			}
			if !commit {
				stake := []string{fmt.Sprintf("%s: %d bytes that %s@%s wrote and did not close are removed", w.Path, w.Written, w.Who.Name, w.Who.Host)}
				if ok, err := e.Agree(ctx, k, op, stake); !ok {
					return err
				}
			}
			// By the id, because another write of the path may have been left meanwhile.
			if w, err = m.Writes.EndWrite(ctx, hemera.Identity{}, w.ID, commit); err != nil {
				return err
			}
			if commit {
				e.Say("%s has the %d bytes that were written", w.Path, w.Written)
				if w.Found || w.Differ > 0 {
					e.Say("its node was killed: %s", sinceSync(w, true))
				}
			} else {
				e.Say("what was written of %s is removed", w.Path)
			}
			return nil
		})
	}
	return c
}

// sinceSync returns a text about a write that was found after its node was killed; counted states that its pages were
// compared.
func sinceSync(w hemera.WriteInfo, counted bool) string {
	switch {
	case w.Differ > 0:
		return fmt.Sprintf("it has what was synced last, but for %s of %d bytes written over after that, as they are; compare the content",
			output.Count(w.Differ, "page"), hemera.PageSize)
	case counted:
		return "it has exactly what was synced last"
	}
	return "it has what was synced, but pages that were written over after that are as they are; open commit says how many"
}

// leftWrite finds a write whose client is gone by its id, or by its path if there is only one.
func leftWrite(ctx context.Context, m *admin.Client, op, arg string) (found hemera.WriteInfo, err error) {
	writes, err := m.Writes.Writes(ctx, hemera.Identity{})
	if err != nil {
		return found, err
	}
	n := 0
	for _, w := range writes {
		if w.Then != "" && (w.ID == arg || w.Path == arg) {
			found = w
			n++
		}
	}
	switch n {
	case 0:
		return found, errs.New(errs.NotFound, op, arg, "no write of it has lost its client").WithRemedy("see `hemera open ls`")
	case 1:
		return found, nil
	}
	return found, errs.New(errs.Invalid, op, arg, fmt.Sprintf("%d writes of it have lost their clients", n)).WithRemedy("give the id that `hemera open ls` shows")
}

// writeRecords makes the record of each write. Values that a node has not reported yet are unknown, not 0. Ages and idle
// times are in seconds. announced is 0 if the client gave no size.
func writeRecords(e *cli.Env, writes []hemera.WriteInfo) (out []output.Record) {
	for _, w := range writes {
		// nil prints as a dash in a table and as null in JSON.
		written, idle := any(nil), any(nil)
		if !w.Reported.IsZero() {
			written, idle = w.Written, w.Idle.Seconds()
		}
		differ := any(nil)
		if w.Differ > 0 {
			differ = w.Differ
		}
		gone, then, in := any(nil), any(nil), any(nil)
		if w.Then != "" {
			gone, then, in = cli.Since(e.Now(), w.Gone), string(w.Then), cli.Since(w.At, e.Now())
		}
		out = append(out, output.Record{
			{Key: "id", Value: w.ID}, {Key: "user", Value: w.Who.Name}, {Key: "uid", Value: w.Who.UID}, {Key: "host", Value: w.Who.Host}, // who opened the file, and from where
			{Key: "app", Value: w.Who.App}, {Key: "auth", Value: w.Who.Protocol}, {Key: "state", Value: string(w.State)}, // app is the name that the client gives itself
			{Key: "age", Value: cli.Since(e.Now(), w.Since)}, {Key: "idle", Value: idle}, {Key: "announced", Value: w.Announced}, // since the open
			{Key: "written", Value: written}, {Key: "node", Value: uint32(w.Head)}, {Key: "head", Value: w.HeadAddr}, // as the node reported last
			{Key: "gone", Value: gone}, {Key: "then", Value: then}, {Key: "in", Value: in}, // only if the client is gone
			{Key: "fxid", Value: w.File.Hex()}, {Key: "refused", Value: w.Refused}, {Key: "found", Value: w.Found}, // found: its node was killed after a sync
			{Key: "differ", Value: differ}, {Key: "path", Value: w.Path}, // pages written over after that, once counted; path as of the open
		})
	}
	return out
}

// writeColumns has the columns of open ls.
var writeColumns = []output.Column{
	{Title: "id", Key: "id"},                                   // for open rm
	{Title: "user", Key: "user"},                               // as the manager authenticated it
	{Title: "host", Key: "host"},                               // of the client
	{Title: "state", Key: "state"},                             // granted, open, detached or kept
	{Title: "age", Key: "age", Show: output.Seconds},           // since the open
	{Title: "idle", Key: "idle", Show: output.Seconds},         // since the last byte
	{Title: "announced", Key: "announced", Show: output.Bytes}, // the size that the client gave at open
	{Title: "written", Key: "written", Show: output.Bytes},     // so far, as the node reported
	{Title: "gone", Key: "gone", Show: output.Seconds},         // since the client was lost
	{Title: "then", Key: "then"},                               // what becomes of it: commit or remove
	{Title: "in", Key: "in", Show: output.Seconds},             // after which time
	{Title: "head", Key: "head"},                               // the node that the client writes to
	{Title: "path", Key: "path"},                               // as of the open
}
