package tape

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// A queue belongs to a pool that files are to be written to, or to a tape that files are to be read from. The first
// waiting file makes a queue, and the last one removes it.

// queueCommand makes `hemera tape queue`. There are no commands to make or remove a queue.
func queueCommand(e *cli.Env) *cobra.Command {
	ls := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List what waits for a drive", Args: cobra.NoArgs,
		Long: `Lists the queues: files to be archived wait for a pool, files to be recalled for a tape. why says what
keeps a queue from a drive. The keys of -j are those of "cta-admin sq".`,
		Example: `  hemera tape queue ls
  hemera tape queue ls -j`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				p, err := m.Tape.TapePicture(ctx)
				if err != nil {
					return err
				}
				return e.List(queueColumns(), queueRecords(p, time.Now()), "nothing waits for a drive")
			})
		},
	}
	queues := listing{noun: "queue", keys: []string{"vid", "tapepool"}, columns: fixed(queueColumns()), page: true,
		load: func(ctx context.Context, m *admin.Client) ([]output.Record, error) {
			p, err := m.Tape.TapePicture(ctx)
			return queueRecords(p, time.Now()), err
		}}
	return noun("queue", "Queues: what waits for a drive, and why", ls, showCommand(e, queues), whyOf(e, "queue"))
}

// queueRecords returns the queues as records with CTA's keys. Ages are seconds.
func queueRecords(p adminapi.TapePicture, now time.Time) (out []output.Record) {
	for _, q := range p.Queues {
		vid := "" // any of the pool
		if q.Kind != tapeapi.Archive {
			vid = q.Name
		}
		out = append(out, output.Record{
			// The queue.
			{Key: "mountType", Value: mountType(q.Kind)}, {Key: "tapepool", Value: string(q.Pool)}, {Key: "vo", Value: q.Organisation},
			{Key: "logicalLibrary", Value: q.Library}, {Key: "vid", Value: vid}, {Key: "queuedFiles", Value: q.Files}, {Key: "queuedBytes", Value: q.Bytes},
			// The values that decide when it gets a drive, and its work.
			{Key: "oldestAge", Value: seconds(q.Oldest, now)}, {Key: "priority", Value: q.Priority}, {Key: "minAge", Value: int64(q.MinAge.Seconds())},
			{Key: "curMounts", Value: q.Mounts}, {Key: "curFiles", Value: q.MountFiles}, {Key: "curBytes", Value: q.MountBytes}, {Key: "why", Value: q.Why},
			// Limits, and the tapes that it is written to or read from.
			{Key: "readMaxDrives", Value: q.ReadDrives}, {Key: "writeMaxDrives", Value: q.WriteDrives}, {Key: "tapesCapacity", Value: q.Tapes.Capacity},
			{Key: "tapesFiles", Value: q.Tapes.Files}, {Key: "tapesBytes", Value: q.Tapes.Bytes}, {Key: "fullTapes", Value: q.Tapes.FullTapes},
			{Key: "writableTapes", Value: q.Writable}, {Key: "sleepingForSpace", Value: q.NoRoom},
			{Key: "highestPriorityMountPolicy", Value: q.PriorityPolicy}, {Key: "lowestRequestAgeMountPolicy", Value: q.AgePolicy},
			// Keys of CTA that Hemera does not record: 0 and empty.
			{Key: "youngestAge", Value: int64(0)}, {Key: "sleepStartTime", Value: int64(0)}, {Key: "diskSystemSleptFor", Value: ""},
		})
	}
	return out
}

// queueColumns returns the table of queue ls. Files and data are those that wait, without those that drives have taken.
func queueColumns() []output.Column {
	return []output.Column{
		{Title: "type", Key: "mountType"},    // ARCHIVE_FOR_USER, RETRIEVE …
		{Title: "tapepool", Key: "tapepool"}, // to write to, or of the tape
		{Title: "vo", Key: "vo", Wide: 4},
		{Title: "library", Key: "logicalLibrary", Wide: 5},
		{Title: "vid", Key: "vid"},           // to read from
		{Title: "files", Key: "queuedFiles"}, // that no mount has yet
		{Title: "data", Key: "queuedBytes", Show: output.Bytes},
		{Title: "oldest", Key: "oldestAge", Show: output.Seconds},
		{Title: "priority", Key: "priority", Wide: 3},
		{Title: "min age", Key: "minAge", Show: output.Seconds, Wide: 2},
		{Title: "mounts", Key: "curMounts"}, // that work on it
		{Title: "why", Key: "why"},          // it waits
	}
}

// requestCommand makes `hemera tape request`, the commands for single waiting files. The manager retries a failed job a
// few times; --failed selects those that it retries no more.
func requestCommand(e *cli.Env) *cobra.Command {
	var q adminapi.TapeJobQuery
	ls := &cobra.Command{
		Use: "ls [pool|vid]", Aliases: []string{"list"}, Short: "List files that wait, or that failed", Args: cobra.MaximumNArgs(1),
		Long: `Lists files that wait for a drive, at most 1000. With --failed those that are not tried again by
themselves, with the columns of "cta-admin fr ls".`,
		Example: `  hemera tape request ls default
  hemera tape request ls --failed`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				q.Queue = args[0]
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				jobs, err := m.Tape.TapeJobList(ctx, q)
				if err != nil {
					return err
				}
				var records []output.Record
				for _, j := range jobs {
					records = append(records, jobRecord(j))
				}
				return e.List(jobColumns(), inForm(e, "request", records), cli.OnOff(q.Failed, "nothing has failed", "nothing waits"))
			})
		},
	}
	ls.Flags().BoolVar(&q.Failed, "failed", false, "those that failed, and wait for a person")
	return noun("request", "Requests: single files that wait or failed", ls, requestShowCommand(e), whyOf(e, "request"),
		orderCommand(e, adminapi.OrderRetry, "retry [pool|vid]", "Have failed requests tried again", cobra.MaximumNArgs(1)),
		orderCommand(e, adminapi.OrderForget, "rm [pool|vid]", "Forget failed requests", cobra.MaximumNArgs(1)))
}

// requestShowCommand makes `hemera tape request show` for the jobs of one file. The list of all jobs is bounded, and may
// end before it reaches the file.
func requestShowCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "show <path>", Short: "Show the requests of one file, and what they wait for", Args: cobra.ExactArgs(1), ValidArgsFunction: complete.Paths(e),
		Long:    "Shows all requests of one file with all fields, those that failed too; -j has them with the keys of ls.",
		Example: "  hemera tape request show /exp/run1/data.root",
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				jobs, err := m.Tape.TapeJobList(ctx, adminapi.TapeJobQuery{Path: args[0]})
				if err != nil {
					return err
				}
				var records []output.Record
				for _, j := range jobs {
					records = append(records, jobRecord(j))
				}
				if e.ForPrograms() {
					return e.Printer().List(nil, inForm(e, "request", records))
				}
				for _, r := range records {
					if err := e.Printer().One(fieldsOf(jobColumns(), r), r); err != nil {
						return err
					}
					fmt.Fprintln(e.Out)
				}
				// The manager explains by the rules that decide.
				why, err := m.Tape.ExplainTape(ctx, args[0])
				for _, line := range why {
					fmt.Fprintln(e.Out, e.Visible(line))
				}
				return err
			})
		},
	}
}

// jobRecord returns a job as a record.
func jobRecord(j tapeapi.Work) output.Record {
	// As in CTA, archives wait for a pool, all others for a tape.
	pool, vid := "", j.Queue
	if j.Kind == tapeapi.Archive {
		pool, vid = j.Queue, ""
	}
	// An archive has no copy yet: all fields are 0.
	var from hemera.TapeCopy // the copy to read
	if j.From != nil {
		from = *j.From
	}
	return output.Record{
		// The file has its id, because its path may change.
		{Key: "objectId", Value: j.File.Hex()}, {Key: "requestType", Value: j.Kind.String()}, {Key: "copyNb", Value: j.Copy}, {Key: "queue", Value: j.Queue},
		{Key: "tapepool", Value: pool}, {Key: "vid", Value: vid}, {Key: "group", Value: cli.NameOf(j.Owner.GID, false, cli.GroupName)},
		{Key: "schedulerBackendName", Value: ""}, {Key: "instanceName", Value: ""},
		{Key: "requester", Value: cli.NameOf(j.UID, false, cli.UserName)}, {Key: "size", Value: j.Size}, {Key: "asked", Value: j.Asked.Unix()},
		{Key: "mountPolicy", Value: j.Policy},
		{Key: "attempts", Value: int64(j.Attempts)}, {Key: "path", Value: j.Path}, {Key: "error", Value: j.Error},
		{Key: "archiveId", Value: j.ArchiveID}, {Key: "storageClass", Value: j.Class}, {Key: "fSeq", Value: from.FSeq}, {Key: "blockId", Value: from.Block},
	}
}

// jobColumns returns the table of request ls. asked is the time of the first queueing, also after further attempts.
func jobColumns() []output.Column {
	return []output.Column{
		{Title: "type", Key: "requestType"}, {Title: "copy", Key: "copyNb"}, {Title: "tapepool/vid", Key: "queue"}, {Title: "requester", Key: "requester", Wide: 2},
		{Title: "size", Key: "size", Show: output.Bytes}, {Title: "asked", Key: "asked", Show: output.Time, Wide: 1}, {Title: "attempts", Key: "attempts", Wide: 3},
		{Title: "policy", Key: "mountPolicy", Wide: 4}, {Title: "path", Key: "path"}, {Title: "error", Key: "error"},
	}
}
