package main

import (
	"context"
	"fmt"
	"os/user"
	"strconv"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/admin"
	"hemera/cmd/hemera/internal/output"
	"hemera/errs"
)

func quotaCommand(e *env) *cobra.Command {
	c := noun("quota", "Limits of users, groups and projects: list, set, remove",
		quotaLsCommand(e), quotaSetCommand(e), quotaRmCommand(e), quotaRmnodeCommand(e))
	c.Long = `A directory with limits is a quota node. A user's or group's files count at the nearest
node above them, all files below a node count for its project. Who has used up a limit
cannot open more files for writing; what is being written is never thrown away.`
	return c
}

// whose are the flags that say of whom a quota is.
type whose struct {
	path, uid, gid string
	project        bool
}

func (w *whose) flags(e *env, c *cobra.Command, needed bool) {
	c.Flags().StringVarP(&w.path, "path", "p", "", "the directory")
	c.Flags().StringVarP(&w.uid, "uid", "u", "", "a user, by name or number; default: every user without limits of his own")
	c.Flags().StringVarP(&w.gid, "gid", "g", "", "a group, by name or number; default: every group without limits of its own")
	c.Flags().BoolVar(&w.project, "project", false, "everything below the directory, whoever it belongs to")
	c.MarkFlagsMutuallyExclusive("uid", "gid", "project")
	if needed {
		c.MarkFlagsOneRequired("uid", "gid", "project")
		_ = c.MarkFlagRequired("path")
	}
	_ = c.RegisterFlagCompletionFunc("path", e.completePaths)
}

// key reads the flags; without one of them the kind is zero.
func (w *whose) key(e *env) (k hemera.QuotaKey, err error) {
	if w.path != "" {
		if k.Path, err = e.onManager(w.path); err != nil {
			return k, err
		}
	}
	name, lookup := w.uid, lookupUser
	switch {
	case w.project:
		k.Kind = hemera.QuotaProject
		return k, nil
	case w.uid != "":
		k.Kind = hemera.QuotaUser
	case w.gid != "":
		k.Kind, name, lookup = hemera.QuotaGroup, w.gid, lookupGroup
	default:
		return k, nil
	}
	if name == "default" {
		k.ID = hemera.QuotaDefault
		return k, nil
	}
	id, err := parseID(name, lookup)
	k.ID = uint32(id)
	return k, err
}

func lookupUser(name string) (string, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return "", err
	}
	return u.Uid, nil
}

func lookupGroup(name string) (string, error) {
	g, err := user.LookupGroup(name)
	if err != nil {
		return "", err
	}
	return g.Gid, nil
}

// quotaName says of whom a quota is.
func quotaName(k hemera.QuotaKey) string {
	switch {
	case k.Kind == hemera.QuotaProject:
		return "the project"
	case k.ID == hemera.QuotaDefault:
		return "every other " + k.Kind.String()
	}
	return k.Kind.String() + " " + strconv.FormatUint(uint64(k.ID), 10)
}

func quotaSetCommand(e *env) *cobra.Command {
	var w whose
	var bytes, physical, files string
	c := &cobra.Command{
		Use: "set", Short: "Set limits", Args: cobra.NoArgs,
		Long: `Sets limits below a directory, which becomes a quota node with its first. Limits that
are not named stay as they are; 0 takes one away.

Sizes and counts take k, M, G, T, P (powers of 1000). --bytes are what files hold,
--physical is that with every replica counted.

Files that are there already are counted in the background; until that is done the
limits of users and groups do not hold and quota ls says "counting". A project's
limits hold at once. Nobody is exempt, admins neither.`,
		Example: `  hemera quota set -p /exp --uid alice --bytes 10T --files 1M
  hemera quota set -p /exp --uid default --bytes 100G
  hemera quota set -p /exp/run3 --project --physical 2P`,
		RunE: func(c *cobra.Command, _ []string) error {
			key, err := w.key(e)
			if err == nil {
				_, err = e.onManager(w.path) // must be there
			}
			if err != nil {
				return err
			}
			var l hemera.QuotaAmount
			for _, f := range []struct {
				text string
				into *int64
			}{{bytes, &l.Bytes}, {physical, &l.Physical}, {files, &l.Files}} {
				if *f.into, err = parseLimit(f.text); err != nil {
					return err
				}
			}
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				if err := m.SetQuota(ctx, key, l); err != nil {
					return err
				}
				e.say("quota of %s in %s set", quotaName(key), key.Path)
				return nil
			})
		},
	}
	w.flags(e, c, true)
	c.Flags().StringVarP(&bytes, "bytes", "v", "", "most bytes")
	c.Flags().StringVar(&physical, "physical", "", "most bytes with every replica counted")
	c.Flags().StringVarP(&files, "files", "i", "", "most files")
	c.MarkFlagsOneRequired("bytes", "physical", "files")
	return c
}

// parseLimit reads n with k, M, G, T or P; nothing leaves the limit as it is.
func parseLimit(s string) (int64, error) {
	if s == "" {
		return hemera.QuotaKeep, nil
	}
	n, ok := parseCount(s, 1<<60)
	if !ok {
		return 0, &usageError{errs.New(errs.Invalid, "read limit", s, "want a whole number, with k, M, G, T or P").WithRemedy("for example 10T or 1.5T; 0 for no limit")}
	}
	return n, nil
}

func quotaRmCommand(e *env) *cobra.Command {
	var w whose
	var k consent
	c := &cobra.Command{
		Use: "rm", Short: "Remove the limits of one user, group or project", Args: cobra.NoArgs,
		Long: `Removes the limits of one user, group or project of a directory. With its last limit the
directory ends to be a quota node: its files count at the next node above, if any.`,
		Example: `  hemera quota rm -p /exp --uid alice
  hemera quota rm -p /exp/run3 --project`,
		RunE: func(c *cobra.Command, _ []string) error {
			key, err := w.key(e)
			if err == nil {
				_, err = e.onManager(w.path)
			}
			if err != nil {
				return err
			}
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				if ok, err := e.agreeQuotas(ctx, m, k, key); !ok {
					return err
				}
				if err := m.RemoveQuota(ctx, key); err != nil {
					return err
				}
				e.say("quota of %s in %s removed", quotaName(key), key.Path)
				return nil
			})
		},
	}
	w.flags(e, c, true)
	k.flags(c)
	return c
}

// agreeQuotas says which limits go, of one or of the whole directory.
func (e *env) agreeQuotas(ctx context.Context, m *admin.Client, k consent, key hemera.QuotaKey) (bool, error) {
	rows, err := m.Quotas(ctx, key.Path)
	if err != nil {
		return false, err
	}
	var stake []string
	for _, q := range rows {
		all := key.Kind == 0 || q.Kind == key.Kind && q.ID == key.ID
		if q.Path != key.Path || !all || q.Default || q.Limits == (hemera.QuotaAmount{}) {
			continue
		}
		if len(stake) == namesShown {
			stake = append(stake, "  and more: hemera quota ls -p "+key.Path)
			break
		}
		stake = append(stake, fmt.Sprintf("  the limits of %s in %s: %s, %s; used are %s, %s", quotaName(q.QuotaKey), q.Path,
			limit(q.Limits.Files, "file"), limitBytes(q.Limits), output.Count(q.Used.Files, "file"), output.Bytes(q.Used.Bytes)))
	}
	if len(stake) == 0 && !k.dry {
		return true, nil // the manager says what is wrong
	}
	return e.agree(ctx, k, "quota rm", append([]string{output.Count(int64(len(stake)), "limit") + " will go, and writes are not bounded by them any more"}, stake...))
}

func limit(n int64, what string) string {
	if n == 0 {
		return "no limit of " + what + "s"
	}
	return output.Count(n, what)
}

func limitBytes(a hemera.QuotaAmount) string {
	switch {
	case a.Bytes > 0:
		return output.Bytes(a.Bytes)
	case a.Physical > 0:
		return output.Bytes(a.Physical) + " on disks"
	}
	return "no limit of bytes"
}

func quotaRmnodeCommand(e *env) *cobra.Command {
	var path string
	var k consent
	c := &cobra.Command{
		Use: "rmnode", Short: "Remove all limits of a directory", Args: cobra.NoArgs,
		Long:    `Removes all limits of a directory, which is no quota node any more.`,
		Example: `  hemera quota rmnode -p /exp`,
		RunE: func(c *cobra.Command, _ []string) error {
			at, err := e.onManager(path)
			if err != nil {
				return err
			}
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				if ok, err := e.agreeQuotas(ctx, m, k, hemera.QuotaKey{Path: at}); !ok {
					return err
				}
				if err := m.RemoveQuota(ctx, hemera.QuotaKey{Path: at}); err != nil {
					return err
				}
				e.say("%s has no quotas any more", at)
				return nil
			})
		},
	}
	c.Flags().StringVarP(&path, "path", "p", "", "the directory")
	k.flags(c)
	_ = c.MarkFlagRequired("path")
	_ = c.RegisterFlagCompletionFunc("path", e.completePaths)
	return c
}
