package main

import (
	"context"
	"fmt"
	"strings"
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
				if err := e.printer().One(columnsOf(r), r); err != nil || job == nil || e.json || e.monitor {
					return err
				}
				_, err = fmt.Fprintf(e.Out, "\n%s\n", e.visible(jobLine(*job, 24)))
				return err
			})
		},
	}
	c.Flags().BoolVarP(&watch, "watch", "w", false, "show progress until the drain or repair is done")
	c.ValidArgsFunction = e.completeDisks
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

// columnsOf shows every field of a record under its key, with units a person can read; what is
// [constant] tells a person nothing.
func columnsOf(r output.Record) []output.Column {
	columns := make([]output.Column, 0, len(r))
	for _, f := range r {
		if !constant(f.Key) {
			columns = append(columns, output.Column{Title: f.Key, Key: f.Key, Show: unitOf(f.Key)})
		}
	}
	return columns
}

// constant keys are there for tools that read EOS's: each is about something that Hemera has not, or
// does not measure (see docs/coming-from-eos.md).
func constant(key string) bool {
	switch key {
	case "stat.drainretry", "stat.balancer.running", "stat.disk.iops", "stat.disk.bw",
		"stat.health.redundancy_factor", "stat.health.drives_failed", "stat.health.drives_total",
		"sum.stat.balancer.running", "sum.stat.disk.iops?configstatus@rw", "sum.stat.disk.bw?configstatus@rw",
		"cfg.quota", "cfg.nominalsize", "cfg.balancer", "cfg.balancer.threshold", "sum.stat.statfs.ffiles":
		return true
	}
	return false
}

func unitOf(key string) func(any) string {
	has := func(suffixes ...string) bool {
		for _, s := range suffixes {
			if strings.HasSuffix(key, s) {
				return true
			}
		}
		return false
	}
	switch {
	case has("<n>?configstatus@rw"):
		return nil
	case has("bytes", "bytes_max", "bytesleft", "bytesdone", "capacity", ".rss", ".vsize", "@rw", ".maxsize", ".occupancy", ".resident", ".virtual", ".share", ".growth"):
		return output.Bytes
	case has("headroom"):
		return output.Auto(output.Bytes)
	case has("minpieces"):
		return output.Auto(output.Digits(0))
	case has("usage", "progress", "filled"):
		return output.Percent
	case has("timeleft", "uptime", "delta", "graceperiod"):
		return output.Seconds
	case has("started", ".start", ".lastaudit", ".lastscrub", ".backup.last"):
		return output.Time
	}
	return nil
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
