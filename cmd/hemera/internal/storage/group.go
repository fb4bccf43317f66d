package storage

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/hemera"
)

// GroupCommand makes `hemera group`: groups of disks.
// There is nothing to change: the manager assigns groups.
func GroupCommand(e *cli.Env) *cobra.Command {
	c := cli.Noun("group", "Groups: list", &cobra.Command{
		Use: "ls", Short: "List groups, and how evenly their disks are filled", Args: cobra.NoArgs, Aliases: []string{"list"},
		Example: `  hemera group ls`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				v, jobs, err := viewAndJobs(ctx, disksOf(m))
				if err != nil {
					return err
				}
				return e.List(groupColumns, groupRecords(v, jobs), "there are no disks yet: hemera fs add")
			})
		},
	})
	c.Example = `  hemera group ls`
	c.Long = `A group is a label that the system puts on as many disks of a space as its groupsize says, in the
order in which they were added. It is kept for tools that read EOS's groups: placement does not use
it, and a file's pieces may lie in several groups.`
	return c
}

// groupRecords makes the record of each group. "filled" keys are about how full its disks are, in percent: mean,
// standard deviation and largest deviation. A disk that is gone has no figures; it does
// not count as empty.
// Groups without disks do not exist. They are sorted by name.
func groupRecords(v *hemera.View, jobs []hemera.JobStatus) (out []output.Record) {
	groups := map[string][]hemera.Disk{}
	for _, d := range v.Disks {
		groups[d.Group] = append(groups[d.Group], d)
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		disks := groups[name]
		var filled spread
		active := false
		zones := map[string]bool{}
		for _, d := range disks {
			if d.Capacity > 0 {
				filled.add(100 * d.Filling())
			}
			// A group is on if any of its disks can be read.
			active = active || d.Active
			zones[d.Zone] = true
		}
		// EOS shows one geotag for a group.
		zone := ""
		if len(zones) == 1 {
			zone = disks[0].Zone
		}
		r := output.Record{
			// EOS's word for the kind of record.
			{Key: "type", Value: "groupview"}, {Key: "name", Value: name}, {Key: "cfg.status", Value: cli.OnOff(active, "on", "off")},
			{Key: "geotag", Value: zone}, {Key: "nofs", Value: len(disks)}, {Key: "dev.stat.statfs.filled", Value: filled.worst()},
			// In percent, over the disks whose room is known.
			{Key: "avg.stat.statfs.filled", Value: filled.mean()}, {Key: "sig.stat.statfs.filled", Value: filled.sigma()},
			// Pieces are moved within and between the groups of a space.
			{Key: "cfg.stat.balancing", Value: balancing(jobs, disks[0].Space)}, {Key: "sum.stat.balancer.running", Value: balancers(jobs, disks[0].Space)}, {Key: "sum.stat.drainer.running", Value: drainersOf(disks, jobs)},
		}
		out = append(out, append(r, sumsOf(v, disks)...))
	}
	return out
}

// groupColumns are the table of group ls.
var groupColumns = []output.Column{
	{Title: "type", Key: "type", Wide: 2},                 // always groupview
	{Title: "name", Key: "name"},                          // space and number
	{Title: "status", Key: "cfg.status"},                  // on if any disk can be read
	{Title: "zone", Key: "geotag"},                        // if all disks have the same
	{Title: "disks", Key: "nofs"},                         // number of disks
	{Title: "dev(filled)", Key: "dev.stat.statfs.filled"}, // largest deviation from the mean
	{Title: "avg(filled)", Key: "avg.stat.statfs.filled"}, // mean, in percent
	{Title: "sig(filled)", Key: "sig.stat.statfs.filled"}, // standard deviation
}
