package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/cmd/hemera/internal/output"
	"hemera/doors/admin"
	"hemera/errs"
)

func fsStatusCommand(e *env) *cobra.Command {
	var watch bool
	c := &cobra.Command{
		Use: "status <id>", Short: "Everything about one disk, and how its drain goes", Args: cobra.ExactArgs(1),
		Example: `  hemera fs status 4
  hemera fs status 4 --watch     live, until its drain or repair is done
  hemera fs status 4 -j | jq .result[0].stat.drain.progress`,
		RunE: func(c *cobra.Command, args []string) error {
			id, err := parseDisk(args[0])
			if err != nil {
				return err
			}
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				if watch {
					return e.watchDisk(ctx, m, id)
				}
				r, job, err := loadDisk(ctx, m, id)
				if err != nil {
					return err
				}
				if err := e.printer().One(columnsOf(r), r); err != nil || job == nil || e.forPrograms() {
					return err
				}
				_, err = fmt.Fprintf(e.Out, "\n%s\n", e.visible(jobLine(*job, 24)))
				return err
			})
		},
	}
	c.Flags().BoolVarP(&watch, "watch", "w", false, "show progress until the drain or repair is done")
	c.ValidArgsFunction = completeDisks(e)
	return c
}

func loadDisk(ctx context.Context, m diskSource, id hemera.DiskID) (output.Record, *hemera.JobStatus, error) {
	v, err := m.View(ctx)
	if err != nil {
		return nil, nil, err
	}
	d, ok := v.Disk(id)
	if !ok {
		return nil, nil, errs.New(errs.NotFound, "fs status", "disk "+id.String(), "there is no such disk").
			WithRemedy("hemera fs ls shows the disks there are")
	}
	jobs, err := m.Jobs(ctx)
	if err != nil {
		return nil, nil, err
	}
	job := jobOf(jobs, id)
	return diskRecord(v, d, job), job, nil
}

// watchInterval is how often --watch asks; a job's rate is measured over a few seconds anyway.
const watchInterval = time.Second

// watchDisk follows a disk's job: on a terminal in one line that changes, else in a line a change.
// It ends when the job is done, or when there is none.
func (e *env) watchDisk(ctx context.Context, m diskSource, id hemera.DiskID) error {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	last := ""
	for {
		r, job, err := loadDisk(ctx, m, id)
		if err != nil {
			return err
		}
		line := fmt.Sprintf("disk %d: %v, nothing to do", id, r.Get("configstatus"))
		if why := r.Get("stat.errmsg"); why != "" {
			line = fmt.Sprintf("disk %d: %v", id, why)
		}
		if job != nil {
			line = jobLine(*job, 24)
		}
		switch {
		case e.Terminal > 0:
			fmt.Fprintf(e.Out, "\r\x1b[K%s", fitted(e.width(), barForms(func(bar int) string {
				if job != nil {
					line = jobLine(*job, bar)
				}
				return e.visible(line)
			})))
		case line != last:
			fmt.Fprintln(e.Out, line)
		}
		last = line
		// A drain, or the repair of a disk that is out of reach, may not have begun yet. Nothing is done about
		// one that is off.
		config := r.Get("configstatus")
		asked := config == string(hemera.ConfigDrain) || job == nil && r.Get("stat.errc") != 0 && config != string(hemera.ConfigOff)
		if !asked && (job == nil || job.State == "done") {
			if e.Terminal > 0 {
				fmt.Fprintln(e.Out)
			}
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errs.Wrap(ctx.Err(), "watch", "disk "+id.String())
		}
	}
}
