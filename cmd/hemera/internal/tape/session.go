package tape

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/errs"
	"hemera/words/tapeapi"
)

// sessionCommand makes `hemera tape session`. The manager remembers the last two hundred sessions since its own start.
func sessionCommand(e *cli.Env) *cobra.Command {
	ls := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List sessions that ended lately", Args: cobra.NoArgs,
		Long: `Lists how the last sessions of drives went. streaming is the share of the transfer in which the tape
moved at its speed; disk, network, robot and tape are what the session waited for: disk until nodes had
the data, or took it; network while it was on its way; tape while the drive located and flushed.
back-hitches are stops in the middle of a stream: each wears the tape and costs seconds.`,
		Example: "  hemera tape session ls",
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				p, err := m.Tape.TapePicture(ctx)
				if err != nil {
					return err
				}
				var records []output.Record
				for _, s := range p.Sessions {
					records = append(records, sessionRecord(s))
				}
				return e.List(sessionColumns(), records, "no session has ended since the manager was started")
			})
		},
	}
	// One session has up to 200 samples, so the list has none.
	show := &cobra.Command{
		Use: "show ID", Short: "Show how a session went over time", Args: cobra.ExactArgs(1),
		Long: `Shows the samples that a session took of itself, at most 200, evenly spread: what the drive had taken or
given, what waited in memory, and what the session had waited for until then.`,
		Example: "  hemera tape session show 12",
		RunE: func(c *cobra.Command, args []string) error {
			// The number is that which session ls prints.
			mount, err := strconv.ParseUint(args[0], 10, 64)
			if err != nil {
				return cli.Usage(errs.New(errs.Invalid, "hemera.TapeSession", args[0], "is no number of a session").WithRemedy("see hemera tape session ls"))
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				s, err := m.Tape.TapeSession(ctx, tapeapi.MountID(mount))
				if err != nil {
					return err
				}
				// In the order of time.
				var records []output.Record
				for _, sample := range s.Course {
					records = append(records, sampleRecord(sample))
				}
				return e.List(sampleColumns(), records, "the session took no samples")
			})
		},
	}
	return noun("session", "Sessions of drives: how they went", ls, show)
}

// sampleRecord returns a sample of a session as a record. Times are seconds.
func sampleRecord(s tapeapi.Sample) output.Record {
	// Waits are sums since the start: the difference of two samples is the wait between them.
	return output.Record{
		{Key: "at", Value: s.At.Seconds()}, {Key: "bytes", Value: s.Bytes}, {Key: "buffered", Value: s.Buffered},
		{Key: "disk", Value: s.Disk.Seconds()}, {Key: "network", Value: s.Network.Seconds()}, {Key: "tape", Value: s.Tape.Seconds()},
		{Key: "backHitches", Value: s.BackHitches},
	}
}

// sampleColumns returns the table of session show. No column is left out in a narrow window.
func sampleColumns() []output.Column {
	return []output.Column{
		{Title: "at", Key: "at", Show: output.Seconds}, {Title: "data", Key: "bytes", Show: output.Bytes}, {Title: "buffered", Key: "buffered", Show: output.Bytes},
		{Title: "disk", Key: "disk", Show: output.Seconds}, {Title: "network", Key: "network", Show: output.Seconds}, {Title: "tape", Key: "tape", Show: output.Seconds},
		{Title: "back-hitches", Key: "backHitches"},
	}
}

// sessionRecord returns a session as a record. Times are seconds.
func sessionRecord(s tapeapi.Session) output.Record {
	rate := float64(0) // bytes a second
	if s.Elapsed > 0 {
		rate = float64(s.Bytes) / s.Elapsed.Seconds()
	}
	return output.Record{
		// The session.
		{Key: "sessionId", Value: uint64(s.Mount)}, {Key: "begun", Value: s.Begun.Unix()}, {Key: "drive", Value: s.Drive}, {Key: "type", Value: s.Kind.String()}, {Key: "vid", Value: string(s.VID)},
		{Key: "files", Value: s.Files}, {Key: "bytes", Value: s.Bytes}, {Key: "failed", Value: s.Failed}, {Key: "elapsed", Value: s.Elapsed.Seconds()},
		// The use of the drive, and its waits.
		{Key: "bytesPerSecond", Value: int64(rate)}, {Key: "streaming", Value: 100 * s.Streaming}, {Key: "backHitches", Value: s.BackHitches},
		{Key: "disk", Value: s.Disk.Seconds()}, {Key: "network", Value: s.Network.Seconds()}, {Key: "robot", Value: s.Robot.Seconds()}, {Key: "tape", Value: s.Tape.Seconds()},
		{Key: "flushes", Value: s.Flushes}, {Key: "error", Value: s.Error},
	}
}

// sessionColumns returns the table of session ls.
func sessionColumns() []output.Column {
	return []output.Column{
		{Title: "id", Key: "sessionId"}, {Title: "begun", Key: "begun", Show: output.Time}, {Title: "drive", Key: "drive"}, {Title: "type", Key: "type"}, {Title: "vid", Key: "vid"},
		{Title: "files", Key: "files"}, {Title: "data", Key: "bytes", Show: output.Bytes}, {Title: "failed", Key: "failed"},
		{Title: "elapsed", Key: "elapsed", Show: output.Seconds}, {Title: "rate", Key: "bytesPerSecond", Show: output.Bytes},
		{Title: "streaming", Key: "streaming", Show: output.Percent, Wide: 1}, {Title: "back-hitches", Key: "backHitches", Wide: 2},
		{Title: "disk", Key: "disk", Show: output.Seconds, Wide: 3}, {Title: "network", Key: "network", Show: output.Seconds, Wide: 4}, {Title: "robot", Key: "robot", Show: output.Seconds, Wide: 5},
		{Title: "tape", Key: "tape", Show: output.Seconds, Wide: 4}, {Title: "error", Key: "error"},
	}
}
