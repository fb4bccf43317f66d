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
// from the mean of how full its disks are, in percent. Disks of which nothing is known, since they are
// gone, are not empty ones.
func groupRecords(v *hemera.View) (out []output.Record) {
	groups := map[string][]hemera.Disk{}
	for _, d := range v.Disks {
		groups[d.Group] = append(groups[d.Group], d)
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		disks := groups[name]
		var sum, squares, worst, known float64
		active := false
		zones := map[string]bool{}
		for _, d := range disks {
			if d.Capacity > 0 {
				sum, known = sum+percent(d.Used, d.Capacity), known+1
			}
			active = active || d.Active
			zones[d.Zone] = true
		}
		known = max(known, 1)
		mean := sum / known
		for _, d := range disks {
			if d.Capacity == 0 {
				continue
			}
			off := percent(d.Used, d.Capacity) - mean
			squares += off * off
			worst = max(worst, math.Abs(off))
		}
		zone := ""
		if len(zones) == 1 {
			zone = disks[0].Zone
		}
		out = append(out, output.Record{
			{Key: "type", Value: "groupview"}, {Key: "name", Value: name}, {Key: "status", Value: onOff(active, "on", "off")},
			{Key: "geotag", Value: zone}, {Key: "nofs", Value: len(disks)}, {Key: "filled.dev", Value: worst},
			{Key: "filled.avg", Value: mean}, {Key: "filled.sig", Value: math.Sqrt(squares / known)},
		})
	}
	return out
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
