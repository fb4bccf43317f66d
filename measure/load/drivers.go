package load

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"hemera/words/errs"
)

// The drivers, which make the load.
const (
	DriverOwn   = "own"   // this program
	DriverXrdcp = "xrdcp" // stock xrdcp: copies
	// DriverIOR and DriverMdtest are the benchmarks of github.com/hpc/ior, run by MPI: sequential, metadata.
	DriverIOR    = "ior"
	DriverMdtest = "mdtest"
)

// Drivers returns the names of all drivers.
func Drivers() []string { return []string{DriverOwn, DriverXrdcp, DriverIOR, DriverMdtest} }

// LoadsOf returns the loads that a driver supports.
func LoadsOf(driver string) []string {
	switch driver {
	case DriverXrdcp:
		return []string{Copies}
	case DriverIOR:
		return []string{Sequential}
	case DriverMdtest:
		return []string{Metadata}
	}
	return Loads()
}

// drive prepares the driver: it keeps the loads that the driver supports, and reports whether any can be measured here.
// Other loads, and a missing program, are skipped.
func (r *run) drive(ctx context.Context, at place) (ready bool, err error) {
	// The own clients need no preparation.
	if r.o.Driver == DriverOwn {
		return true, nil
	}
	have := LoadsOf(r.o.Driver)
	// Each skipped load is named.
	r.o.Loads = slices.DeleteFunc(slices.Clone(r.o.Loads), func(l string) bool {
		if !slices.Contains(have, l) {
			r.rec.Skip("load "+l, fmt.Sprintf("%s makes %s only", r.o.Driver, strings.Join(have, ", ")), "--driver own makes it")
		}
		return !slices.Contains(have, l)
	})
	if len(r.o.Loads) == 0 {
		return false, nil
	}
	if r.o.Driver == DriverXrdcp {
		return r.driveXrdcp(ctx, at)
	}
	return r.driveMPI(at), nil
}

// version returns the version that a program prints. It fails with NotFound if the program is not installed.
func version(ctx context.Context, program string, args ...string) (string, error) {
	// Programs are found as a shell finds them.
	path, err := exec.LookPath(program)
	if err != nil {
		return "", errs.New(errs.NotFound, "load.Driver", program, "it is not installed")
	}
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput() // #nosec G204 -- a driver of this list
	if err != nil {
		return "", errs.Wrap(err, "load.Driver", program)
	}
	// Some print to standard error, and some print further lines.
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line, nil
}

// copier copies one file of a client, the i-th of a set.
type copier func(c *client, ctx context.Context, o *Options, s set, i int) error

// putter returns the function that copies files to the target.
func putter(driver string) copier {
	if driver == DriverXrdcp {
		return (*client).putXrdcp
	}
	return (*client).put
}

// getter returns the function that copies files from the target.
func getter(driver string) copier {
	if driver == DriverXrdcp {
		return (*client).getXrdcp
	}
	return (*client).get
}
