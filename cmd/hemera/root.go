package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/cmd/hemera/internal/output"
	"hemera/doors/admin"
	"hemera/errs"
)

// Exit codes: scripts can tell a command that failed from one that was called wrongly.
const (
	exitFailed = 1
	exitUsage  = 2
)

// execute runs one command line and returns the exit code.
func execute(ctx context.Context, e *env, args []string) int {
	if hemera.TraceID(ctx) == "" {
		ctx = hemera.WithTrace(ctx, hemera.NewTraceID())
	}
	root := newRootCommand(e)
	args, early := e.leadingFlags(args)
	root.SetArgs(args)
	c, err := root, early
	if early == nil {
		c, err = root.ExecuteContextC(ctx)
	}
	if err == nil && len(e.columns.Names) > 0 && !e.columns.Used {
		err = &usageError{&advised{errors.New("--columns has nothing to choose from here"), "it chooses the columns of tables, as of hemera fs ls"}}
	}
	if err == nil {
		return 0
	}
	if together, ok := exclusive(err); ok {
		err = &usageError{&advised{errors.New(together + " exclude each other"), "add --help to see what each does"}}
	}
	if column, ok := errors.AsType[*output.ColumnError](err); ok {
		err = &usageError{&advised{column, "there are " + strings.Join(column.Titles, ", ") + ", and the keys that -m shows"}}
	}
	var found *verdict
	if errors.As(err, &found) {
		return found.code
	}
	if !e.begun {
		err = &usageError{err}
	}
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, errs.Cancelled)) {
		err = interrupted(strings.TrimPrefix(c.CommandPath(), root.Name()+" "), err)
	}
	code := exitFailed
	var usage *usageError
	switch {
	case c.Annotations["judges"] != "":
		code = exitUnknown
	case errors.As(err, &usage):
		code = exitUsage
	}
	e.report(err, code)
	return code
}

// leadingFlags takes the flags that stand before the command, as scripts for EOS write them: -b for no
// colours and nothing that moves, -s for no word about what was done, and -r UID GID for a role. The
// manager knows callers by their process, so only the role that an admin has anyway can be asked for.
func (e *env) leadingFlags(args []string) ([]string, error) {
	for len(args) > 0 {
		switch args[0] {
		case "-b", "--batch":
			e.Terminal, e.Live = 0, false
		case "-s", "--silent":
			e.silent = true
		case "-r":
			if len(args) < 3 || args[1] != "0" || args[2] != "0" {
				return args, errs.New(errs.Invalid, "read role", strings.Join(args[:min(3, len(args))], " "), "only -r 0 0 is known").
					WithRemedy("to act as another user, run the command as that user: sudo -u USER hemera …")
			}
			args = args[2:]
		default:
			return args, nil
		}
		args = args[1:]
	}
	return args, nil
}

// interrupted is what an interrupted command says: its own words, if it has some.
func interrupted(command string, err error) error {
	if own, ok := errors.AsType[*errs.Error](err); ok && strings.HasPrefix(own.Text, "interrupted") {
		return err
	}
	return errs.New(errs.Cancelled, command, "", "interrupted")
}

// usageError is a command line that makes no sense.
type usageError struct{ err error }

func (u *usageError) Error() string { return u.err.Error() }
func (u *usageError) Unwrap() error { return u.err }

// report tells what went wrong: a person on stderr, and with -j a program on stdout, with the exit code.
func (e *env) report(err error, code int) {
	if e.json {
		if e.open == nil {
			e.open = e.printer().Stream(nil)
		}
		_ = e.open.Fail(code, err.Error(), remedyOf(err), traceOf(err))
	}
	e.complain(err)
}

// traceOf is the id under which servers log the request that failed.
func traceOf(err error) string {
	_, trace := plainly(err.Error())
	return cmp.Or(admin.TraceOf(err), trace)
}

// plain is the text of an error for a person, and the trace in it. With --verbose it is the whole of it.
func (e *env) plain(text string) (string, string) {
	plain, trace := plainly(text)
	if e.verbose {
		return output.Visible(text), ""
	}
	return output.Visible(plain), trace
}

// complain tells a person what went wrong, what to do about it, and under which trace id the
// server's log tells more.
func (e *env) complain(err error) {
	text, trace := e.plain(err.Error())
	fmt.Fprintf(e.Err, "hemera: %s\n", text)
	if remedy := remedyOf(err); remedy != "" {
		fmt.Fprintf(e.Err, "  what to do: %s\n", output.Visible(remedy))
	}
	if trace = cmp.Or(admin.TraceOf(err), trace); trace != "" {
		fmt.Fprintf(e.Err, "  trace: %s\n", trace)
	}
}

func remedyOf(err error) string {
	remedy := errs.RemedyOf(err)
	var only *advised
	if remedy == "" && errors.As(err, &only) {
		return only.remedy
	}
	var usage *usageError
	if remedy == "" && errors.As(err, &usage) {
		return "add --help to see how the command is used"
	}
	return remedy
}

// newRootCommand makes the whole tree of commands over an environment.
func newRootCommand(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:   "hemera",
		Short: "Store scientific data, and run the cluster that does",
		Long: `Hemera stores scientific data on many disks and serves it to any XRootD client.

  hemera up                    a whole cluster on this machine, ready in a second or two
  hemera cp data.root :/exp/   copy a file into it
  hemera fs ls                 see its disks

The cluster is found by --url, else by the environment variable HEMERA_URL, else at
` + urlDefault + `. Commands that list things print a table; -m prints one line of
key=value pairs an item, -j one JSON object with a result list.`,
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.ArbitraryArgs, SuggestionsMinimumDistance: 1,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(c, args[0])
			}
			return c.Help()
		},
		Version: version,
	}
	root.SetVersionTemplate("Hemera {{.Version}}\n")
	root.SetFlagErrorFunc(wrongFlag)
	flags := root.PersistentFlags()
	flags.StringVar(&e.url, "url", "", "the cluster, as root://host:port, or the manager's unix:///path (default $HEMERA_URL or "+urlDefault+")")
	flags.BoolVarP(&e.monitor, "monitor", "m", false, "one line of key=value pairs an item")
	flags.BoolVarP(&e.json, "json", "j", false, "one JSON object with a result list")
	flags.BoolVar(&e.verbose, "verbose", false, "errors with all steps that led to them")
	flags.StringSliceVar(&e.columns.Names, "columns", nil, "only these columns of a table, by title or by key of -m, as in id,path,stat.errmsg")
	root.MarkFlagsMutuallyExclusive("monitor", "json", "columns")
	root.SetIn(e.In)
	root.SetOut(e.Out)
	root.SetErr(e.Err)
	root.AddGroup(
		&cobra.Group{ID: "serve", Title: "Serve (hemera node, below, runs a storage node):"},
		&cobra.Group{ID: "files", Title: "Files, from any machine:"},
		&cobra.Group{ID: "cluster", Title: "Cluster, on the manager's machine (file info and quota ls from any):"},
		&cobra.Group{ID: "other", Title: "Other:"},
	)
	root.AddCommand(serverCommands(e)...)
	for _, c := range fileCommands(e) {
		c.GroupID = "files"
		root.AddCommand(c)
	}
	for _, c := range clusterCommands(e) {
		c.GroupID = "cluster"
		root.AddCommand(c)
		markAdmins(c)
	}
	root.AddCommand(versionCommand(e))
	root.SetHelpCommandGroupID("other")
	root.SetCompletionCommandGroupID("other")
	teach(root)
	hint(root)
	e.markBegun(root)
	return root
}

func fileCommands(e *env) []*cobra.Command {
	return []*cobra.Command{
		lsCommand(e), cpCommand(e), mkdirCommand(e), rmCommand(e), mvCommand(e), statCommand(e), catCommand(e),
		chmodCommand(e), chownCommand(e), attrCommand(e), findCommand(e), duCommand(e),
	}
}

func clusterCommands(e *env) []*cobra.Command {
	return []*cobra.Command{
		statusCommand(e), whyCommand(e), fsCommand(e), nodeCommand(e), spaceCommand(e), groupCommand(e), quotaCommand(e), nsCommand(e), openCommand(e), whoCommand(e),
		fsckCommand(e), fileCommand(e), tokenCommand(e), keyCommand(e), configCommand(e),
	}
}

// noun makes a command that only has sub-commands. Without one it prints its help; with an unknown
// one it says so instead of printing pages.
func noun(use, short string, verbs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, SuggestionsMinimumDistance: 1}
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(c, args[0])
		}
		return c.Help()
	}
	c.AddCommand(verbs...)
	return c
}

// markBegun notes when a command's own code begins: what fails before that is the command line.
func (e *env) markBegun(c *cobra.Command) {
	if run := c.RunE; run != nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			e.begun = true
			return run(c, args)
		}
	}
	for _, sub := range c.Commands() {
		e.markBegun(sub)
	}
}

// humanFlag gives a command the -h that ls and du have everywhere; help is --help there.
func humanFlag(c *cobra.Command, human *bool, byDefault bool) {
	c.Flags().Bool("help", false, "help for "+c.Name())
	c.Flags().BoolVarP(human, "human", "h", byDefault, "sizes with units")
}
