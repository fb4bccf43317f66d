package tape

import (
	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
)

// Command makes `hemera tape` with its sub-commands and with those of more, the commands that run servers. The long text
// explains how files come to tape, because the only command for that is attr set.
func Command(e *cli.Env, more ...*cobra.Command) *cobra.Command {
	sub := []*cobra.Command{
		statusCommand(e), topCommand(e), whyCommand(e),
		driveCommand(e), tapeCommand(e), queueCommand(e), requestCommand(e), sessionCommand(e),
		stageCommand(e), releaseCommand(e), evictCommand(e), archiveCommand(e),
	}
	// One command for each kind of object that admins make.
	for _, k := range kinds() {
		sub = append(sub, objectCommand(e, k))
	}
	sub = append(sub, keyCommand(e))
	sub = append(sub, orderCommands(e)...)
	c := cli.Noun("tape", "Tapes: drives, pools, queues, and files that are on tape", append(sub, more...)...)
	c.Long = `Files below a directory with the attribute sys.archive.storage_class are written to tape once they
are closed. A fresh system has the class "default": one copy, in the pool "default".

  hemera attr set sys.archive.storage_class=default /exp     archive what comes into /exp
  hemera attr set sys.archive.dropdiskcopies=1 /exp          and drop the disk copies afterwards

What is on tape only is brought back when somebody opens it, or ahead of time by "hemera tape stage" and
"xrdfs HOST prepare -s". The words and columns are those of CTA.`
	c.Example = `  hemera tape --emulate drives=2,slots=40
  hemera tape status
  hemera tape queue ls
  hemera tape why /exp/run1/data.root
  hemera tape drive down drive2 --reason "head cleaning"`
	return c
}

// noun returns cli.Noun with the examples of its first command, which users type first.
func noun(name, short string, sub ...*cobra.Command) *cobra.Command {
	c := cli.Noun(name, short, sub...)
	c.Example = sub[0].Example
	return c
}
