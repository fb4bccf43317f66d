package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/cmd/hemera/internal/output"
	"hemera/doors/admin"
	"hemera/errs"
)

func quotaCommand(e *env) *cobra.Command {
	c := noun("quota", "Limits of users, groups and projects: list, set, remove",
		quotaLsCommand(e), quotaSetCommand(e), quotaRmCommand(e), quotaRmnodeCommand(e))
	c.Long = `A directory with limits is a quota node. Limits are of a user, of a group, or of the project, which
is everything below the directory. A file counts for its owner and its group at the nearest quota
node above it, and for the projects of all quota nodes above it.

A user cannot write more when a limit is used up. A write that announced its size when it was opened,
as copies do, was promised its room and can finish.`
	c.Example = `  hemera quota set -p /exp --uid alice --bytes 10T --files 1M
  hemera quota ls -p /exp
  hemera quota rm -p /exp --uid alice`
	return c
}

// whose are the flags that say of whom a quota is.
type whose struct {
	path, uid, gid string
	project        bool
}

func (w *whose) flags(e *env, c *cobra.Command, needed bool) {
	c.Flags().StringVarP(&w.path, "path", "p", "", "the `directory`")
	c.Flags().StringVarP(&w.uid, "uid", "u", "", "a `user`, by name or number; default is every user without limits of his own")
	c.Flags().StringVarP(&w.gid, "gid", "g", "", "a `group`, by name or number; default is every group without limits of its own")
	c.Flags().BoolVar(&w.project, "project", false, "everything below the directory, whoever it belongs to")
	c.MarkFlagsMutuallyExclusive("uid", "gid", "project")
	if needed {
		c.MarkFlagsOneRequired("uid", "gid", "project")
		_ = c.MarkFlagRequired("path")
	}
	_ = c.RegisterFlagCompletionFunc("path", completePaths(e))
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
		Long: `Sets limits for everything below a directory. The first limit makes the directory a quota node.
Limits that the command does not name stay as they are; 0 takes one away.

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
				_, err = e.onManager(w.path) // must be there
			}
			if err != nil {
				return err
			}
			var l hemera.QuotaAmount
			for _, f := range []struct {
				text  string
				parse func(string, int64) (int64, bool)
				into  *int64
			}{{bytes, parseSize, &l.Bytes}, {physical, parseSize, &l.Physical}, {files, parseCount, &l.Files}} {
				if *f.into, err = parseLimit(f.text, f.parse); err != nil {
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
	c.Flags().StringVarP(&bytes, "bytes", "v", "", "most bytes, as `size`: 500G, 10T, 10TiB")
	c.Flags().StringVar(&physical, "physical", "", "most bytes on disks, every copy counted, as `size`")
	c.Flags().StringVarP(&files, "files", "i", "", "most files, as `number`: 500k, 1M")
	c.MarkFlagsOneRequired("bytes", "physical", "files")
	return c
}

// parseLimit reads a size or a number; nothing leaves the limit as it is.
func parseLimit(s string, parse func(string, int64) (int64, bool)) (int64, error) {
	if s == "" {
		return hemera.QuotaKeep, nil
	}
	n, ok := parse(s, 1<<60)
	if !ok {
		return 0, usage(errs.New(errs.Invalid, "read limit", s, "want a whole number, with k, M, G, T or P").WithRemedy("write 10T or 1.5T, or a size with its unit, 10TiB; 0 is no limit"))
	}
	return n, nil
}

func quotaRmCommand(e *env) *cobra.Command {
	var w whose
	var k consent
	c := &cobra.Command{
		Use: "rm", Short: "Remove the limits of one user, group or project", Args: cobra.NoArgs,
		Long: `Removes the limits of one user, of one group, or of the project of a directory. A directory without
limits is no quota node: its files count at the next quota node above it, if there is one.`,
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
		Long: `Removes all limits of a directory. It is no quota node any more: its files count at the next
quota node above it, if there is one.`,
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
	_ = c.RegisterFlagCompletionFunc("path", completePaths(e))
	return c
}
