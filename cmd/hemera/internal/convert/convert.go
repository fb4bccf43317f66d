package convert

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/rules/lifecycle"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Command makes `hemera convert`, with its verbs ls and stop.
func Command(e *cli.Env) *cobra.Command {
	var r adminapi.ConversionRequest
	var dry, wait bool
	// The values of the flags, by the keys of a form.
	words := map[string]*string{"layout": new(string), "blocksize": new(string), "space": new(string), "checksum": new(string)}
	c := &cobra.Command{
		Use: "convert <path>", Short: "Store files in another layout, space or checksum: request, list, stop", Args: cobra.ExactArgs(1),
		Long: `Has a file, or with -r all files below a directory, stored in another form. What is not named stays.
The manager remembers the request, and nodes do it in the background: each file is read, verified,
written again and compared by all its checksums before it replaces the old one. Its id, owner, mode,
times and attributes stay, and those who are reading it go on. A file that is being written is left
alone and tried again, in all for about an hour.

  --layout     plain, replica:2, rs:4+2, stripe:4, lrc:12+2+2; EOS's raid5, raid6, archive, qrain as raid6:8
  --blocksize  of layouts with blocks: 64k to 16M
  --space      where the files are to be
  --checksum   one more for each file; those that it has are kept

hemera convert ls shows how far requests are, hemera convert stop ends one. New files are stored by the
policy of their directory (hemera attr set, sys.forced.layout); to convert by age or size without a
request, see sys.lifecycle.convert in the documentation.`,
		Example: `  hemera convert /exp/run1 -r --layout rs:4+2
  hemera convert /exp/run1 -r --space archive --checksum sha256 --wait
  hemera convert /exp/run1 -r --layout replica:3 --dry-run
  hemera convert ls`,
		RunE: func(c *cobra.Command, args []string) (err error) {
			if r.Path, err = e.OnManager(args[0]); err != nil {
				return err
			}
			for key, text := range words {
				// An empty text is an error, because a script may have an empty variable.
				if c.Flags().Changed(key) {
					if _, err := lifecycle.SetForm(&r.Form, key, *text); err != nil {
						return cli.Usage(errs.New(errs.Invalid, "hemera.Convert", "--"+key+" "+*text, errs.Reason(err, "")))
					}
				}
			}
			if err := lifecycle.CheckForm(r.Form); err != nil {
				return cli.Usage(errs.New(errs.Invalid, "hemera.Convert", r.Form.String(), errs.Reason(err, "")).WithRemedy("name --layout, --blocksize, --space or --checksum"))
			}
			// The manager knows whether the space exists.
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				if dry {
					return survey(ctx, e, m, r)
				}
				return request(ctx, e, m, r, wait)
			})
		},
		ValidArgsFunction: complete.Paths(e),
	}
	cli.RecursiveFlag(c, &r.Recursive, "all files below a directory")
	c.Flags().StringVar(words["layout"], "layout", "", "the layout, such as replica:3 or rs:4+2")
	c.Flags().StringVar(words["blocksize"], "blocksize", "", "the `size` of blocks, such as 1M")
	c.Flags().StringVar(words["space"], "space", "", "the space")
	c.Flags().StringVar(words["checksum"], "checksum", "", "the `kind` of one more checksum, such as sha256")
	c.Flags().BoolVar(&dry, "dry-run", false, "only say how many files would be converted")
	c.Flags().BoolVar(&wait, "wait", false, "show progress, and return when the request is done")
	c.MarkFlagsMutuallyExclusive("dry-run", "wait")
	// Frequent layouts and sizes; others are accepted too.
	fixed := func(words ...cobra.Completion) cobra.CompletionFunc {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	_ = c.RegisterFlagCompletionFunc("layout", fixed("plain", "replica:2", "replica:3", "rs:4+2", "rs:8+3", "rs:10+4", "stripe:4", "lrc:12+2+2"))
	_ = c.RegisterFlagCompletionFunc("blocksize", fixed("64k", "256k", "1M", "4M", "16M"))
	_ = c.RegisterFlagCompletionFunc("space", complete.Flag(complete.Spaces(e)))
	_ = c.RegisterFlagCompletionFunc("checksum", complete.Checksums) // all kinds but none, which would take checksums away
	c.AddCommand(lsCommand(e), stopCommand(e))
	return c
}

// warnOfRoom prints a warning if no space, or not the one that is asked for, has a disk for each piece of the layout. The
// request waits for disks then. Errors of the question are not errors of the command.
func warnOfRoom(ctx context.Context, e *cli.Env, m *admin.Client, r adminapi.ConversionRequest) {
	v, err := m.Cluster.View(ctx)
	if err != nil || r.Form.Layout.Pieces == 0 {
		return
	}
	disks, most := map[hemera.SpaceName]int{}, 0
	// Without a named space files stay in theirs, so the largest space counts.
	for _, d := range v.Disks {
		if disks[d.Space]++; r.Form.Space == "" || d.Space == r.Form.Space {
			most = max(most, disks[d.Space])
		}
	}
	if pieces := int(r.Form.Layout.Pieces); most < pieces {
		fmt.Fprintf(e.Err, "hemera: warning: %s has %d pieces, each on a disk of its own, and the space has %s\n  what to do: add disks, or stop the request: hemera convert ls\n",
			r.Form.Layout, pieces, output.Count(int64(most), "disk"))
	}
}

// request asks for a conversion, and waits for its end if asked to. When it returns the request is durable, so an
// interruption while it waits ends the waiting only.
func request(ctx context.Context, e *cli.Env, m *admin.Client, r adminapi.ConversionRequest, wait bool) error {
	c, err := m.Conversions.Convert(ctx, "", r)
	if err != nil {
		return err
	}
	warnOfRoom(ctx, e, m, r)
	// With --wait the record of the end is printed instead.
	if wait {
		return follow(ctx, e, m, c.ID)
	}
	e.Say("request %d: %s becomes %s; hemera convert ls shows how far it is", c.ID, r.Path, r.Form)
	return nil
}

// survey says what a request would do. It walks the tree from here, and changes nothing.
func survey(ctx context.Context, e *cli.Env, m *admin.Client, r adminapi.ConversionRequest) error {
	var files, due, bytes int64
	// The same error as that of the request.
	top, err := m.Names.Stat(ctx, hemera.Identity{}, r.Path)
	if err != nil {
		return err
	}
	if top.IsDir() && !r.Recursive {
		return errs.New(errs.IsDirectory, "hemera.Convert", r.Path, "it is a directory").WithRemedy("add -r to convert all files below it")
	}
	// Entries arrive while the manager walks; none is kept.
	_, err = m.Names.Walk(ctx, adminapi.WalkRequest{Path: r.Path, Kind: hemera.KindFile}, func(f adminapi.Found) error {
		// A directory that cannot be listed makes the numbers wrong.
		if f.Err != "" {
			return errs.New(errs.IO, "hemera.Convert", f.Path, f.Err)
		}
		files++
		// The manager uses the same rule.
		if _, is := lifecycle.Wanted(f.Entry, r.Form); is {
			due++
			bytes += f.Entry.Size
		}
		return nil
	})
	if err != nil {
		return err
	}
	// The keys differ from those of a request, because it is none.
	if e.ForPrograms() {
		return e.List(nil, []output.Record{{{Key: "path", Value: r.Path}, {Key: "form", Value: r.Form.String()}, {Key: "files", Value: files}, {Key: "due", Value: due}, {Key: "duebytes", Value: bytes}}}, "")
	}
	e.Say("%s", fmt.Sprintf("%s: %d of %s would be converted to %s, %s\nnothing was done (--dry-run)", r.Path, due, output.Count(files, "file"), r.Form, output.Bytes(bytes)))
	return nil
}
