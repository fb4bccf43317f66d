package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hemera/errs"
)

// consent is how the user of a command that destroys says that it may: --yes, or an answer at the
// terminal. Each such command says beforehand what will go.
type consent struct{ yes, dry bool }

func (k *consent) flags(c *cobra.Command) {
	c.Flags().BoolVar(&k.yes, "yes", false, "do it without asking")
	c.Flags().BoolVar(&k.dry, "dry-run", false, "only say what would go")
	c.MarkFlagsMutuallyExclusive("yes", "dry-run")
}

// agree says what will go and reports whether the command may go on: not after --dry-run. On a terminal
// it asks; without one, and without --yes, it is an error, so that no script destroys by accident.
func (e *env) agree(ctx context.Context, k consent, op string, stake []string) (bool, error) {
	if k.dry {
		for _, line := range stake {
			e.say("%s", line)
		}
		e.say("nothing was done (--dry-run)")
		return false, nil
	}
	for _, line := range stake {
		fmt.Fprintln(e.Err, e.visible(line))
	}
	if k.yes {
		return true, nil
	}
	refused := errs.New(errs.Denied, op, "", "nothing was done: this needs consent")
	if !e.Asks {
		return false, refused.WithRemedy("look at it with --dry-run, then repeat with --yes; there is no terminal to ask at")
	}
	fmt.Fprint(e.Err, "type yes to go on: ")
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
