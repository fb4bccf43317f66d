package cluster

import (
	"strconv"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/words/hemera"
)

// QuotaCommand makes `hemera quota`: limits of users, groups and projects. The verbs and their short flags are EOS's.
func QuotaCommand(e *cli.Env) *cobra.Command {
	c := cli.Noun("quota", "Limits of users, groups and projects: list, set, remove",
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

// whose has the flags that name the owner of a quota: a user, a group or a project, at a directory. At most one of uid,
// gid and project is set; cobra refuses more.
type whose struct {
	path, uid, gid string // as typed; "" is not given
	project        bool
}

// flags adds the flags to a command. needed makes the directory and one of the owners required. c keeps a pointer to w.
func (w *whose) flags(e *cli.Env, c *cobra.Command, needed bool) {
	c.Flags().StringVarP(&w.path, "path", "p", "", "the `directory`")
	c.Flags().StringVarP(&w.uid, "uid", "u", "", "a `user`, by name or number; default is every user without own limits")
	c.Flags().StringVarP(&w.gid, "gid", "g", "", "a `group`, by name or number; default is every group without own limits")
	c.Flags().BoolVar(&w.project, "project", false, "everything below the directory, whatever its owner")
	c.MarkFlagsMutuallyExclusive("uid", "gid", "project")
	if needed {
		c.MarkFlagsOneRequired("uid", "gid", "project")
		_ = c.MarkFlagRequired("path")
	}
	_ = c.RegisterFlagCompletionFunc("path", complete.Paths(e))
}

// key returns the key of the quota. Its Kind is 0 without an owner, and its Path "" without a directory. Names are looked
// up on this machine. It fails with Invalid for an unknown name.
func (w *whose) key(e *cli.Env) (k hemera.QuotaKey, err error) {
	// Only the server of a path is checked; the manager knows whether the path exists.
	if w.path != "" {
		if k.Path, err = e.OnManager(w.path); err != nil {
			return k, err
		}
	}
	name, lookup := w.uid, cli.LookupUser
	switch {
	case w.project:
		k.Kind = hemera.QuotaProject // a project has no id
		return k, nil
	case w.uid != "":
		k.Kind = hemera.QuotaUser
	case w.gid != "":
		k.Kind, name, lookup = hemera.QuotaGroup, w.gid, cli.LookupGroup
	default:
		return k, nil
	}
	// A user with the name default can be given by number.
	if name == "default" {
		k.ID = hemera.QuotaDefault
		return k, nil
	}
	id, err := cli.ParseID(name, lookup)
	// ParseID has checked the range.
	k.ID = uint32(id)
	return k, err
}

// quotaName returns the owner of a quota for a sentence, with numbers and not names, because the sentence confirms what
// was stored.
func quotaName(k hemera.QuotaKey) string {
	switch {
	case k.Kind == hemera.QuotaProject:
		return "the project"
	case k.ID == hemera.QuotaDefault:
		return "every other " + k.Kind.String()
	}
	return k.Kind.String() + " " + strconv.FormatUint(uint64(k.ID), 10)
}
