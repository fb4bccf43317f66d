package cluster

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/cmd/hemera/internal/storage"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// verdictOf ends a command that found this severity; nil if all is well.
// The codes are those that monitoring systems such as Nagios use.
func verdictOf(s adminapi.Severity) error {
	switch s {
	case adminapi.SeverityError:
		return cli.NewVerdict(cli.ExitError)
	case adminapi.SeverityWarning:
		return cli.NewVerdict(cli.ExitWarning)
	}
	return nil
}

// statusInterval is the interval at which --watch asks, as fast as a person reads.
const statusInterval = 2 * time.Second

// StatusCommand makes `hemera status`. It makes one request, and changes nothing.
func StatusCommand(e *cli.Env) *cobra.Command {
	var watch, all bool
	c := &cobra.Command{
		Use: "status", Short: "Is the cluster well? What is wrong, and what to do", Args: cobra.NoArgs, Annotations: cli.GivesVerdict(),
		Long: `Shows on one screen what is not as it should be, worst first, each with a remedy, and then
a summary of the cluster. An error means that data is lost or that something does not work
now; a warning, that everything works with less redundancy or room than there should be.

The exit code is for monitoring: 0 when all is well, 1 with warnings, 2 with errors, 3 when
it is unknown: the cluster cannot be reached, or the command line is wrong.
docs/operations.md lists the conditions; /metrics has them as hemera_condition.`,
		Example: `  hemera status
  hemera status --watch
  hemera status -j | jq '.result[] | select(.type=="condition")'`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				if watch {
					return watchStatus(ctx, e, m, all)
				}
				s, err := m.Status.Status(ctx)
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
	c.Flags().BoolVarP(&all, "all", "a", false, "every condition, also where there are many of a kind") // without it many of a kind are one line
	return c
}

// watchStatus prints the status until it is interrupted: in place on a terminal, otherwise when it changes. It returns
// only with an error: that of a request, or Cancelled. Screens are cleared with ANSI sequences.
func watchStatus(ctx context.Context, e *cli.Env, m *admin.Client, all bool) error {
	tick := time.NewTicker(statusInterval)
	defer tick.Stop()
	// No status has this text, so the first one is always printed.
	last := "-"
	for {
		s, err := m.Status.Status(ctx)
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
// The whole page is written at once, so that a screen that is redrawn does not flicker.
func printStatus(e *cli.Env, s adminapi.ClusterStatus, all bool) error {
	if e.ForPrograms() {
		records := []output.Record{clusterRecord(s)}
		for _, c := range s.Conditions {
			records = append(records, conditionRecord(c))
		}
		return e.Printer().List(nil, records)
	}
	var b strings.Builder
	b.WriteString(healthLine(e, s))
	// The manager sorts them, the worst first.
	conditions := s.Conditions
	if !all {
		conditions = grouped(conditions)
	}
	for _, c := range conditions {
		about := c.Code
		// A condition of the whole cluster has no subject.
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

// healthLine returns the first line: the worst severity, and the number of conditions of each severity.
func healthLine(e *cli.Env, s adminapi.ClusterStatus) string {
	var errors, warnings int64 // numbers of conditions
	for _, c := range s.Conditions {
		switch c.Severity {
		case adminapi.SeverityError:
			errors++
		case adminapi.SeverityWarning:
			warnings++
		}
	}
	var parts []string
	if errors > 0 {
		// Errors first, as in the list below.
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
// Green for well, yellow for a warning, red for an error, as in tables.
func coloured(e *cli.Env, s adminapi.Severity, text string) string {
	colour := map[adminapi.Severity]string{adminapi.SeverityOK: "32", adminapi.SeverityWarning: "33", adminapi.SeverityError: "31"}[s]
	if !e.Colour() {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// groupMin is the number of conditions of one kind from which they are shown as one.
const groupMin = 4

// grouped merges many conditions of one kind into one, so that the list stays on one screen. --all shows each.
// Conditions of one code and severity are one kind. It changes no element of list.
func grouped(list []adminapi.Condition) (out []adminapi.Condition) {
	type kind struct {
		code     string
		severity adminapi.Severity
	}
	kinds := map[kind][]adminapi.Condition{}
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

// summary returns a few lines about the cluster, each a title and a text.
// Titles have at most eight characters. An empty title continues the lines above.
func summary(e *cli.Env, s adminapi.ClusterStatus) [][2]string {
	pieces := "all files have all their pieces"
	if f := s.Files; f.Lost+f.Unreadable+f.Incomplete+f.Degraded > 0 {
		pieces = fmt.Sprintf("%s lost, %d unreadable now, %d degraded, %d incomplete", output.Count(f.Lost, "file"), f.Unreadable, f.Degraded, f.Incomplete)
		if f.Frail > 0 {
			pieces += fmt.Sprintf("; %d could lose no more", f.Frail)
		}
	}
	// After a start the manager counts in the background.
	if s.Files.Partial {
		pieces += " (still counting)"
	}
	lines := [][2]string{
		{"manager", fmt.Sprintf("%s, up %s, %s", cmp.Or(s.Version, "-"), output.Seconds(s.Taken.Sub(s.Booted).Seconds()), output.Count(int64(s.Sessions), "session"))}, // the manager's own version, not that of this program
		{"nodes", fmt.Sprintf("%d, %d online", s.Nodes, s.NodesOnline)},                                                                                                                                               // joined, and heard of lately
		{"disks", fmt.Sprintf("%d, %d readable, %d writable", s.Disks, s.DisksReadable, s.DisksWritable)},                                                                                                             // writable disks take new files
		{"room", fmt.Sprintf("%s, %s used (%.1f%%), %s free", output.Bytes(s.Room.Capacity), output.Bytes(s.Room.Used), 100*s.Room.Filling(), output.Bytes(s.Room.Free))},                                             // a shared file system counts once
		{"files", fmt.Sprintf("%s, %s; %s, %s on disks", output.Count(s.Tree.Files, "file"), output.Count(s.Tree.Dirs, "directory"), output.Bytes(s.Tree.Bytes), output.Bytes(s.Tree.Physical)) + binned(s.Recycled)}, // logical bytes, and the bytes of all pieces
		{"pieces", pieces}, // how complete the files are
		{"traffic", fmt.Sprintf("reads %s/s, writes %s/s; %d open to read, %d to write", output.Bytes(s.ReadBytes), output.Bytes(s.WriteBytes), s.ReadOpens, s.WriteOpens)}, // at the nodes, over the last seconds
	}
	for i, j := range s.Jobs {
		// Only the first job has the title.
		title := ""
		if i == 0 {
			title = "jobs"
		}
		if i == jobsShown {
			// fs ls -d lists all of them.
			lines = append(lines, [2]string{"", fmt.Sprintf("and %d more: hemera fs ls -d", len(s.Jobs)-i)})
			break
		}
		lines = append(lines, [2]string{title, storage.JobLine(j, 16)})
	}
	return lines
}

// jobsShown bounds the jobs in the summary.
const jobsShown = 5

// clusterRecord makes the record of the whole cluster, which comes before those of its conditions.
// Bytes are bytes, rates are bytes a second, uptime is in seconds.
func clusterRecord(s adminapi.ClusterStatus) output.Record {
	return output.Record{
		{Key: "type", Value: "cluster"}, {Key: "health", Value: string(s.Health)}, {Key: "conditions", Value: len(s.Conditions)}, // health is ok, warning or error
		{Key: "version", Value: s.Version}, {Key: "timestamp", Value: cli.Unix(s.Taken)}, {Key: "uptime", Value: int64(s.Taken.Sub(s.Booted).Seconds())}, // of the manager
		{Key: "sessions", Value: s.Sessions}, {Key: "nodes", Value: s.Nodes}, {Key: "nodes_online", Value: s.NodesOnline}, // at the manager
		{Key: "disks", Value: s.Disks}, {Key: "disks_readable", Value: s.DisksReadable}, {Key: "disks_writable", Value: s.DisksWritable}, // of all spaces, with those that are off
		{Key: "capacity", Value: s.Room.Capacity}, {Key: "used", Value: s.Room.Used}, {Key: "free", Value: s.Room.Free}, // bytes of the disks' file systems
		{Key: "files", Value: s.Tree.Files}, {Key: "directories", Value: s.Tree.Dirs}, {Key: "bytes", Value: s.Tree.Bytes}, {Key: "physical", Value: s.Tree.Physical}, // physical counts every copy
		{Key: "files_lost", Value: s.Files.Lost}, {Key: "files_unreadable", Value: s.Files.Unreadable}, {Key: "files_incomplete", Value: s.Files.Incomplete}, // lost: no good piece is left; incomplete: fewer pieces than the layout
		{Key: "files_degraded", Value: s.Files.Degraded}, {Key: "files_frail", Value: s.Files.Frail}, // readable, with pieces on disks that are away; could lose no more
		{Key: "files_partial", Value: s.Files.Partial},                                                                                                            // true while these are still being counted
		{Key: "readbytes", Value: s.ReadBytes}, {Key: "writebytes", Value: s.WriteBytes}, {Key: "ropen", Value: s.ReadOpens}, {Key: "wopen", Value: s.WriteOpens}, // rates, and files open at the nodes
		{Key: "pending", Value: s.PendingWrites}, {Key: "jobs", Value: len(s.Jobs)}, // writes under way, and drains and repairs
	}
}

// conditionRecord makes the record of a condition. Codes are stable; texts may change.
// docs/operations.md lists the codes.
func conditionRecord(c adminapi.Condition) output.Record {
	return output.Record{
		{Key: "type", Value: "condition"}, {Key: "code", Value: c.Code}, {Key: "severity", Value: string(c.Severity)}, {Key: "subject", Value: c.Subject}, // subject is a disk, node, space or nothing
		{Key: "count", Value: c.Count}, {Key: "text", Value: c.Text}, {Key: "remedy", Value: c.Remedy}, // how many things it is about
	}
}

// binned returns a text about the content of recycle bins, which the counts of files do not include, like those of fsck
// and of backups.
func binned(t hemera.TreeTotals) string {
	if t.Files == 0 {
		return ""
	}
	return fmt.Sprintf("; besides %s in recycle bins, %s", output.Count(t.Files, "file"), output.Bytes(t.Bytes))
}
