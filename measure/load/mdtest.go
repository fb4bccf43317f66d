package load

import (
	"context"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hemera/measure/result"
	"hemera/measure/tool"
	"hemera/words/errs"
)

// row is a line of mdtest's summary: an operation, with the name of the load Metadata, and its rate.
type row struct {
	phase string
	rate  float64 // operations a second
}

// parseMdtest returns the version of mdtest and the rows of its summary of rates, with the means. It fails with Invalid
// if there are none, or if one is not a number.
func parseMdtest(out []byte) (version string, rows []row, err error) {
	// "   File creation    37147.321   18765.621   27956.471   12997.824": maximum, minimum, mean, deviation. Versions
	// before 3.3 have a colon after the name.
	line := regexp.MustCompile(`^ +((?:Directory|File|Tree) [a-z]+) *:? +([-0-9.,naif]+) +([-0-9.,naif]+) +([-0-9.,naif]+) +([-0-9.,naif]+)\s*$`)
	launched := regexp.MustCompile(`^mdtest-(\S+) was launched`)
	invalid := func(why string) error {
		return errs.New(errs.Invalid, "load.ParseMdtest", strings.TrimSpace("mdtest "+version), why)
	}
	times := false
	// The other output is for people.
	for text := range strings.Lines(string(out)) {
		if m := launched.FindStringSubmatch(text); m != nil {
			version = m[1]
		}
		// A table of times has the same rows.
		if strings.HasPrefix(text, "SUMMARY ") {
			times = strings.HasPrefix(text, "SUMMARY time")
		}
		m := line.FindStringSubmatch(text)
		if m == nil || times {
			continue
		}
		// Other locales have a comma in place of the point.
		rate, err := strconv.ParseFloat(strings.Replace(m[4], ",", ".", 1), 64)
		if err != nil || math.IsNaN(rate) || math.IsInf(rate, 0) {
			return "", nil, invalid(fmt.Sprintf("the rate of %s is %q", strings.ToLower(m[1]), m[4]))
		}
		// A row that was not measured has zeros. A table may be printed twice.
		phase := strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")
		if rate > 0 && !slices.ContainsFunc(rows, func(r row) bool { return r.phase == phase }) {
			rows = append(rows, row{phase, rate})
		}
	}
	if len(rows) == 0 {
		return "", nil, invalid("the output has no summary of rates")
	}
	return version, rows, nil
}

// mdtest measures n tasks, each with its own tree. The files of an interrupted mdtest are removed: its directory belongs
// to this run.
func (r *tasks) mdtest(ctx context.Context) error {
	for i := range r.o.Iterations {
		r.rec.Step(r.done, r.total, "%d tasks of mdtest", r.n)
		// All phases of an iteration are one step.
		r.done += r.total / (len(r.o.Clients) * r.o.Iterations)
		at := r.group.at.path(fmt.Sprintf("%s/mdtest%d-%d", r.dir, r.n, i))
		// The page cache can only be dropped before: mdtest's own phases follow each other.
		r.chill()
		end := r.rec.Iteration(r.with(result.Labels{"pattern": mdtest}))
		// A tree for each task; the task looks at that of another.
		out, _, err := r.mpi(ctx, "mdtest", "-n", strconv.Itoa(r.o.SmallFiles), "-i", "1", "-u", "-N", "1", "-d", at)
		if err != nil {
			return joinRemoved(err, at)
		}
		end(0, int64(r.n*r.o.SmallFiles))
		version, rows, err := parseMdtest(out)
		if err != nil {
			return joinRemoved(tool.Kept(err, r.rec.RawPath(r.rawName("mdtest"))), at)
		}
		r.rec.Tool(DriverMdtest, version)
		for _, row := range rows {
			l := r.with(result.Labels{"load": row.phase, "pattern": mdtest})
			r.rec.Add(result.Measure{Name: "rate", Labels: l, Unit: "1/s", Better: result.Higher, Samples: []float64{row.rate}})
		}
		// It removes its trees itself, but not the directory.
		if err := joinRemoved(nil, at); err != nil {
			return err
		}
	}
	return nil
}

// joinRemoved removes a directory of mdtest. It returns err, or the error of the removal if err is nil.
func joinRemoved(err error, dir string) error {
	if removeErr := os.RemoveAll(dir); err == nil && removeErr != nil {
		return errs.Wrap(removeErr, "load.Clean", dir)
	}
	return err
}
