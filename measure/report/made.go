package report

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hemera/words/errs"
)

// madeName is a file in plots/ with the names of the figures that the report made there, one in a line. A later report
// removes those that it does not make, because old figures beside new ones mislead. It does not touch other files in the
// directory.
const madeName = ".made"

// readMade returns the names of the figures of an earlier report, or nil. The file may come from elsewhere, because
// results are passed on, so names that a report does not use are left out.
func readMade(plots string) (names []string) {
	text, err := os.ReadFile(filepath.Join(plots, madeName)) // #nosec G304 -- in the directory of the report
	if err != nil {
		return nil // then nothing is removed
	}
	for name := range strings.Lines(string(text)) {
		name = strings.TrimSuffix(name, "\n")
		if name != "" && (namer{}).name(name) == name {
			names = append(names, name)
		}
	}
	return names
}

// writeMade records the figures of this report.
func writeMade(plots string, names []string) error {
	return writeFile(filepath.Join(plots, madeName), []byte(strings.Join(names, "\n")+"\n"))
}

// removeStale removes the files of earlier figures that are not made now. A missing file is no error.
func removeStale(plots string, earlier, now []string) (err error) {
	// Some file systems do not distinguish A from a; then the file is the new one.
	kept := func(name string) bool {
		return slices.ContainsFunc(now, func(other string) bool { return strings.EqualFold(name, other) })
	}
	for _, name := range earlier {
		if kept(name) {
			continue
		}
		for _, ending := range []string{endingSVG, endingPNG, endingJSON, endingCSV} {
			path := filepath.Join(plots, name+ending)
			if cause := os.Remove(path); cause != nil && !errors.Is(cause, fs.ErrNotExist) {
				err = errors.Join(err, errs.Wrap(cause, "report.Write", path))
			}
		}
	}
	return err
}
