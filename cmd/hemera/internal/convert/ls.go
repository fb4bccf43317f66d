package convert

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/cmd/hemera/internal/storage"
	"hemera/words/adminapi"
	"hemera/words/errs"
)

// lsCommand makes `hemera convert ls`. It makes one request, and changes nothing.
func lsCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List requests to convert, and how far they are", Args: cobra.NoArgs, Aliases: []string{"list"},
		Long: `Lists requests that are worked on, and those that ended in the last 7 days, 100 of them at most.

  state      waiting, running, stalled (why says what is in the way; it tries again); over: done, failed (files are
             left), stopped, or "replaced by N", a newer request
  converted  files that are stored in the new form since the request was made
  left       files that were not looked at yet, and those that are tried again; those that are stored so already count
             until then
  skipped    files that were being written or had changed, of the last pass through the tree
  replaced   files that a newer request, or rules that were set later, decide about; why names it
  failed     files that could not be converted, of the last pass; why has the last reason`,
		Example: `  hemera convert ls
  hemera convert ls -j`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				list, err := m.Conversions.Conversions(ctx)
				if err != nil {
					return err
				}
				// In the order of ids, as the manager sends them: the newest is last, near the prompt.
				var records []output.Record
				for _, s := range list {
					records = append(records, record(s))
				}
				return e.List(columns, records, "nothing was asked for; see hemera convert --help")
			})
		},
	}
}

// columns has the columns of convert ls.
var columns = []output.Column{
	{Title: "id", Key: "id"},                                          // for convert stop
	{Title: "path", Key: "path"},                                      // as it was asked for
	{Title: "form", Key: "form"},                                      // in the words of the flags
	{Title: "state", Key: "state"},                                    // of the job
	{Title: "progress", Key: "progress", Show: output.Percent},        // of the bytes of the tree
	{Title: "converted", Key: "filesdone"},                            // files
	{Title: "bytes", Key: "bytesdone", Show: output.Bytes},            // of them
	{Title: "left", Key: "filesleft"},                                 // files to look at, for the first time or again
	{Title: "skipped", Key: "skipped", Wide: 1},                       // in use
	{Title: "replaced", Key: "replaced", Wide: 1},                     // left to a newer order
	{Title: "failed", Key: "failed"},                                  // could not be
	{Title: "rate", Key: "rate", Show: output.Bytes, Wide: 1},         // bytes a second
	{Title: "to go", Key: "timeleft", Show: output.Estimate, Wide: 1}, // an estimate
	{Title: "asked", Key: "asked", Show: output.Time, Wide: 2},        // when
	{Title: "by", Key: "who", Wide: 2},                                // the admin
	{Title: "why", Key: "why"},                                        // what is in the way, or failed last
}

// record returns a conversion as a record for -m and -j. Times are in seconds since 1970, 0 for none; timeleft is in
// seconds, 0 while it is unknown.
func record(s adminapi.ConversionStatus) output.Record {
	return output.Record{
		{Key: "id", Value: s.ID}, {Key: "path", Value: s.Path}, {Key: "recursive", Value: s.Recursive}, {Key: "form", Value: s.Form.String()},
		{Key: "state", Value: string(s.Job.State)}, {Key: "progress", Value: s.Job.Progress()}, {Key: "filesdone", Value: s.Done}, {Key: "bytesdone", Value: s.Bytes},
		{Key: "filesleft", Value: s.Job.FilesLeft}, {Key: "bytesleft", Value: s.Job.BytesLeft}, {Key: "skipped", Value: s.Skipped}, {Key: "failed", Value: s.Failed}, {Key: "replaced", Value: s.Replaced},
		{Key: "rate", Value: s.Job.Rate}, {Key: "timeleft", Value: s.Job.Remaining.Seconds()}, {Key: "pass", Value: s.Pass},
		{Key: "asked", Value: cli.Unix(s.Asked)}, {Key: "ended", Value: cli.Unix(s.Ended)}, {Key: "who", Value: s.Who}, {Key: "why", Value: s.Job.Why},
	}
}

// stopCommand makes `hemera convert stop`. A request that has ended already is no error. It needs no consent, because
// nothing is lost and the request can be repeated.
func stopCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "stop <id>", Short: "End a request to convert", Args: cobra.ExactArgs(1),
		Long:    `Ends a request. Files that are converted stay as they are now, and files under way are finished.`,
		Example: `  hemera convert stop 3`,
		RunE: func(c *cobra.Command, args []string) error {
			id, err := strconv.ParseUint(args[0], 10, 64)
			if err != nil {
				return cli.Usage(errs.New(errs.Invalid, "hemera.ConvertStop", args[0], "a request is named by its number").WithRemedy("see `hemera convert ls`"))
			}
			// It fails with NotFound if the manager does not remember the request.
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				if err := m.Conversions.StopConversion(ctx, id); err != nil {
					return err
				}
				e.Say("request %d ends", id)
				return nil
			})
		},
		ValidArgsFunction: complete.Conversions(e),
	}
}

// followInterval is the interval at which --wait asks.
const followInterval = time.Second / 2

// follow shows the progress of a request until it has ended. It fails if files were not converted.
func follow(ctx context.Context, e *cli.Env, m *admin.Client, id uint64) error {
	// The rate and the estimate are averages of seconds, so more requests would show the same.
	tick := time.NewTicker(followInterval)
	defer tick.Stop()
	for {
		list, err := m.Conversions.Conversions(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(s adminapi.ConversionStatus) bool { return s.ID == id })
		// Only if a hundred others ended since.
		if i < 0 {
			return errs.New(errs.NotFound, "hemera.Convert", fmt.Sprintf("request %d", id), "the manager does not remember it any more")
		}
		s := list[i]
		// The line goes to Err, so that the output has only the result.
		if e.Live && !e.ForPrograms() {
			fmt.Fprintf(e.Err, "\r\x1b[K%s", cli.Fitted(e.ErrWidth(), cli.BarForms(func(bar int) string { return e.Visible(storage.JobLine(s.Job, bar)) })))
		}
		if !s.Ended.IsZero() {
			if e.Live && !e.ForPrograms() {
				fmt.Fprintln(e.Err)
			}
			return ended(e, s)
		}
		// Ctrl-C ends the context.
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errs.Wrap(ctx.Err(), "hemera.Convert", fmt.Sprintf("request %d, which goes on", id))
		}
	}
}

// ended reports what came of a request.
func ended(e *cli.Env, s adminapi.ConversionStatus) error {
	// A request that was stopped has a reason, too.
	if s.Failed+s.Skipped > 0 || s.Why != "" {
		return errs.New(errs.Conflict, "hemera.Convert", s.Path, fmt.Sprintf("%s converted, %d could not be, %d were in use: %s", output.Count(s.Done, "file"), s.Failed, s.Skipped, s.Why)).
			WithRemedy("hemera why FILE says what is in the way; then repeat the command, which takes up what is left")
	}
	// Programs get the same record as from ls.
	if e.ForPrograms() {
		return e.List(nil, []output.Record{record(s)}, "")
	}
	// People get a sentence.
	e.Say("%s: %s converted to %s, %s", s.Path, output.Count(s.Done, "file"), s.Form, output.Bytes(s.Bytes))
	return nil
}
