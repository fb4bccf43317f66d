// Package cli has the common parts of all commands of hemera: their streams, the cluster's address, output, and exit
// codes.
//
// A command is a function that takes an [Env] and returns a cobra command. Its code runs as
//
//	return e.Ask(c, func(ctx context.Context, m *admin.Client) error { … })       // the manager's admin API
//	return e.Files(c, func(ctx context.Context, cl *xrootd.Client) error { … })   // the data protocol
//
// and prints through the [Console] that the Env embeds: List and Stream print records, which are a table for a person,
// lines of key=value pairs with -m and JSON with -j; Say tells a person what was done. A command that destroys something
// takes a [Consent].
//
// [Run] runs one command line. An error goes to standard error as one sentence with its remedy, and with -j also to
// standard output. The exit code is 0, ExitFailed, or ExitUsage if the command line is wrong. Commands that give a
// verdict, such as status, have codes of their own: see ExitWarning.
//
// Nothing here is safe for concurrent use, except Follow, whose goroutine ends with the function it returns, and
// Complain, which writes one message in one call for each line.
package cli
