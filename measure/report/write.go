package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"hemera/measure/result"
	"hemera/words/errs"
)

// Path returns the path of the page in a directory.
func Path(dir string) string { return filepath.Join(dir, "report.html") }

// Write writes report.html of some runs into a directory, and plots/ with each figure as SVG, PNG, CSV and JSON. It
// replaces files of the same name, and removes the figures of an earlier report that this one does not have; other files
// stay. The first run is the base of comparisons. Files are written atomically.
func Write(dir string, runs []*result.Run) error {
	r, err := newRuler()
	if err != nil {
		return err
	}
	plots := filepath.Join(dir, "plots")
	if err := os.MkdirAll(plots, 0o755); err != nil { // #nosec G301 -- a report is to be read
		return errs.Wrap(err, "report.Write", plots)
	}
	earlier := readMade(plots)
	// Names are unique in the directory, over all levels.
	names := namer{}
	var made []string
	p := newPage(runs, r, usualConfidence)
	for i := range p.Levels {
		for j := range p.Levels[i].Figures {
			f := &p.Levels[i].Figures[j]
			f.File = names.name(f.c.ID)
			if err := writeFigure(filepath.Join(plots, f.File), f.c, len(runs) > 1, r); err != nil {
				return err
			}
			made = append(made, f.File)
		}
	}
	// The page is written after the files to which it links, and before the files of the earlier page are removed.
	var page bytes.Buffer
	if err := p.render(&page); err != nil {
		return err
	}
	if err := writeFile(Path(dir), page.Bytes()); err != nil {
		return err
	}
	return errors.Join(removeStale(plots, earlier, made), writeMade(plots, made))
}

// WritePage writes only the page, for example of a comparison, to a file. confidence, such as 0.95, is that of the
// intervals. It replaces an earlier file of that name.
func WritePage(file string, runs []*result.Run, confidence float64) error {
	r, err := newRuler()
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := newPage(runs, r, confidence).render(&page); err != nil {
		return err
	}
	return writeFile(file, page.Bytes())
}

// plotWidth is the width of plots as files: that of a column of text in a paper.
const plotWidth = 720

// The four files of a figure.
const (
	endingSVG  = ".svg"
	endingPNG  = ".png"
	endingJSON = ".json"
	endingCSV  = ".csv"
)

// writeFigure writes the four files of a figure. base is their path without the ending. several states that the report
// has several runs.
func writeFigure(base string, c chart, several bool, r *ruler) error {
	l := lay(c, several, true, plotWidth, r)
	// Everything is made before the first file is written.
	image, err := png(l)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return errs.Wrap(err, "report.Write", c.ID)
	}
	table, err := table(c)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		ending  string
		content []byte
	}{{endingSVG, []byte(standalone(l))}, {endingPNG, image}, {endingJSON, append(data, '\n')}, {endingCSV, table}} {
		if err := writeFile(base+f.ending, f.content); err != nil {
			return err
		}
	}
	return nil
}

// table returns a chart as CSV: a line for each value, in the units of result.json. A course has all of its points, also
// if the plot shows only some.
func table(c chart) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"run", "series", "x", "value", "sd", "samples", "peak", "unit"}) // Error reports failures
	// All digits of the number, because programs compute with it.
	exact := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, s := range c.Series {
		for _, p := range s.Points {
			x := p.Label
			if c.Kind == result.Course {
				x = exact(p.X)
			}
			_ = w.Write([]string{plain(s.Run), plain(s.Name), plain(x), exact(p.Y), exact(p.SD), strconv.Itoa(p.N), exact(p.Peak), plain(c.Unit)})
		}
	}
	w.Flush()
	return b.Bytes(), errs.Wrap(w.Error(), "report.CSV", c.ID)
}

// plain prevents that spreadsheet programs take a text for a formula.
func plain(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

// writeFile writes a file atomically, without a sync: a report can be made again.
func writeFile(path string, content []byte) error {
	next := path + ".new"
	if err := os.WriteFile(next, content, 0o644); err != nil { // #nosec G306 -- a report is to be read
		return errs.Wrap(err, "report.Write", next)
	}
	return errs.Wrap(os.Rename(next, path), "report.Write", path)
}

// namer gives figures file names. IDs come from results of unknown origin.
type namer map[string]bool

// name returns a name that no earlier figure has: letters, digits and dashes of the ID.
func (n namer) name(id string) string {
	const longest = 80
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '-'
	}, id)
	safe = strings.Trim(safe[:min(len(safe), longest)], "-")
	if safe == "" {
		safe = "figure"
	}
	// Some file systems do not distinguish A from a.
	for name, i := safe, 2; ; name, i = fmt.Sprintf("%s-%d", safe, i), i+1 {
		if key := strings.ToLower(name); !n[key] {
			n[key] = true
			return name
		}
	}
}
