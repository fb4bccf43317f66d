package cluster

import (
	"context"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// quotaSetCommand makes `hemera quota set`. Limits that are not given stay unchanged. Setting the same limits twice is
// harmless.
func quotaSetCommand(e *cli.Env) *cobra.Command {
	var w whose
	var bytes, physical, files string
	c := &cobra.Command{
		Use: "set", Short: "Set limits", Args: cobra.NoArgs,
		Long: `Sets limits for everything below a directory. The first limit makes the directory a quota node.
Limits that the command does not name stay as they are; 0 removes a limit.

  --bytes      the size of the files: a file of 1 GB with two copies counts 1 GB
  --physical   the room on disks: the same file counts 2 GB
  --files      the number of files; directories do not count

Sizes are written 500G or 10T, in powers of 1000, or with their unit: 500GB, 10TiB. Numbers of files
are written 1000000 or 1M.

Files that are there already are counted in the background. Until that is done, the limits of users
and groups do not hold, and quota ls says "counting". The limits of a project hold at once. Limits hold
for everybody, admins too.`,
		Example: `  hemera quota set -p /exp --uid alice --bytes 10T --files 1M
  hemera quota set -p /exp --uid default --bytes 100G
  hemera quota set -p /exp/run3 --project --physical 2P`,
		RunE: func(c *cobra.Command, _ []string) error {
			key, err := w.key(e)
			if err == nil {
				// An empty path would be the root.
				_, err = e.OnManager(w.path) // must be given
			}
			if err != nil {
				return err
			}
			// Each field is a limit, QuotaKeep for no change, or 0 to remove it.
			var l hemera.QuotaAmount
			for _, f := range []struct {
				text  string
				parse func(string, int64) (int64, bool)
				into  *int64
			}{{bytes, cli.ParseSize, &l.Bytes}, {physical, cli.ParseSize, &l.Physical}, {files, cli.ParseCount, &l.Files}} {
				if *f.into, err = parseLimit(f.text, f.parse); err != nil {
					return err
				}
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				if err := m.Quota.SetQuota(ctx, key, l); err != nil {
					return err
				}
				e.Say("quota of %s in %s set", quotaName(key), key.Path)
				return nil
			})
		},
	}
	w.flags(e, c, true)
	c.Flags().StringVarP(&bytes, "bytes", "v", "", "most bytes, as `size`: 500G, 10T, 10TiB")            // logical; -v is EOS's (volume)
	c.Flags().StringVar(&physical, "physical", "", "most bytes on disks, every copy counted, as `size`") // with all copies
	c.Flags().StringVarP(&files, "files", "i", "", "most files, as `number`: 500k, 1M")                  // -i is EOS's (inodes)
	c.MarkFlagsOneRequired("bytes", "physical", "files")
	return c
}

// parseLimit parses a limit with the given parser. An empty text keeps the present limit. It fails with Invalid, as an
// error of the command line.
func parseLimit(s string, parse func(string, int64) (int64, bool)) (int64, error) {
	if s == "" {
		return adminapi.QuotaKeep, nil
	}
	// About 10^18, so that sums of two limits fit in an int64.
	n, ok := parse(s, 1<<60)
	if !ok {
		return 0, cli.Usage(errs.New(errs.Invalid, "hemera.ReadLimit", s, "want a whole number, with k, M, G, T or P").WithRemedy("write 10T or 1.5T, or a size with its unit, 10TiB; 0 is no limit"))
	}
	return n, nil
}
