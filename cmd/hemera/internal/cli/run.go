package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/output"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Exit codes: a script can distinguish a failed command from a wrong command line.
const (
	ExitFailed = 1
	ExitUsage  = 2
)

// Exit codes of commands with a verdict, such as status: 0 means that all is well. Every other failure is ExitUnknown,
// also a wrong command line, because 2 means ExitError there.
const (
	ExitWarning = 1
	ExitError   = 2
	ExitUnknown = 3
)

// verdictKey marks a command whose exit code is a verdict.
const verdictKey = "verdict"

// GivesVerdict returns the annotation of a command whose exit code is a verdict.
func GivesVerdict() map[string]string { return map[string]string{verdictKey: "true"} }

// verdict is the result of a command that succeeded; its exit code is the verdict. Nothing is printed for it.
type verdict struct{ code int }

// NewVerdict returns the error with which a command ends with an exit code.
func NewVerdict(code int) error { return &verdict{code} }

// Error implements error. Run never prints it.
func (v *verdict) Error() string { return fmt.Sprintf("exit code %d", v.code) }

// Run runs one command line over the tree of commands below root and returns the exit code. It prints the error itself.
// It is called once for each environment and tree.
func Run(ctx context.Context, e *Env, root *cobra.Command, args []string) int {
	if hemera.TraceID(ctx) == "" {
		// One trace id for all requests of a command, which connects the logs of manager and nodes.
		ctx = hemera.WithTrace(ctx, hemera.NewTraceID())
	}
	// The command line is parsed twice: EOS's flags before the command first, then cobra's part.
	teach(root)
	e.markParsed(root)
	args, err := e.leadingFlags(args)
	root.SetArgs(args)
	c := root
	if err == nil {
		c, err = root.ExecuteContextC(ctx)
	}
	if err == nil && len(e.columns.Names) > 0 && !e.columns.Used {
		// A flag without effect is an error: the user expected something else.
		err = Usage(Advised(errors.New("--columns has nothing to choose from here"), "it chooses the columns of tables, as of hemera fs ls"))
	}
	if err == nil {
		return 0
	}
	if v, ok := errors.AsType[*verdict](err); ok {
		return v.code
	}
	err = explainUsage(err)
	// Errors before the command's own code come from cobra: an unknown flag, a wrong number of arguments.
	if !e.parsed {
		err = Usage(err)
	}
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, errs.Cancelled)) {
		err = interrupted(strings.TrimPrefix(c.CommandPath(), root.Name()+" "), err)
	}
	// The last case that applies decides: a command with a verdict has its own code for every failure.
	code := ExitFailed
	if _, ok := errors.AsType[*usageError](err); ok {
		code = ExitUsage
	}
	if c.Annotations[verdictKey] != "" {
		code = ExitUnknown
	}
	e.report(err, code)
	return code
}

// explainUsage adds a remedy to errors of the command line that come from other packages.
func explainUsage(err error) error {
	if together, ok := exclusive(err); ok {
		return Usage(Advised(errors.New(together+" exclude each other"), "add --help to see what each does"))
	}
	if flags, one, ok := required(err); ok {
		text := "it needs --" + strings.Join(flags, " and --")
		if one {
			text = "it needs one of --" + strings.Join(flags, ", --")
		}
		return Usage(Advised(errors.New(text), "--help has examples"))
	}
	if column, ok := errors.AsType[*output.ColumnError](err); ok {
		return Usage(Advised(column, "there are "+strings.Join(column.Titles, ", ")+", and the keys that -m shows"))
	}
	return err
}

// interrupted returns the error of an interrupted command: the command's own, if there is one.
func interrupted(command string, err error) error {
	if own, ok := errors.AsType[*errs.Error](err); ok && strings.HasPrefix(own.Text, "interrupted") {
		return err
	}
	return errs.New(errs.Cancelled, command, "", "interrupted")
}

// markParsed records the start of a command's own code. An error before it is one of the command line.
func (e *Env) markParsed(c *cobra.Command) {
	if run := c.RunE; run != nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			e.parsed = true
			return run(c, args)
		}
	}
	for _, sub := range c.Commands() {
		e.markParsed(sub)
	}
}
