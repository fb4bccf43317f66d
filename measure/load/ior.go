package load

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"hemera/measure/result"
	"hemera/measure/tool"
	"hemera/words/errs"
)

// iorOutput has the used part of ior's output with -O summaryFormat=JSON. Versions 3.3 and later print it.
type iorOutput struct {
	Version string
	Tests   []struct {
		Results []iorResult
	} `json:"tests"`
}

// iorResult is one iteration of one direction.
type iorResult struct {
	Access string  `json:"access"` // write or read
	MiB    float64 `json:"bwMiB"`  // a second, of all tasks
}

// parseIOR returns the version of ior, and what it reached in one direction in B/s. Text of others before and behind the summary is passed
// over. Invalid if the output has no such result.
func parseIOR(out []byte, access string) (version string, bytesPerSecond float64, err error) {
	var o iorOutput
	invalid := func(why string) error {
		return errs.New(errs.Invalid, "load.ParseIOR", strings.TrimSpace("ior "+o.Version), why)
	}
	if err := tool.Report(out, "tests", &o); err != nil {
		// Earlier versions begin with their name, and have no summary in JSON.
		if m := regexp.MustCompile(`IOR-([0-9][^\s:]*)`).FindSubmatch(out); m != nil {
			o.Version = string(m[1])
		}
		return "", 0, invalid("it wrote no summary in JSON that can be read; 3.3 and later do")
	}
	// A run here has one test with one result; others are skipped.
	for _, t := range o.Tests {
		for _, r := range t.Results {
			if r.Access == access && r.MiB > 0 {
				return o.Version, r.MiB * (1 << 20), nil
			}
		}
	}
	return "", 0, invalid("its summary has no rate of access " + access)
}

// ior measures n tasks, each with a file as large as all files of a client. Writes and reads are separate runs, so that
// the page cache can be dropped between them.
func (r *tasks) ior(ctx context.Context) error {
	for i := range r.o.Iterations {
		base := fmt.Sprintf("%s/ior%d-%d", r.dir, r.n, i)
		// Tasks name their files like this.
		for task := range r.n {
			r.group.tree.file(fmt.Sprintf("%s.%08d", base, task))
		}
		for _, p := range r.o.phases(r.dir, i) {
			if err := r.iorPhase(ctx, base, p); err != nil {
				return err
			}
		}
		if err := r.group.removeFiles(ctx); err != nil {
			return err
		}
	}
	return nil
}

// iorPhase measures one direction.
func (r *tasks) iorPhase(ctx context.Context, base string, p phase) error {
	r.rec.Step(r.done, r.total, "%d tasks of ior: %s", r.n, p.name)
	r.done++
	// The tasks are processes, so no session remains, only the page cache.
	if p.cold {
		r.chill()
	}
	// POSIX, a file for each task, which is kept; tasks read the file of another.
	bytes := r.o.Size * int64(r.o.Files)
	args := []string{"ior", "-a", "POSIX", "-F", "-C", "-k", "-i", "1", "-O", "summaryFormat=JSON",
		"-t", strconv.Itoa(r.o.Transfer), "-b", strconv.FormatInt(bytes, 10), "-o", r.group.at.path(base)}
	args = append(args, map[bool]string{true: "-w", false: "-r"}[p.write])
	// With -e IOR's time of a write includes the fsync.
	if p.write && r.o.Sync {
		args = append(args, "-e")
	}
	if r.o.Direct {
		args = append(args, "--posix.odirect")
	}
	end := r.rec.Iteration(r.with(result.Labels{"load": p.name}))
	out, spent, err := r.mpi(ctx, args...)
	if err != nil {
		return err
	}
	end(bytes*int64(r.n), 0)
	// Its own clock counts, because the start of MPI does not belong to the file system.
	version, rate, err := parseIOR(out, p.name)
	if err != nil {
		return tool.Kept(err, r.rec.RawPath(r.rawName("ior")))
	}
	r.rec.Tool(DriverIOR, version)
	labels := r.with(result.Labels{"load": p.name})
	r.addThroughput(p, labels, rate)
	r.addCost(labels, bytes*int64(r.n), spent)
	return nil
}
