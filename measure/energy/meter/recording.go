package meter

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"hemera/words/errs"
)

// The columns of a recording: the first is the time, and the second the value, with its unit as name.
const (
	columnTime   = "time"
	columnWatts  = "watts"
	columnJoules = "joules"
)

// pointsMax bounds a recording: a month at 20 Hz has 52 million, an hour 72,000.
const pointsMax = 10_000_000

// Recording is the content of a CSV file.
type Recording struct {
	Points  []Point // in the order of the file
	Counter bool    // values are J, otherwise W
	Cut     bool    // the last line has no end, because its writer still runs, and is not among the points
}

// ParseRecording parses a recording: lines "time,watts" or "time,joules". A head line with these words is needed only for
// joules. Times are seconds since 1970 or RFC 3339. Empty lines and lines that begin with # are skipped. It fails with
// Invalid for any other line.
func ParseRecording(r io.Reader, name string) (Recording, error) {
	var got Recording
	// Line by line, because a recording of a day has megabytes.
	lines := bufio.NewReader(r)
	for number := 1; ; number++ {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			got.Cut = strings.TrimSpace(line) != ""
			return got, nil
		}
		if err != nil {
			return got, errs.Wrap(err, "meter.ParseRecording", name)
		}
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		// The first two columns count.
		at, value, _ := strings.Cut(line, ",")
		// Further columns belong to other programs.
		value, _, _ = strings.Cut(value, ",")
		at, value = strings.TrimSpace(at), strings.TrimSpace(value)
		// Spreadsheets and data loggers write a head line, with any letter case.
		if len(got.Points) == 0 && strings.EqualFold(at, columnTime) {
			got.Counter = strings.EqualFold(value, columnJoules)
			continue
		}
		p, err := parsePoint(at, value)
		if err != nil || len(got.Points) == pointsMax {
			return got, errs.New(errs.Invalid, "meter.ParseRecording", name, fmt.Sprintf("line %d is not a time and a number", number)).
				WithRemedy("lines are time,watts: 2026-11-23T21:00:00Z,56.4 or 1795467600.25,56.4")
		}
		got.Points = append(got.Points, p)
	}
}

// parsePoint reads one line.
func parsePoint(at, value string) (Point, error) {
	v, err := strconv.ParseFloat(value, 64)
	// ParseFloat accepts NaN. Joules may be many.
	if err != nil || v != v || v < -wattsMax || v > 1e18 {
		return Point{}, errs.Invalid
	}
	if t, err := time.Parse(time.RFC3339Nano, at); err == nil {
		return Point{t, v}, nil
	}
	// Up to the year 5138.
	s, err := strconv.ParseFloat(at, 64)
	if err != nil || !(s >= 0 && s < 1e11) {
		return Point{}, errs.Invalid
	}
	return Point{time.UnixMicro(int64(s * 1e6)), v}, nil
}

// WriteHead writes the head line of a recording, and a comment about the meter.
func WriteHead(w io.Writer, a About) error {
	// The comment is for people, the head line for the parser.
	unit := columnWatts
	if a.Counter {
		unit = columnJoules
	}
	_, err := fmt.Fprintf(w, "# %s: %s\n%s,%s\n", a.Name, a.Covers, columnTime, unit)
	return err
}

// WritePoint writes one line, so that it is read back exactly.
func WritePoint(w io.Writer, p Point) error {
	_, err := fmt.Fprintf(w, "%s,%s\n", p.At.UTC().Format(time.RFC3339Nano), strconv.FormatFloat(p.Value, 'g', -1, 64))
	return err
}

// recording is a file of another program.
type recording struct {
	path  string
	shift time.Duration // added to its times
	about About
}

// openRecording reads a file, which may grow while the level works.
func openRecording(rest string, o Options) (Meter, error) {
	r := &recording{path: rest, shift: o.Shift}
	got, err := r.parse()
	if err != nil {
		return nil, err
	}
	r.about = About{Name: "csv:" + rest, Covers: "what was recorded in " + rest, Resolution: "as recorded", Counter: got.Counter, Every: spacing(got.Points)}
	if r.shift != 0 {
		r.about.Covers += fmt.Sprintf(", its times shifted by %v", r.shift)
	}
	return r, nil
}

// spacing returns the median time between two points.
func spacing(p []Point) time.Duration {
	if len(p) < 2 {
		return 0
	}
	// A logger may write in any order.
	between := make([]time.Duration, len(p)-1)
	for i := range between {
		between[i] = p[i+1].At.Sub(p[i].At).Abs()
	}
	slices.Sort(between)
	return between[len(between)/2]
}

// parse reads the file.
func (r *recording) parse() (Recording, error) {
	f, err := os.Open(r.path)
	if err != nil {
		return Recording{}, errs.Wrap(err, "meter.ParseRecording", r.path)
	}
	defer func() { _ = f.Close() }()
	return ParseRecording(f, r.path)
}

// About implements Meter.
func (r *recording) About() About { return r.about }

// Read implements Meter. It returns the last point.
func (r *recording) Read(context.Context) (Point, error) {
	// An empty file belongs to a logger that has not begun.
	points, err := r.Points()
	if err == nil && len(points) == 0 {
		err = errs.New(errs.Unavailable, "meter.ReadRecording", r.path, "nothing is recorded yet").WithRemedy("start the program that records first")
	}
	if err != nil {
		return Point{}, err
	}
	return points[len(points)-1], nil
}

// Points implements Recorded.
func (r *recording) Points() ([]Point, error) {
	// The whole file: it has the points written since the meter was opened.
	got, err := r.parse()
	for i := range got.Points {
		got.Points[i].At = got.Points[i].At.Add(r.shift)
	}
	slices.SortStableFunc(got.Points, func(a, b Point) int { return a.At.Compare(b.At) })
	return got.Points, err
}
