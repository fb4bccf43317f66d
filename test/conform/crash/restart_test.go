package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// restartsDefault is the number of kills of TestRestartWithAHeldSocket; HEMERA_RESTARTS is another one.
const restartsDefault = 3

// stockJob is a job that stock clients do again and again while the manager is killed.
type stockJob struct {
	name string
	// run runs the stock client once, and check compares what it was given, or has stored, with what it should be. No two runs have the same
	// number.
	run, check  func(ctx context.Context, number int64) error
	begun, done atomic.Int64
}

// TestRestartWithAHeldSocket kills the manager while stock clients stat, read and write, and starts it again at once. A supervisor holds
// its socket, which is the test here. Every command of a client succeeds, with the whole content. The test prints how long it took from
// the kill to the first answer of a command that began after the kill.
func TestRestartWithAHeldSocket(t *testing.T) {
	for _, program := range []string{"xrdcp", "xrdfs"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	kills := restartsDefault
	if text := os.Getenv("HEMERA_RESTARTS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	c := newHeldCluster(t)
	jobs := c.stockJobs(t)
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	for _, job := range jobs {
		working.Go(func() {
			for ctx.Err() == nil {
				c.do(job)
			}
		})
	}
	first := make([][]time.Duration, len(jobs))
	for range kills {
		// Something was answered in this life, and it was long enough for nodes to try at once when it ends.
		alive := time.Now()
		c.Await("a longer life", func() bool { return time.Since(alive) > 2*time.Second })
		for _, job := range jobs {
			was := job.done.Load()
			c.Await("a "+job.name, func() bool { return job.done.Load() > was })
		}
		c.manager.Kill()
		began := time.Now()
		c.manager.Start()
		var after sync.WaitGroup
		for i, job := range jobs {
			after.Go(func() {
				first[i] = append(first[i], c.do(job).Sub(began))
			})
		}
		after.Wait()
		c.AwaitOnline(nodes)
	}
	stop()
	working.Wait()
	for i, job := range jobs {
		slices.Sort(first[i])
		t.Logf("first %s after a kill: median %d ms, worst %d ms (of %d)", job.name, first[i][len(first[i])/2].Milliseconds(), first[i][len(first[i])-1].Milliseconds(), len(first[i]))
	}
}

// lostInLogin is the error of stock clients (5.5.3) whose connection was lost in the middle of their login. They connect again twice at once, now and
// then, and fail, crash or hang.
const lostInLogin = "Invalid operation"

// do does a job once, and returns when the client had its answer. A failure fails the test.
func (c *cluster) do(job *stockJob) (answered time.Time) {
	number := job.begun.Add(1)
	run := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
		defer cancel()
		return job.run(ctx, number)
	}
	err := run()
	if err != nil && strings.Contains(err.Error(), lostInLogin) {
		c.T.Logf("%s: the client gave up, as its connection was lost in its login", job.name)
		err = run()
	}
	answered = time.Now()
	if err == nil {
		err = job.check(context.Background(), number)
	}
	if err != nil {
		c.T.Errorf("%s: %v", job.name, err)
	}
	job.done.Add(1)
	return answered
}

// stockJobs makes the jobs, and the file that they read.
func (c *cluster) stockJobs(t *testing.T) []*stockJob {
	source, data := c.Path("source"), randomBytes(1<<20)
	if err := os.WriteFile(source, data, 0o600); err != nil {
		t.Fatal(err)
	}
	copied := func(ctx context.Context, from, to string) error { return stock(ctx, "xrdcp", "--nopbar", from, to) }
	if err := copied(t.Context(), source, c.URL+"//read"); err != nil {
		t.Fatal(err)
	}
	target := func(number int64) string { return c.Path(fmt.Sprint("read", number)) }
	written := func(number int64) string { return fmt.Sprint("/written", number) }
	return []*stockJob{
		{
			name:  "stat",
			run:   func(ctx context.Context, _ int64) error { return stock(ctx, "xrdfs", c.Host(), "stat", "/read") },
			check: func(context.Context, int64) error { return nil },
		},
		{
			name: "read",
			run:  func(ctx context.Context, number int64) error { return copied(ctx, c.URL+"//read", target(number)) },
			check: func(_ context.Context, number int64) error {
				got, err := os.ReadFile(target(number))
				if err == nil && !bytes.Equal(got, data) {
					err = fmt.Errorf("%d bytes, which are not those of the file", len(got))
				}
				return errors.Join(err, os.Remove(target(number)))
			},
		},
		{
			name: "write",
			run: func(ctx context.Context, number int64) error {
				return copied(ctx, source, c.URL+"/"+written(number))
			},
			check: func(_ context.Context, number int64) error {
				if !c.whole(written(number), data) {
					return fmt.Errorf("%s is not there", written(number))
				}
				return nil
			},
		},
	}
}

// stock runs a stock client. An error has what it said.
func stock(ctx context.Context, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	// A client whose connection is lost in the middle of its login waits for the rest of this window, which is two minutes if it is not set.
	// Before anything else it looks up the name of its machine, which takes ten seconds if the name server does not answer.
	cmd.Env = append(os.Environ(), "XRD_CONNECTIONWINDOW=5", "XRD_LOGLEVEL=Error", "RES_OPTIONS=timeout:1 attempts:1")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
