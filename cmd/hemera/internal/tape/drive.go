package tape

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
	"hemera/words/tapeapi"
)

// Drives are not configured: tape servers report them. An admin only sets whether a drive may work, and a comment.

// driveCommand makes `hemera tape drive`.
func driveCommand(e *cli.Env) *cobra.Command {
	drives := listing{noun: "drive", keys: []string{"driveName"}, columns: fixed(driveColumns()), page: true,
		load: func(ctx context.Context, m *admin.Client) ([]output.Record, error) {
			p, err := m.Tape.TapePicture(ctx)
			return driveRecords(p, time.Now()), err
		},
		also: func(name string, s tapeapi.Session) bool { return s.Drive == name }}
	// A restarted manager forgets such drives by itself, except those that were put down.
	forget := changeCommand(e, "drive", "remove")
	forget.Short, forget.ValidArgsFunction = "Forget a drive that no tape server reports", completeDrives(e)
	forget.Long = "Takes a drive out of the lists, and out of those that were put down. A drive that a tape server reports stays; take it out of work with down."
	// set does not put a drive up or down: those commands ask for a reason.
	set := changeCommand(e, "drive", "set")
	set.ValidArgsFunction = completeDrives(e)
	set.Long = "Sets the comment of a drive, the one key that is set; an empty one removes it. It stays over restarts. up and down say whether the drive shall work."
	return noun("drive", "Tape drives: list, put up and down, comment, forget", driveListCommand(e), showCommand(e, drives), whyOf(e, "drive"),
		driveStateCommand(e, "up"), driveStateCommand(e, "down"), set, forget)
}

// driveListCommand makes `hemera tape drive ls`.
func driveListCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List tape drives and what they do", Args: cobra.NoArgs,
		Long: `Lists the drives that tape servers report, with the columns of "cta-admin dr ls":

  desired   what admins want of the drive: Up or Down
  status    what it does; since when
  vid       the tape in it
  files, data, MB/s   of the session under way
  age       since its server reported; more than half a minute is a server that is gone
  reason    why it is down, by an admin or by itself
  comment   of admins, where there is room for it`,
		Example: `  hemera tape drive ls
  hemera tape drive ls -j`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				p, err := m.Tape.TapePicture(ctx)
				if err != nil {
					return err
				}
				return e.List(driveColumns(), driveRecords(p, time.Now()), "no tape server has reported a drive; `hemera tape --emulate drives=2,slots=40` adds an emulated library")
			})
		},
	}
}

// driveRecords returns the drives as records with CTA's keys. Times are seconds.
func driveRecords(p adminapi.TapePicture, now time.Time) (out []output.Record) {
	// The order is that of names, as the manager sends them.
	for _, d := range p.Drives {
		desired, reason := "UP", d.Problem
		if !d.Up {
			desired, reason = "DOWN", d.Reason
			if d.Status != tapeapi.DriveDown {
				reason = "going down, after what it does now: " + reason
			}
		}
		// Seconds are whole: the rate of a session of less than a second means nothing.
		if d.Mount == 0 {
			d.Session = tapeapi.Session{} // session ls shows the session before
		}
		elapsed, rate := int64(d.Session.Elapsed.Seconds()), int64(0)
		if elapsed > 0 {
			rate = d.Session.Bytes / elapsed
		}
		out = append(out, output.Record{
			// The drive, and its wanted state.
			{Key: "logicalLibrary", Value: d.Library}, {Key: "driveName", Value: d.Name}, {Key: "host", Value: d.Node.String()},
			{Key: "desiredDriveState", Value: desired}, {Key: "mountType", Value: mountType(d.Kind)}, {Key: "driveStatus", Value: string(d.Status)},
			// The work of the drive.
			{Key: "driveStatusSince", Value: seconds(d.Since, now)}, {Key: "vid", Value: string(d.VID)}, {Key: "tapepool", Value: string(d.Pool)},
			{Key: "filesTransferredInSession", Value: d.Session.Files}, {Key: "bytesTransferredInSession", Value: d.Session.Bytes},
			// Its session; zeros without one.
			{Key: "sessionId", Value: uint64(d.Mount)}, {Key: "sessionElapsedTime", Value: elapsed}, {Key: "bytesPerSecond", Value: rate},
			{Key: "timeSinceLastUpdate", Value: seconds(d.Seen, now)}, {Key: "devFileName", Value: d.Device}, {Key: "reason", Value: reason},
			{Key: "comment", Value: d.Comment},
			// The owner and priority of its work, and the reports of its server.
			{Key: "vo", Value: d.Organisation}, {Key: "currentPriority", Value: d.Priority}, {Key: "currentActivity", Value: ""}, {Key: "reservedBytes", Value: d.Reserved},
			{Key: "logicalLibraryDisabled", Value: d.LibraryDisabled}, {Key: "driveConfig", Value: []output.Record{
				driveConfig("model", d.Model), driveConfig("serial", d.Serial), driveConfig("writes", strings.Join(d.Media, ",")), driveConfig("reads", strings.Join(d.Reads, ",")),
			}},
			// Keys of CTA without an equivalent in Hemera.
			{Key: "ctaVersion", Value: ""}, {Key: "rawLibrarySlot", Value: ""}, {Key: "diskSystemName", Value: ""},
			{Key: "schedulerBackendName", Value: ""}, {Key: "instanceName", Value: ""}, {Key: "physicalLibrary", Value: ""}, {Key: "physicalLibraryDisabled", Value: false},
		})
	}
	return out
}

// driveConfig returns one property of a drive, as its tape server reports it.
func driveConfig(key, value string) output.Record {
	return output.Record{{Key: "category", Value: "drive"}, {Key: "key", Value: key}, {Key: "value", Value: value}, {Key: "source", Value: "tape server"}}
}

// mountType returns CTA's word for the work of a drive.
func mountType(k tapeapi.JobKind) string {
	switch k {
	case tapeapi.Archive:
		return "ARCHIVE_FOR_USER"
	case tapeapi.Recall:
		return "RETRIEVE"
	case tapeapi.Repack:
		return "ARCHIVE_FOR_REPACK"
	case tapeapi.Verify:
		return "VERIFY"
	case tapeapi.ReadBack:
		return "READ_BACK"
	}
	return "NO_MOUNT"
}

// seconds returns the seconds since an instant; 0 if the instant is unknown, or in the future by another clock.
func seconds(at, now time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return max(0, int64(now.Sub(at).Seconds()))
}

// driveColumns returns the table of drive ls.
func driveColumns() []output.Column {
	return []output.Column{
		{Title: "library", Key: "logicalLibrary", Wide: 3},
		{Title: "drive", Key: "driveName"},            // unique in the cluster
		{Title: "host", Key: "host", Wide: 4},         // the node of its tape server
		{Title: "desired", Key: "desiredDriveState"},  // by admins
		{Title: "request", Key: "mountType", Wide: 2}, // what it works on
		{Title: "status", Key: "driveStatus"},         // UP is idle
		{Title: "since", Key: "driveStatusSince", Show: output.Seconds, Wide: 1},
		{Title: "vid", Key: "vid"}, // of the tape in it
		{Title: "tapepool", Key: "tapepool", Wide: 2},
		{Title: "files", Key: "filesTransferredInSession"}, // so far
		{Title: "data", Key: "bytesTransferredInSession", Show: output.Bytes},
		{Title: "rate", Key: "bytesPerSecond", Show: output.Bytes}, // a second
		{Title: "session", Key: "sessionId", Wide: 5},
		{Title: "age", Key: "timeSinceLastUpdate", Show: output.Seconds, Wide: 4},
		{Title: "reason", Key: "reason"}, // of an admin, or its own
		{Title: "comment", Key: "comment", Wide: 6},
	}
}

// driveStateCommand makes `hemera tape drive up` or `down`.
func driveStateCommand(e *cli.Env, state string) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: state + " <drive|all>", Short: "Put a drive " + state, Args: cobra.ExactArgs(1), ValidArgsFunction: completeDrives(e),
		Long: `Puts a drive up or down. A drive that is put down finishes its session, gives its tape back and does
nothing more until it is put up. Drives that fail put themselves down, and come up again by themselves
when a probe succeeds; "up" does not force that.`,
		Example: "  hemera tape drive " + state + " tape-d1",
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				// The manager asks for the reason where one is needed.
				err := m.Tape.ChangeTape(ctx, "", adminapi.TapeChange{Object: "drive", Verb: "set", Name: args[0], Values: map[string]string{"desired": state, "reason": reason}})
				if err == nil {
					e.Say("drive %s is wanted %s", args[0], state)
				}
				return err
			})
		},
	}
	if state == "down" {
		c.Example += ` --reason "head cleaning"`
		c.Flags().StringVar(&reason, "reason", "", "why, for those who find it down: a `text`")
	}
	return c
}

// completeDrives completes names of drives. It does not offer "all", so that it is not chosen by accident.
func completeDrives(e *cli.Env) cobra.CompletionFunc {
	return completeFrom(e, func(p adminapi.TapePicture) (names []string) {
		for _, d := range p.Drives {
			names = append(names, d.Name)
		}
		return names
	})
}

// completeFrom completes names that it takes from a picture of the tape tier.
func completeFrom(e *cli.Env, names func(adminapi.TapePicture) []string) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) (found []string, d cobra.ShellCompDirective) {
		if len(args) == 0 {
			// If the manager cannot be reached, the completion offers nothing and prints no error.
			_ = e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				p, err := m.Tape.TapePicture(ctx)
				found = names(p)
				return err
			})
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}
