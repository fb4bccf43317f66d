package cli

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hemera/words/errs"
)

// Consent is the consent of the user to a command that destroys data: --yes, or an answer at the terminal. Such a command
// first prints what it will destroy; with --dry-run it then stops. With the zero value the user is asked.
type Consent struct{ yes, Dry bool }

// Flags adds the flags --yes and --dry-run to a command.
func (k *Consent) Flags(c *cobra.Command) {
	c.Flags().BoolVar(&k.yes, "yes", false, "do it without asking")
	c.Flags().BoolVar(&k.Dry, "dry-run", false, "only say what would go")
	c.MarkFlagsMutuallyExclusive("yes", "dry-run")
}

// Agree prints what will be destroyed and returns whether the command may continue. On a terminal it asks. Without a
// terminal and without --yes it fails with Denied, so that no script destroys data by accident. op is the command in the
// error. It returns false without an error only after --dry-run: then the caller stops and has succeeded.
func (e *Env) Agree(ctx context.Context, k Consent, op string, stake []string) (bool, error) {
	// The result of --dry-run is output, so it goes to Out; the text before a question goes to Err.
	if k.Dry {
		// One call of Say, because with -j each call prints a JSON object.
		e.Say("%s", strings.Join(append(slices.Clone(stake), "nothing was done (--dry-run)"), "\n"))
		return false, nil
	}
	for _, line := range stake {
		fmt.Fprintln(e.Err, e.Visible(line))
	}
	if k.yes {
		return true, nil
	}
	// The same error without a terminal and for the answer no; only the remedy differs.
	refused := errs.New(errs.Denied, op, "", "nothing was done: this needs consent")
	if !e.Asks {
		return false, refused.WithRemedy("look at it with --dry-run, then repeat with --yes; there is no terminal to ask at")
	}
	fmt.Fprint(e.Err, "type yes to go on: ")
	// A read of a terminal cannot be cancelled. The goroutine may outlive an interrupted command, whose process ends
	// anyway; the buffer lets it end.
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(e.In).ReadString('\n')
		answer <- line
	}()
	select {
	case <-ctx.Done():
		return false, errs.Wrap(ctx.Err(), op, "")
	case line := <-answer:
		if strings.TrimSpace(line) != "yes" {
			return false, refused.WithRemedy("answer yes, the whole word, if you mean it")
		}
		return true, nil
	}
}
