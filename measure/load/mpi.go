package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hemera/client/xrootd"
	"hemera/measure/result"
	"hemera/words/errs"
)

// driveMPI prepares ior or mdtest, with a task for each client. It skips them if a program is not installed, or the
// target is a server.
func (r *run) driveMPI(at place) (ready bool) {
	if xrootd.IsRemote(r.o.Targets[0]) {
		r.rec.Skip("driver "+r.o.Driver, at.String()+" is a server", "name a directory of a mounted file system")
		return false
	}
	// Both programs come from one package, and MPI from another.
	remedy := map[string]string{
		r.o.Driver: "build it from github.com/hpc/ior, and put ior and mdtest into a directory of PATH: few distributions have a package",
		"mpirun":   "apt install mpich, or openmpi-bin: the one that " + r.o.Driver + " was built with",
	}
	for _, program := range []string{r.o.Driver, "mpirun"} {
		if _, err := exec.LookPath(program); err != nil {
			r.rec.Skip("driver "+r.o.Driver, program+" is not installed", remedy[program])
			return false
		}
	}
	return true
}

// mpiWait bounds the time in which mpirun ends its tasks after an interruption.
const mpiWait = 10 * time.Second

// tasks is the measurement of one number of clients by a program with its own tasks. It belongs to the goroutine of Run.
type tasks struct {
	*run
	group  *group
	dir    string        // of the group, for this layout
	n      int           // tasks, one for each client
	labels result.Labels // of all measures: clients and layout
	runs   int           // of the program, for the names of raw output
}

// measure runs the driver for all iterations.
func (r *tasks) measure(ctx context.Context) error {
	if r.o.Driver == DriverMdtest {
		return r.mdtest(ctx)
	}
	return r.ior(ctx)
}

// with returns the labels of a measure: the common ones, and some more.
func (r *tasks) with(more result.Labels) result.Labels {
	l := maps.Clone(r.labels)
	maps.Copy(l, more)
	return l
}

// mpi runs a program with n tasks and returns its output, which is kept as raw output, and the processor time of its
// tasks and of the servers. An error has the last line of the output.
func (r *tasks) mpi(ctx context.Context, args ...string) ([]byte, cost, error) {
	// Tasks are children of children: their time counts when mpirun has waited for them.
	before, err := serverCPU(r.o.PIDs)
	if err != nil {
		return nil, cost{}, err
	}
	own := clientCPU()
	c := exec.CommandContext(ctx, "mpirun", append([]string{"-np", strconv.Itoa(r.n)}, args...)...) // #nosec G204 -- a driver, with names of this run
	// Open MPI refuses root, and more tasks than cores, without these; MPICH ignores them.
	c.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1")
	// Tasks outlive an mpirun that is killed at once.
	c.Cancel, c.WaitDelay = func() error { return c.Process.Signal(syscall.SIGTERM) }, mpiWait
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if ctx.Err() != nil {
		return nil, cost{}, errs.Wrap(ctx.Err(), "load.Driver", args[0])
	}
	// Some print the error to standard output.
	if err != nil {
		text := strings.TrimSpace(said.String() + string(out))
		last := text[strings.LastIndexByte(text, '\n')+1:]
		return nil, cost{}, errs.New(errs.IO, "load.Driver", args[0], fmt.Sprintf("%v: %s", err, last))
	}
	spent := cost{clients: clientCPU() - own}
	after, err := serverCPU(r.o.PIDs)
	spent.servers = after - before
	return out, spent, errors.Join(err, r.keep(args[0], out))
}

// keep writes the raw output of a program.
func (r *tasks) keep(program string, out []byte) error {
	r.runs++
	// The name has the number of tasks and the number of the run.
	w, err := r.rec.Raw(r.rawName(program))
	if err != nil {
		return err
	}
	_, err = w.Write(out)
	return errors.Join(err, w.Close())
}

// rawName returns the name of the raw output of the last run.
func (r *tasks) rawName(program string) string {
	return fmt.Sprintf("%s-%dtasks-%d", program, r.n, r.runs)
}
