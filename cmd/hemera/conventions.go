package main

import "github.com/spf13/cobra"

// conventions returns the help topic with the conventions of all commands. It has nothing to run, so cobra lists it as a
// topic.
func conventions() *cobra.Command {
	return &cobra.Command{
		Use: "conventions", Short: "Paths, output, errors and exit codes of all commands",
		Long: `Where commands work. ls, cp, stat and others about files speak XRootD only, so they work with other XRootD
servers too. find, du, attr, chown, file info, why and quota ls use the admin API: by HTTP on the manager's
machine, elsewhere through the XRootD port, as the same user as ls. Most others are for admins: root,
and the user that the manager runs as, on the manager's machine. There the unix socket works too:

  hemera --url unix:///run/hemera/admin.sock fs ls

Paths. A path on the cluster is /exp/a or :/exp/a, on any XRootD server root://host:1094//exp/a. Commands
that also take local files (cp) need the colon. An empty path is an error; the root is /.

Output. Lists are tables. -m prints a line of key=value pairs for each item, -j one JSON object with a result
list, whose retc is the exit code. Keys have EOS's names where EOS has the thing. A narrow terminal shows the
most important columns and folds long texts; pipes, -m and -j have everything. --columns chooses columns, by
title or by key of -m. A terminal shows characters of a name that it cannot print as escapes (\x1b, \xff); a
pipe has names unchanged, -m quotes them.

  hemera fs ls --columns id,path,stat.errmsg
  hemera -m fs ls 1 | tr ' ' '\n' | grep stat.health=
  hemera -j ns stat | jq .result[0]

Errors say what failed, why, what to do if something can be done, and the trace id for the logs of the
servers. --verbose and -j also show the steps inside Hemera that led to the error.

Exit codes. 0: done. 1: failed; also, a check found something. 2: the command line or the settings are wrong.
status, fsck report and others with a verdict have codes of their own, which their help names.

Commands that destroy say what will go, and ask. A script gives its consent with --yes; --dry-run says what
would go, and stops.`,
	}
}
