package files

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/rules/layout"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// DuCommand makes `hemera du`: usage of trees. It makes one request for each argument; the manager has sums for every
// directory.
func DuCommand(e *cli.Env) *cobra.Command {
	var summary, all, bytes bool
	var depth int
	c := &cobra.Command{
		Use: "du <path>…", Short: "Show how much directories hold", Args: cobra.MinimumNArgs(1), ValidArgsFunction: complete.Paths(e),
		Long: `Prints the contents of each directory: logical bytes, bytes of all pieces, and files. The
namespace keeps exact sums, so du -s / answers at once.`,
		Example: `  hemera du -s /exp
  hemera du --depth 1 /exp
  hemera du -b -s /exp`,
		RunE: func(c *cobra.Command, args []string) error {
			r := adminapi.WalkRequest{Kind: hemera.KindDirectory, Depth: max(depth, 0)} // Depth 0 means all levels for the manager
			if all {
				r.Kind = 0
			}
			// -1 means the path alone for the manager.
			if summary || depth == 0 {
				r.Depth = -1
			}
			show := output.Bytes
			if bytes {
				show = func(v any) string { return fmt.Sprint(v) }
			}
			line := func(r output.Record) string {
				return fmt.Sprintf("%14s  %14s  %10d  %s", show(r.Get("bytes")), show(r.Get("physical")), r.Get("files"), r.Get("path"))
			}
			heading := fmt.Sprintf("%14s  %14s  %10s  %s\n", "bytes", "physical", "files", "path")
			s := e.Stream(func(r output.Record) string {
				first := heading // before the first line only
				heading = ""
				return first + line(r)
			})
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				err := e.Each(ctx, args, func(arg string) error { return du(ctx, e, m, r, arg, s) })
				if err != nil {
					return err
				}
				return s.Close()
			})
		},
	}
	cli.HumanFlag(c, new(bool), true) // sizes have units unless -b is given
	c.Flags().BoolVarP(&summary, "summarize", "s", false, "only the directories named")
	c.Flags().BoolVarP(&all, "all", "a", false, "files too")                                                      // one line for each
	c.Flags().BoolVarP(&bytes, "bytes", "b", false, "sizes in bytes")                                             // for scripts
	c.Flags().IntVar(&depth, "depth", -1, "levels below the path to show; 0 shows the path alone, -1 all levels") // as du -d
	c.MarkFlagsMutuallyExclusive("summarize", "depth")
	return c
}

// du prints the usage of one argument. Directories that could not be listed are printed on standard error; the others
// continue, and the command fails at the end.
func du(ctx context.Context, e *cli.Env, m *admin.Client, r adminapi.WalkRequest, arg string, s *output.Stream) error {
	path, err := e.OnManager(arg)
	if err != nil {
		return err
	}
	if r.Path = path; r.Depth == -1 {
		r.Kind = 0 // a file may be named too
	}
	var failed int64
	_, err = m.Names.Walk(ctx, r, func(f adminapi.Found) error {
		if f.Err != "" {
			text, _ := e.Explain(f.Err)
			fmt.Fprintf(e.Err, "hemera: %s\n", text)
			failed++
			return nil
		}
		t := f.Entry.Tree // everything below the directory
		if !f.Entry.IsDir() {
			t = hemera.TreeTotals{Files: 1, Bytes: f.Entry.Size, Physical: layout.Used(f.Entry.Layout, f.Entry.Size, f.Entry.Pieces)}
		}
		return s.Add(output.Record{
			{Key: "path", Value: f.Path}, {Key: "bytes", Value: t.Bytes}, {Key: "physical", Value: t.Physical},
			{Key: "files", Value: t.Files}, {Key: "directories", Value: t.Dirs},
		})
	})
	if err == nil && failed > 0 { // the sums of the listed directories are printed in any case
		err = errs.New(errs.Internal, "hemera.Du", path, output.Count(failed, "directory")+" could not be listed")
	}
	return err
}
