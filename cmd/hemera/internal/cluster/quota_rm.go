package cluster

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/cmd/hemera/internal/storage"
	"hemera/words/hemera"
)

// quotaRmCommand makes `hemera quota rm`, for the limits of one owner. The directory stays a quota node as long as it has
// another limit.
func quotaRmCommand(e *cli.Env) *cobra.Command {
	var w whose
	var k cli.Consent
	c := &cobra.Command{
		Use: "rm", Short: "Remove the limits of one user, group or project", Args: cobra.NoArgs,
		Long: `Removes the limits of one user, of one group, or of the project of a directory. A directory without
limits is not a quota node: its files count at the next quota node above it, if there is one.`,
		Example: `  hemera quota rm -p /exp --uid alice
  hemera quota rm -p /exp/run3 --project`,
		RunE: func(c *cobra.Command, _ []string) error {
			key, err := w.key(e)
			if err == nil {
				// An empty --path is refused here, because key takes it for no path.
				_, err = e.OnManager(w.path)
			}
			if err != nil {
				return err
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				if ok, err := agreeQuotas(ctx, e, m, k, key); !ok {
					return err
				}
				if err := m.Quota.RemoveQuota(ctx, key); err != nil {
					return err
				}
				e.Say("quota of %s in %s removed", quotaName(key), key.Path)
				return nil
			})
		},
	}
	w.flags(e, c, true)
	k.Flags(c)
	return c
}

// quotaRmnodeCommand makes `hemera quota rmnode`, for all limits of a directory. The name is EOS's. It removes no file.
func quotaRmnodeCommand(e *cli.Env) *cobra.Command {
	var path string
	var k cli.Consent
	c := &cobra.Command{
		Use: "rmnode", Short: "Remove all limits of a directory", Args: cobra.NoArgs,
		Long: `Removes all limits of a directory. It is then not a quota node: its files count at the next
quota node above it, if there is one.`,
		Example: `  hemera quota rmnode -p /exp`,
		RunE: func(c *cobra.Command, _ []string) error {
			at, err := e.OnManager(path)
			if err != nil {
				return err
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				if ok, err := agreeQuotas(ctx, e, m, k, hemera.QuotaKey{Path: at}); !ok {
					return err
				}
				if err := m.Quota.RemoveQuota(ctx, hemera.QuotaKey{Path: at}); err != nil {
					return err
				}
				e.Say("%s has no quotas any more", at)
				return nil
			})
		},
	}
	c.Flags().StringVarP(&path, "path", "p", "", "the directory")
	k.Flags(c)
	_ = c.MarkFlagRequired("path")
	_ = c.RegisterFlagCompletionFunc("path", complete.Paths(e))
	return c
}

// agreeQuotas prints the limits that will be removed, of one owner or of the whole directory, and asks for consent.
// Without limits it does not ask: the manager reports the error. key.Kind 0 means all owners. It lists at most
// storage.NamesShown limits. Rows that follow from a default are left out, because they are removed with the default.
func agreeQuotas(ctx context.Context, e *cli.Env, m *admin.Client, k cli.Consent, key hemera.QuotaKey) (bool, error) {
	rows, err := m.Quota.Quotas(ctx, key.Path)
	if err != nil {
		return false, err
	}
	var stake []string
	for _, q := range rows {
		all := key.Kind == 0 || q.Kind == key.Kind && q.ID == key.ID
		if q.Path != key.Path || !all || q.Default || q.Limits == (hemera.QuotaAmount{}) {
			continue
		}
		if len(stake) == storage.NamesShown {
			stake = append(stake, "  and more: hemera quota ls -p "+key.Path) // the list is for people; the rest is a command away
			break
		}
		stake = append(stake, fmt.Sprintf("  the limits of %s in %s: %s, %s; used are %s, %s", quotaName(q.QuotaKey), q.Path,
			limit(q.Limits.Files, "file"), limitBytes(q.Limits), output.Count(q.Used.Files, "file"), output.Bytes(q.Used.Bytes)))
	}
	if len(stake) == 0 && !k.Dry {
		return true, nil // the manager reports the error
	}
	return e.Agree(ctx, k, "hemera.QuotaRm", append([]string{output.Count(int64(len(stake)), "limit") + " will go, and writes are not bounded by them any more"}, stake...))
}

// limit formats a limit of a number; for 0 that there is none.
func limit(n int64, what string) string {
	if n == 0 {
		return "no limit of " + what + "s"
	}
	return output.Count(n, what)
}

// limitBytes formats a limit of bytes. A quota has a limit of logical bytes, of physical bytes, of both or of none. If
// both are set, it is the logical one.
func limitBytes(a hemera.QuotaAmount) string {
	switch {
	case a.Bytes > 0:
		return output.Bytes(a.Bytes)
	case a.Physical > 0:
		return output.Bytes(a.Physical) + " on disks" // every copy counted
	}
	return "no limit of bytes"
}
