// Package cluster has the commands that show or control the whole cluster: its health (status), explanations (why),
// sessions and open files (who, open), the comparison of namespace and disks (fsck), quotas, settings and keys.
//
// All of them ask the manager's admin API. The manager decides what a caller may see: users get their own limits from
// quota ls; everything else is for admins.
//
// Two commands give a verdict by their exit code, for monitoring: status (0 well, 1 warnings, 2 errors) and fsck report
// (0 all agrees, 1 something does not). Both end with 3 if they could not find out, for any reason.
//
// One file has one command. A command makes its records from one answer of the manager, so that the lines of one output
// belong together. who joins two answers; the second one is newer. A table never mixes units. Keys of records are EOS's
// where EOS has the same thing: for fsck the tags of eos fsck, for quota the keys of eos quota ls.
//
// Nothing here changes data except fsck repair, key rotate, open rm and the quota commands.
//
// status --watch runs until it is interrupted. It asks, prints and waits in turn, without a goroutine.
package cluster
