package reference

import (
	"embed"
	"slices"
	"strings"

	"hemera/measure/result"
	"hemera/words/errs"
)

//go:embed data/*.json
var data embed.FS // never changed: embedding needs a variable

// Names returns the names of all sets, sorted.
func Names() (names []string) {
	entries, err := data.ReadDir("data")
	if err != nil { // the folder is part of the program
		return nil
	}
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".json"))
	}
	slices.Sort(names)
	return names
}

// Load returns one set. It fails with NotFound if no set has the name.
func Load(name string) (*result.Run, error) {
	f, err := data.Open("data/" + name + ".json")
	if err != nil {
		return nil, unknown(name)
	}
	defer func() { _ = f.Close() }()
	return result.Decode(f, name)
}

// Find returns the sets with some names, each once, in their order. A name may also be the first words of several: odroid
// stands for odroid-cephfs and odroid-orangefs. It fails with NotFound for a name without a set.
func Find(names []string) (runs []*result.Run, err error) {
	seen := map[string]bool{}
	for _, name := range names {
		found := false
		for _, set := range Names() {
			if set != name && !strings.HasPrefix(set, name+"-") {
				continue
			}
			found = true
			if seen[set] {
				continue
			}
			seen[set] = true
			run, err := Load(set)
			if err != nil {
				return nil, err
			}
			runs = append(runs, run)
		}
		if !found {
			return nil, unknown(name)
		}
	}
	return runs, nil
}

// unknown returns the error for a name without a set.
func unknown(name string) error {
	return errs.New(errs.NotFound, "reference.Find", name, "no published figures have this name").WithRemedy("these are there: " + strings.Join(Names(), ", "))
}
