package files

import (
	"context"

	"github.com/spf13/cobra"

	"hemera/client/xrootd"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/hemera"
)

// StatCommand makes `hemera stat`: one entry. It fails with NotFound if the entry does not exist. A checksum that the
// server has not stored is computed there, which takes as long as reading the file.
func StatCommand(e *cli.Env) *cobra.Command {
	var checksum string
	c := &cobra.Command{
		Use: "stat <path>", Short: "Show one entry", Args: cobra.ExactArgs(1), ValidArgsFunction: complete.Paths(e),
		Long: "Shows size, mode, owner and times of one entry. The exit code is 1 if it does not exist.\n" + cli.PathHelp,
		Example: `  hemera stat /exp/data.root
  hemera stat --checksum adler32 /exp/data.root
  hemera stat /exp/data.root -j | jq .result[0].size`,
		RunE: func(c *cobra.Command, args []string) error {
			return e.Files(c, func(ctx context.Context, cl *xrootd.Client) error {
				u, err := e.Remote(args[0])
				if err != nil {
					return err
				}
				i, err := cl.Stat(ctx, u)
				if err != nil {
					return err
				}
				r := entryRecord(hemera.PlainPath(u.Path), i)
				if c.Flags().Changed("checksum") {
					kind, err := hemera.ParseChecksumKind(checksum) // before the request: a misspelt kind is an error of the command line
					if err != nil {
						return cli.Usage(err)
					}
					sum, err := cl.Checksum(ctx, u, kind)
					if err != nil {
						return err
					}
					r = append(r, output.Field{Key: "xstype", Value: sum.Kind.String()}, output.Field{Key: "xs", Value: sum.Hex()}) // EOS's keys
				}
				// Times are numbers in a record, so that programs need not parse them.
				columns := cli.ColumnsOf(r)
				for n := range columns {
					if k := columns[n].Key; k == "mtime" || k == "ctime" {
						columns[n].Show = output.Time // a person reads a date
					}
				}
				return e.Printer().One(columns, r)
			})
		},
	}
	c.Flags().StringVar(&checksum, "checksum", "", "show the checksum of this kind too (none: the kind the server prefers)")
	_ = c.RegisterFlagCompletionFunc("checksum", complete.Checksums)
	return c
}
