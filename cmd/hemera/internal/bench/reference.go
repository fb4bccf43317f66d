package bench

import (
	"slices"

	"github.com/spf13/pflag"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/measure/reference"
	"hemera/measure/result"
)

// referenceFlag adds the flag that names published figures.
func referenceFlag(f *pflag.FlagSet, names *[]string) {
	f.StringSliceVar(names, "reference", nil, "`published` figures to show beside: eos-arm, odroid, … (hemera bench report --reference list)")
}

// referenceList is what --reference takes to list the sets.
const referenceList = "list"

// listReferences prints the sets of published figures.
// Programs get the same names, which --reference takes.
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

// beside are the runs, and the published figures of the levels that they have. Without runs they are shown alone.
func beside(runs, published []*result.Run) []*result.Run {
	if len(runs) == 0 {
		return published
	}
	// The runs come first: the first of all is the base of ratios.
	all := slices.Clone(runs)
	for _, p := range published {
		// A copy, because the set may be shown without runs, too.
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

// hasLevel reports whether the run measured something at the level.
// A level that was skipped has nothing to compare.
func hasLevel(r *result.Run, name string) bool {
	return slices.ContainsFunc(r.Levels, func(l result.Level) bool { return l.Name == name && len(l.Measures) > 0 })
}
