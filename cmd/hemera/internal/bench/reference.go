package bench

import (
	"slices"

	"github.com/spf13/pflag"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/measure/reference"
	"hemera/measure/result"
)

// referenceFlag adds the flag with the names of published results.
func referenceFlag(f *pflag.FlagSet, names *[]string) {
	f.StringSliceVar(names, "reference", nil, "`published` figures to show beside: eos-arm, odroid, … (hemera bench report --reference list)")
}

// referenceList is the value of --reference that lists the sets.
const referenceList = "list"

// listReferences prints the sets of published results. Programs get the names for --reference.
func listReferences(e *cli.Env) error {
	runs, err := reference.Find(reference.Names())
	if err != nil {
		return err
	}
	var records []output.Record
	for _, r := range runs {
		records = append(records, output.Record{{Key: "name", Value: r.ID}, {Key: "title", Value: r.Title}, {Key: "source", Value: r.Source}})
	}
	return e.List([]output.Column{{Title: "NAME", Key: "name"}, {Title: "TITLE", Key: "title"}, {Title: "SOURCE", Key: "source"}}, records, "there are none")
}

// beside returns the runs, and the published results of their levels. Without runs it returns the published results
// alone.
func beside(runs, published []*result.Run) []*result.Run {
	if len(runs) == 0 {
		return published
	}
	// The runs come first, because the first is the base of ratios.
	all := slices.Clone(runs)
	for _, p := range published {
		// A copy, because the set may also be shown without runs.
		some := *p
		some.Levels = slices.DeleteFunc(slices.Clone(p.Levels), func(l result.Level) bool {
			return !slices.ContainsFunc(runs, func(r *result.Run) bool { return hasLevel(r, l.Name) })
		})
		if len(some.Levels) > 0 {
			all = append(all, &some)
		}
	}
	return all
}

// hasLevel reports whether the run has measures of the level. A skipped level has nothing to compare.
func hasLevel(r *result.Run, name string) bool {
	return slices.ContainsFunc(r.Levels, func(l result.Level) bool { return l.Name == name && len(l.Measures) > 0 })
}
