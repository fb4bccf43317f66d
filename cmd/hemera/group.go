package main

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/admin"
	"hemera/cmd/hemera/internal/output"
)

func groupCommand(e *env) *cobra.Command {
	c := noun("group", "Groups: list", &cobra.Command{
		Use: "ls", Short: "List groups, and how evenly their disks are filled", Args: cobra.NoArgs, Aliases: []string{"list"},
		RunE: func(c *cobra.Command, _ []string) error {
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				v, err := m.View(ctx)
				if err != nil {
					return err
				}
				return e.list(groupColumns, groupRecords(v), "there are no disks yet: hemera fs add")
			})
		},
	})
	c.Long = `A group is the set of disks one file may span. Groups are made by the system.`
	return c
}

// groupRecords makes one record a group: the mean, the standard deviation and the largest deviation
// from the mean of how full its disks are, in percent.
func groupRecords(v *hemera.View) (out []output.Record) {
	groups := map[string][]hemera.Disk{}
	for _, d := range v.Disks {
		groups[d.Group] = append(groups[d.Group], d)
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		disks := groups[name]
		active := false
		zones := map[string]bool{}
		for _, d := range disks {
			active = active || d.Active
			zones[d.Zone] = true
		}
		mean, sigma, worst := filled(disks)
		zone := ""
		if len(zones) == 1 {
			zone = disks[0].Zone
		}
		out = append(out, output.Record{
			{Key: "type", Value: "groupview"}, {Key: "name", Value: name}, {Key: "status", Value: onOff(active, "on", "off")},
			{Key: "geotag", Value: zone}, {Key: "nofs", Value: len(disks)}, {Key: "filled.dev", Value: worst},
			{Key: "filled.avg", Value: mean}, {Key: "filled.sig", Value: sigma},
		})
	}
	return out
}

// filled is how full disks are in percent: mean, standard deviation, largest deviation from the mean.
// A disk that is not there is not an empty one, and does not count.
func filled(disks []hemera.Disk) (mean, sigma, worst float64) {
	var full []float64
	for _, d := range disks {
		if d.Capacity > 0 {
			full = append(full, percent(d.Used, d.Capacity))
		}
	}
	if len(full) == 0 {
		return 0, 0, 0
	}
	for _, f := range full {
		mean += f / float64(len(full))
	}
	for _, f := range full {
		sigma += (f - mean) * (f - mean) / float64(len(full))
		worst = max(worst, math.Abs(f-mean))
	}
	return mean, math.Sqrt(sigma), worst
}

var groupColumns = []output.Column{
	{Title: "type", Key: "type"},
	{Title: "name", Key: "name"},
	{Title: "status", Key: "status"},
	{Title: "geotag", Key: "geotag"},
	{Title: "N(fs)", Key: "nofs"},
	{Title: "dev(filled)", Key: "filled.dev"},
	{Title: "avg(filled)", Key: "filled.avg"},
	{Title: "sig(filled)", Key: "filled.sig"},
}
