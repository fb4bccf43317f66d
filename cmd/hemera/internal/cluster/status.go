package cluster

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/cmd/hemera/internal/storage"
	"hemera/doors/admin"
	"hemera/errs"
)

// verdictOf ends a command that found this severity; nil if all is well.
func verdictOf(s hemera.Severity) error {
	switch s {
	case hemera.SeverityError:
		return cli.NewVerdict(cli.ExitError)
	case hemera.SeverityWarning:
		return cli.NewVerdict(cli.ExitWarning)
	}
	return nil
}

// statusInterval is how often --watch asks.
const statusInterval = 2 * time.Second

// StatusCommand makes `hemera status`: is the cluster well?.
func StatusCommand(e *cli.Env) *cobra.Command {
	var watch, all bool
	c := &cobra.Command{
		Use: "status", Short: "Is the cluster well? What is wrong, and what to do", Args: cobra.NoArgs, Annotations: cli.GivesVerdict(),
		Long: `Shows on one screen what is not as it should be, worst first, each with a remedy, and then
a summary of the cluster. An error means that data is lost or that something does not work
now; a warning, that everything works with less redundancy or room than there should be.

The exit code is for monitoring: 0 when all is well, 1 with warnings, 2 with errors, 3 when
nobody could say: the cluster cannot be reached, or the command line is wrong.
docs/operations.md lists the conditions; /metrics has them as hemera_condition.`,
		Example: `  hemera status
  hemera status --watch
  hemera status -j | jq '.result[] | select(.type=="condition")'`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				if watch {
					return watchStatus(ctx, e, m, all)
				}
				s, err := m.Status(ctx)
				if err != nil {
					return err
				}
				if err := printStatus(e, s, all); err != nil {
					return err
				}
				return verdictOf(s.Health)
			})
		},
	}
	c.Flags().BoolVarP(&watch, "watch", "w", false, "show it again and again, until Ctrl-C")
	c.Flags().BoolVarP(&all, "all", "a", false, "every condition, also where there are many of a kind")
	return c
}

// watchStatus prints the status until it is interrupted: in place on a terminal, else whenever it changes.
func watchStatus(ctx context.Context, e *cli.Env, m *admin.Client, all bool) error {
	tick := time.NewTicker(statusInterval)
	defer tick.Stop()
	last := "-"
	for {
		s, err := m.Status(ctx)
		if err != nil {
			return err
		}
		// Rates and times change with every answer; only conditions count as a change.
		now := fmt.Sprint(s.Conditions)
		if e.Terminal > 0 && !e.ForPrograms() {
			fmt.Fprint(e.Out, "\x1b[H\x1b[2J")
		}
		if e.Terminal > 0 || now != last {
			if err := printStatus(e, s, all); err != nil {
				return err
			}
		}
		last = now
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errs.Wrap(ctx.Err(), "hemera.Status", "")
		}
	}
}

// printStatus prints the conditions, the worst first, and a summary of the cluster.
func printStatus(e *cli.Env, s hemera.ClusterStatus, all bool) error {
	if e.ForPrograms() {
		records := []output.Record{clusterRecord(s)}
		for _, c := range s.Conditions {
			records = append(records, conditionRecord(c))
		}
		return e.Printer().List(nil, records)
	}
	var b strings.Builder
	b.WriteString(healthLine(e, s))
	conditions := s.Conditions
	if !all {
		conditions = grouped(conditions)
	}
	for _, c := range conditions {
		about := c.Code
		if c.Subject != "" {
			about += ", " + c.Subject
		}
		fmt.Fprintf(&b, "  %s  %s: %s\n", coloured(e, c.Severity, fmt.Sprintf("%-7s", c.Severity)), about, e.Visible(c.Text))
		if c.Remedy != "" {
			fmt.Fprintf(&b, "           what to do: %s\n", e.Visible(c.Remedy))
		}
	}
	b.WriteString("\n")
	for _, line := range summary(e, s) {
		fmt.Fprintf(&b, "  %-8s %s\n", line[0], e.Visible(line[1]))
	}
	_, err := fmt.Fprint(e.Out, b.String())
	return err
}

// healthLine is the first line: the worst severity, and how many conditions there are of each.
func healthLine(e *cli.Env, s hemera.ClusterStatus) string {
	var errors, warnings int64
	for _, c := range s.Conditions {
		switch c.Severity {
		case hemera.SeverityError:
			errors++
		case hemera.SeverityWarning:
			warnings++
		}
	}
	var parts []string
	if errors > 0 {
		parts = append(parts, output.Count(errors, "error"))
	}
	if warnings > 0 {
		parts = append(parts, output.Count(warnings, "warning"))
	}
	line := "health: " + coloured(e, s.Health, string(s.Health))
	if len(parts) > 0 {
		line += " (" + strings.Join(parts, ", ") + ")"
	}
	return line + "\n"
}

// coloured paints a text in the colour of a severity, if the terminal takes colours.
func coloured(e *cli.Env, s hemera.Severity, text string) string {
	colour := map[hemera.Severity]string{hemera.SeverityOK: "32", hemera.SeverityWarning: "33", hemera.SeverityError: "31"}[s]
	if !e.Colour() {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// groupMin is the number of conditions of one kind from which they are shown as one.
const groupMin = 4

// grouped merges many conditions of one kind into one, so that the list stays on one screen. --all shows each.
func grouped(list []hemera.Condition) (out []hemera.Condition) {
	type kind struct {
		code     string
		severity hemera.Severity
	}
	kinds := map[kind][]hemera.Condition{}
	for _, c := range list {
		k := kind{c.Code, c.Severity}
		kinds[k] = append(kinds[k], c)
	}
	for _, c := range list {
		k := kind{c.Code, c.Severity}
		same := kinds[k]
		// The rest of a kind is shown with its first.
		delete(kinds, k)
		switch {
		case len(same) < groupMin:
			out = append(out, same...)
		default:
			first := same[0]
			first.Text += fmt.Sprintf("; and %d more: hemera status -a", len(same)-1)
			out = append(out, first)
		}
	}
	return out
}

// summary is the cluster in a few lines: a title and a text for each.
func summary(e *cli.Env, s hemera.ClusterStatus) [][2]string {
	pieces := "all files have all their pieces"
	if f := s.Files; f.Lost+f.Unreadable+f.Incomplete > 0 {
		pieces = fmt.Sprintf("%s lost, %d unreadable now, %d incomplete", output.Count(f.Lost, "file"), f.Unreadable, f.Incomplete)
	}
	if s.Files.Partial {
		pieces += " (still counting)"
	}
	lines := [][2]string{
		{"manager", fmt.Sprintf("%s, up %s, %s", cmp.Or(s.Version, "-"), output.Seconds(s.Taken.Sub(s.Booted).Seconds()), output.Count(int64(s.Sessions), "session"))},
		{"nodes", fmt.Sprintf("%d, %d online", s.Nodes, s.NodesOnline)},
		{"disks", fmt.Sprintf("%d, %d readable, %d writable", s.Disks, s.DisksReadable, s.DisksWritable)},
		{"room", fmt.Sprintf("%s, %s used (%.1f%%), %s free", output.Bytes(s.Room.Capacity), output.Bytes(s.Room.Used), cli.Percent(s.Room.Used, s.Room.Capacity), output.Bytes(s.Room.Free))},
		{"files", fmt.Sprintf("%s, %s; %s, %s on disks", output.Count(s.Tree.Files, "file"), output.Count(s.Tree.Dirs, "directory"), output.Bytes(s.Tree.Bytes), output.Bytes(s.Tree.Physical))},
		{"pieces", pieces},
		{"traffic", fmt.Sprintf("reads %s/s, writes %s/s; %d open to read, %d to write", output.Bytes(s.ReadBytes), output.Bytes(s.WriteBytes), s.ReadOpens, s.WriteOpens)},
	}
	for i, j := range s.Jobs {
		title := ""
		if i == 0 {
			title = "jobs"
		}
		if i == jobsShown {
			lines = append(lines, [2]string{"", fmt.Sprintf("and %d more: hemera fs ls -d", len(s.Jobs)-i)})
			break
		}
		lines = append(lines, [2]string{title, storage.JobLine(j, 16)})
	}
	return lines
}

// jobsShown is the number of jobs in the summary.
const jobsShown = 5

// clusterRecord makes the record of the whole cluster, which comes before those of its conditions.
func clusterRecord(s hemera.ClusterStatus) output.Record {
	return output.Record{
		{Key: "type", Value: "cluster"}, {Key: "health", Value: string(s.Health)}, {Key: "conditions", Value: len(s.Conditions)},
		{Key: "version", Value: s.Version}, {Key: "timestamp", Value: cli.Unix(s.Taken)}, {Key: "uptime", Value: int64(s.Taken.Sub(s.Booted).Seconds())},
		{Key: "sessions", Value: s.Sessions}, {Key: "nodes", Value: s.Nodes}, {Key: "nodes_online", Value: s.NodesOnline},
		{Key: "disks", Value: s.Disks}, {Key: "disks_readable", Value: s.DisksReadable}, {Key: "disks_writable", Value: s.DisksWritable},
		{Key: "capacity", Value: s.Room.Capacity}, {Key: "used", Value: s.Room.Used}, {Key: "free", Value: s.Room.Free},
		{Key: "files", Value: s.Tree.Files}, {Key: "directories", Value: s.Tree.Dirs}, {Key: "bytes", Value: s.Tree.Bytes}, {Key: "physical", Value: s.Tree.Physical},
		{Key: "files_lost", Value: s.Files.Lost}, {Key: "files_unreadable", Value: s.Files.Unreadable}, {Key: "files_incomplete", Value: s.Files.Incomplete},
		{Key: "files_partial", Value: s.Files.Partial},
		{Key: "readbytes", Value: s.ReadBytes}, {Key: "writebytes", Value: s.WriteBytes}, {Key: "ropen", Value: s.ReadOpens}, {Key: "wopen", Value: s.WriteOpens},
		{Key: "pending", Value: s.PendingWrites}, {Key: "jobs", Value: len(s.Jobs)},
	}
}

// conditionRecord makes the record of a condition. Codes are stable; texts may change.
func conditionRecord(c hemera.Condition) output.Record {
	return output.Record{
		{Key: "type", Value: "condition"}, {Key: "code", Value: c.Code}, {Key: "severity", Value: string(c.Severity)}, {Key: "subject", Value: c.Subject},
		{Key: "count", Value: c.Count}, {Key: "text", Value: c.Text}, {Key: "remedy", Value: c.Remedy},
	}
}
