package tape

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
	"hemera/words/tapeapi"
)

// A repack or a verification makes a request for each file of a tape; these requests are shown and retried like any
// other. The tape's record says that the task is running, so a restarted manager continues it.

// repackCommand makes `hemera tape repack`, with the words of "cta-admin repack".
func repackCommand(e *cli.Env) *cobra.Command {
	c := orderCommand(e, adminapi.OrderRepack, "repack <vid>", "Move the files of a full tape to other tapes", cobra.ExactArgs(1))
	c.Long = `Queues every file of a full tape to be written to another tape, and the copies that its files lack by
their class. Files are read from disk where they still are there, else from tape, which brings them to
disk. The tape is REPACKING until none of its files is left, serves recalls meanwhile, and is ACTIVE then;
"hemera tape reclaim" has it written from its beginning again. A broken tape is not read: files come
from disk, or from another copy.`
	c.Example = `  hemera tape repack V00001
  hemera tape repack ls
  hemera tape repack V00001 --justaddcopies      the class has more copies than it had
  hemera tape cancel V00001`
	// In CTA, too, neither flag means both.
	c.MarkFlagsMutuallyExclusive("justmove", "justaddcopies")
	c.AddCommand(whyOf(e, "repack"))
	c.AddCommand(showTaskCommand(e, "repack", func(t *tapeapi.Tape) *tapeapi.Task { return t.Repack }))
	c.AddCommand(tasksCommand(e, "repack", "List the tapes whose files are moved to others", "no tape is repacked",
		func(t *tapeapi.Tape) *tapeapi.Task { return t.Repack }))
	return c
}

// verifyCommand makes `hemera tape verify`.
func verifyCommand(e *cli.Env) *cobra.Command {
	c := orderCommand(e, adminapi.OrderCheck, "verify <vid>", "Read all files of a tape and compare their checksums", cobra.ExactArgs(1))
	c.Long = `Queues every file of a tape to be read and compared, behind all other work. What is bad shows in
"hemera tape request ls --failed". When all were right the tape has the time in verifiedTime. A tape that
was not verified for a year is verified by itself, one tape at a time: "hemera tape mounting set default
verifySeconds=0" ends that.`
	c.AddCommand(showTaskCommand(e, "verify", func(t *tapeapi.Tape) *tapeapi.Task { return t.Verifying }))
	c.AddCommand(tasksCommand(e, "verify", "List the tapes that are verified", "no tape is verified",
		func(t *tapeapi.Tape) *tapeapi.Task { return t.Verifying }))
	return c
}

// cancelCommand makes `hemera tape cancel`.
func cancelCommand(e *cli.Env) *cobra.Command {
	c := orderCommand(e, adminapi.OrderStopTape, "cancel <vid>", "End what was ordered for a tape: repack, verification, scan or label", cobra.ExactArgs(1))
	// One command is enough for both, because a tape usually has one task at a time.
	c.Long = `Takes back what a repack or a verification has queued and not done. Files that were moved stay where
they are now. A scan ends at the next report of its drive, and what it found stays; one that failed is
taken out of the lists.`
	return c
}

// tasksCommand makes the ls of repacks or of verifications.
func tasksCommand(e *cli.Env, order, short, none string, of func(t *tapeapi.Tape) *tapeapi.Task) *cobra.Command {
	// The tape's own counts show the progress of a repack.
	return &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: short, Args: cobra.NoArgs, Example: "  hemera tape " + order + " ls",
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				records, err := loadTasks(ctx, m, of)
				if err != nil {
					return err
				}
				return e.List(taskColumns(), records, none)
			})
		},
	}
}

// loadTasks reads the tasks of all tapes. Few tapes have a task at one time, so the manager has no separate list of them.
func loadTasks(ctx context.Context, m *admin.Client, of func(t *tapeapi.Tape) *tapeapi.Task) (records []output.Record, err error) {
	all, err := m.Tape.Tapes(ctx)
	for i := range all {
		if task := of(&all[i]); task != nil {
			records = append(records, taskRecord(&all[i], task))
		}
	}
	return records, err
}

// showTaskCommand makes the show of repacks or of verifications.
func showTaskCommand(e *cli.Env, order string, of func(t *tapeapi.Tape) *tapeapi.Task) *cobra.Command {
	return showCommand(e, listing{noun: order, keys: []string{"vid"}, columns: fixed(taskColumns()),
		load: func(ctx context.Context, m *admin.Client) ([]output.Record, error) { return loadTasks(ctx, m, of) }})
}

// taskRecord returns a task as a record, with the keys of "cta-admin --json re ls" where they are the same.
func taskRecord(t *tapeapi.Tape, task *tapeapi.Task) output.Record {
	// The queued files are not counted: the fSeq shows the position.
	status := "queueing"
	if task.Filled {
		status = "running"
	}
	var left int64
	var why []string
	for _, l := range task.Left {
		left += l.Files
		why = append(why, fmt.Sprintf("%s of class %s stay, as %s: %s (%s)", output.Count(l.Files, "file"), l.Class, l.Path, l.Why, l.Remedy))
	}
	// A wait comes last, because it ends by itself.
	if task.Waits != "" {
		why = append(why, task.Waits)
	}
	return output.Record{
		{Key: "vid", Value: string(t.VID)}, {Key: "tapepool", Value: string(t.Pool)}, {Key: "status", Value: status},
		// CTA counts retrieved and archived files; here a file has moved, or it has not.
		{Key: "repackTime", Value: task.Begun.Unix()}, {Key: "createdBy", Value: task.By},
		{Key: "totalFiles", Value: task.Files}, {Key: "totalBytes", Value: task.Bytes},
		{Key: "filesLeft", Value: t.Files}, {Key: "bytesLeft", Value: t.Bytes},
		{Key: "queuedFseq", Value: task.Queued}, {Key: "lastFseq", Value: t.LastFSeq}, {Key: "state", Value: string(t.State)},
		{Key: "filesThatStay", Value: left}, {Key: "why", Value: strings.Join(why, "; ")},
	}
}

// taskColumns returns the table of repack ls and verify ls.
func taskColumns() []output.Column {
	return []output.Column{
		{Title: "vid", Key: "vid"},
		{Title: "tapepool", Key: "tapepool"}, // of the tape, not of those that files move to
		{Title: "status", Key: "status"},
		{Title: "begun", Key: "repackTime", Show: output.Time},
		{Title: "by", Key: "createdBy", Wide: 1},
		{Title: "files", Key: "totalFiles"}, // when it began
		{Title: "data", Key: "totalBytes", Show: output.Bytes, Wide: 2},
		{Title: "files on it", Key: "filesLeft"}, // now; of a verification they stay
		{Title: "data on it", Key: "bytesLeft", Show: output.Bytes},
		{Title: "state", Key: "state"}, // REPACKING until the last file has gone
		{Title: "why", Key: "why"},     // files stay: their class has no route
	}
}
