package recycle

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// lsCommand makes `hemera recycle ls`. Entries are printed as they come, so that a bin of any size can be listed. The
// order is the manager's: by bin, by owner, and by time.
func lsCommand(e *cli.Env) *cobra.Command {
	var user string
	var numeric bool
	c := &cobra.Command{
		Use: "ls [path]", Aliases: []string{"list"}, Short: "List what is in recycle bins", Args: cobra.MaximumNArgs(1), ValidArgsFunction: complete.Paths(e),
		Long: `Lists what was removed or replaced, with a path only what was there or below it: when it was
removed, whose it is, its size, the id to restore it by, and where it was. A path is listed once for
each time that it was removed. Users see what they own; admins see everything, with -u one owner's.`,
		Example: `  hemera recycle ls
  hemera recycle ls /exp/run1 -j
  hemera recycle ls -u alice`,
		RunE: func(c *cobra.Command, args []string) error {
			// The manager gives users only their own entries, whatever the request says.
			q := adminapi.RecycleQuery{All: user == ""}
			if user != "" {
				// Names are those of this machine; the manager knows only numbers.
				id, err := cli.ParseID(user, cli.LookupUser)
				if err != nil {
					return err
				}
				q.User = uint32(id) // ParseID has checked the range
			}
			// The path need not exist any more, so it is not looked up.
			if len(args) > 0 {
				var err error
				if q.Below, err = e.OnManager(args[0]); err != nil {
					return err
				}
				q.Below = hemera.PlainPath(q.Below)
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error { return ls(ctx, e, m, q, numeric) })
		},
	}
	c.Flags().StringVarP(&user, "uid", "u", "", "only what this `user` owns, by name or number")
	c.Flags().BoolVarP(&numeric, "numeric", "n", false, "numbers instead of names")
	return c
}

// ls prints the entries that match. For people a directory ends in a slash, as in hemera ls -l.
func ls(ctx context.Context, e *cli.Env, m *admin.Client, q adminapi.RecycleQuery, numeric bool) error {
	s := e.Stream(func(r output.Record) string {
		return fmt.Sprintf("%s  %-8v  %11s  fxid:%s  %v%s", output.Time(r.Get("dtime")), r.Get("uid"), output.Bytes(r.Get("size")), r.Get("fxid"),
			r.Get("path"), cli.OnOff(r.Get("type") == "directory", "/", ""))
	})
	none := true // so far
	// The server identifies the caller; the identity is not sent.
	err := m.Recycle.ListRecycled(ctx, hemera.Identity{}, q, func(r adminapi.Recycled) error {
		if none && !e.ForPrograms() { // with the first entry: an empty list has no header
			fmt.Fprintf(e.Out, "%-19s  %-8s  %11s  %-13s  %s\n", "removed", "owner", "size", "id", "path")
		}
		none = false
		return s.Add(record(r, numeric))
	})
	if err != nil {
		return err
	}
	// To standard error, so that a pipe gets only entries.
	if none && !e.ForPrograms() {
		fmt.Fprintln(e.Err, "nothing is in a recycle bin")
	}
	return s.Close()
}

// record makes the record of an entry for programs. Times are seconds since 1970; expires is 0 if age does not matter.
func record(r adminapi.Recycled, numeric bool) output.Record {
	var expires int64 // seconds since 1970
	if !r.Expires.IsZero() {
		expires = r.Expires.Unix()
	}
	size := r.Entry.Size
	if r.Entry.IsDir() {
		size = r.Entry.Tree.Bytes // only directories of versions have anything in them
	}
	return output.Record{
		// The owner may restore it; who is the user that removed it.
		{Key: "dtime", Value: r.Removed.Unix()}, {Key: "uid", Value: cli.NameOf(r.Entry.UID, numeric, cli.UserName)}, {Key: "gid", Value: cli.NameOf(r.Entry.GID, numeric, cli.GroupName)},
		{Key: "size", Value: size}, {Key: "fxid", Value: r.Entry.ID.Hex()}, {Key: "type", Value: cli.OnOff(r.Entry.IsDir(), "directory", "file")},
		{Key: "path", Value: r.Path}, {Key: "who", Value: r.Who}, {Key: "expires", Value: expires}, {Key: "bin", Value: r.Bin},
	}
}
