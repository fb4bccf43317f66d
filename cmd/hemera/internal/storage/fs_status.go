package storage

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
	"hemera/words/errs"
	"hemera/words/hemera"
)

// fsStatusCommand makes `hemera fs status`. People also get the job as a line with a bar.
func fsStatusCommand(e *cli.Env) *cobra.Command {
	var watch bool
	c := &cobra.Command{
		Use: "status <id>", Short: "Everything about one disk, and how its drain goes", Args: cobra.ExactArgs(1),
		Example: `  hemera fs status 4
  hemera fs status 4 --watch     live, until its drain or repair is done
  hemera fs status 4 -j | jq .result[0].stat.drain.progress`,
		RunE: func(c *cobra.Command, args []string) error {
			id, err := ParseDisk(args[0])
			if err != nil {
				return err
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				if watch {
					return watchDisk(ctx, e, disksOf(m), id)
				}
				r, job, err := loadDisk(ctx, disksOf(m), id)
				if err != nil {
					return err
				}
				if err := e.Printer().One(cli.ColumnsOf(r), r); err != nil || job == nil || e.ForPrograms() {
					return err
				}
				_, err = fmt.Fprintf(e.Out, "\n%s\n", e.Visible(JobLine(*job, 24)))
				return err
			})
		},
	}
	c.Flags().BoolVarP(&watch, "watch", "w", false, "show progress until the drain or repair is done")
	c.ValidArgsFunction = complete.Disks(e)
	return c
}

// loadDisk returns the record of one disk, and its job, which is nil if there is none. It fails with NotFound if the disk
// does not exist.
func loadDisk(ctx context.Context, m diskSource, id hemera.DiskID) (output.Record, *adminapi.JobStatus, error) {
	v, err := m.View(ctx)
	if err != nil {
		return nil, nil, err
	}
	d, ok := v.Disk(id)
	if !ok {
		return nil, nil, errs.New(errs.NotFound, "hemera.FsStatus", "disk "+id.String(), "there is no such disk").
			WithRemedy("hemera fs ls shows the disks there are")
	}
	jobs, err := m.Jobs(ctx)
	if err != nil {
		return nil, nil, err
	}
	job := jobOf(jobs, id)
	return diskRecord(v, d, job), job, nil
}

// watchInterval is the time between two requests of --watch. The rate of a job is an average over a few seconds anyway.
const watchInterval = time.Second

// watchDisk follows the job of a disk: on a terminal in one line that changes, else with a line for each change. It
// returns when the job is done, or when there is nothing to do. It returns the error of a request, and Cancelled after
// Ctrl-C.
func watchDisk(ctx context.Context, e *cli.Env, m diskSource, id hemera.DiskID) error {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	last := ""
	for {
		r, job, err := loadDisk(ctx, m, id)
		if err != nil {
			return err
		}
		// Without a job, the line shows the configuration of the disk, or its problem.
		line := fmt.Sprintf("disk %d: %v, nothing to do", id, r.Get("configstatus"))
		if why := r.Get("stat.errmsg"); why != "" {
			line = fmt.Sprintf("disk %d: %v", id, why)
		}
		if job != nil {
			line = JobLine(*job, 24)
		}
		switch {
		// The forms go from the longest bar to the shortest, because the window may be narrow.
		case e.Terminal > 0:
			fmt.Fprintf(e.Out, "\r\x1b[K%s", cli.Fitted(e.OutWidth(), cli.BarForms(func(bar int) string {
				if job != nil {
					line = JobLine(*job, bar)
				}
				return e.Visible(line)
			})))
		case line != last:
			fmt.Fprintln(e.Out, line)
		}
		last = line
		// A drain, or the repair of a disk that is out of reach, may not have begun yet. For a disk that is off, nothing
		// is done.
		config := r.Get("configstatus")
		// asked means that work on the disk is still to come, even if it has no job yet.
		asked := config == string(hemera.ConfigDrain) || job == nil && r.Get("stat.errc") != 0 && config != string(hemera.ConfigOff)
		if !asked && (job == nil || job.Over()) {
			if e.Terminal > 0 {
				fmt.Fprintln(e.Out)
			}
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errs.Wrap(ctx.Err(), "hemera.Watch", "disk "+id.String())
		}
	}
}
