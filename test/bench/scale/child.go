package scale

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hemera/process/daemon"
	"hemera/process/resources"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// childSpec is the input of a child on standard input.
type childSpec struct {
	Dir        string        // of the store
	Trees      []Tree        // in the store, in the order of loading
	CacheBytes int64         // of the manager's caches
	Time       time.Duration // of each load
	Result     Result        // so far
	Kill       bool          // end with SIGKILL in the midst of creating files
}

// boss may do everything.
func boss() hemera.Identity { return hemera.Identity{Name: "root", Admin: true} }

// child is a manager in this process, and what is asked of it.
type child struct {
	childSpec                      // from the parent
	ctx       context.Context      // of the calls
	m         *daemon.Manager      // the manager, without a network in between
	nodes     *nodes               // their heartbeats keep disks usable
	paths     []func(int64) string // by tree: the path of its i-th file
	files     int64                // in all trees
	r         Result               // what is measured, over what the parent knew
}

// Child starts a manager as told on in, measures, and writes the result as JSON. The starter calls it in a
// process of its own.
func Child(ctx context.Context, in io.Reader, out io.Writer) error {
	c := &child{ctx: ctx}
	if err := json.NewDecoder(in).Decode(&c.childSpec); err != nil {
		return err
	}
	c.r = c.Result
	// A manager sets the same limit from its configuration.
	debug.SetMemoryLimit(resources.MemoryLimit(c.CacheBytes))
	// From here on it is what an admin sees as the start.
	started, cpu := time.Now(), processCPU()
	var err error
	c.m, err = daemon.OpenManager(ctx, daemon.ManagerOptions{
		Dir: c.Dir, Listen: "127.0.0.1:0", CacheBytes: c.CacheBytes, RepairGrace: time.Hour, TokenLifetime: time.Hour,
		Role: "manager", Version: "bench", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	c.r.BootClean, c.r.BootCPU = time.Since(started), processCPU()-cpu
	if c.nodes, err = joinNodes(ctx, c.m); err != nil {
		return err
	}
	for _, t := range c.Trees {
		path, err := t.Shape.Paths(t.Path)
		if err != nil {
			return err
		}
		c.paths = append(c.paths, path)
		c.files += t.Shape.Files
	}
	if c.Kill {
		return c.kill(out)
	}
	if err := c.measure(); err != nil {
		return err
	}
	c.nodes.stop()
	ended, stop := context.WithCancel(ctx)
	stop()
	// An ended context closes the store at once.
	_ = c.m.Run(ended) // closes everything
	return json.NewEncoder(out).Encode(c.r)
}

// kill ends the process as a power cut would, while files are being created.
// The result is written first: afterwards there is no process to write it.
func (c *child) kill(out io.Writer) error {
	if err := json.NewEncoder(out).Encode(c.r); err != nil {
		return err
	}
	// Sixty-four clients, so that the log has changes of several in it when the process dies.
	go c.rate(64, c.Time*10, c.creator("kill"))
	time.Sleep(c.Time)
	return syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

// measure runs all measurements of one process and fills its result.
func (c *child) measure() error {
	// A collection first, so that garbage of the start does not count.
	runtime.GC()
	c.r.IdleRSS = resident("VmRSS")
	resetPeak()
	// Picked at random from all trees, once for all hot rows.
	hot := make([]string, 20_000)
	for i := range hot {
		hot[i] = c.random()
	}
	for i, clients := range []int{1, 64} { // places 0 and 1 of the result's arrays
		for _, cold := range []struct {
			into *Rate
			do   func(client, n int) error
		}{
			{&c.r.StatCold[i], func(int, int) error { return c.stat(c.random()) }},
			{&c.r.OpenCold[i], func(int, int) error { return c.open(c.random()) }},
		} {
			// Each cold row has its own eviction: the one before has read some of the store.
			if err := Evict(c.Dir); err != nil {
				return err
			}
			*cold.into = c.rate(clients, c.Time, cold.do)
		}
		// Once through, so that the rows that follow find all of them in the cache.
		for _, path := range hot {
			_ = c.stat(path)
		}
		// 977 is prime and no factor of the number of files, so clients begin apart.
		c.r.StatHot[i] = c.rate(clients, c.Time, func(client, n int) error { return c.stat(hot[(client*977+n)%len(hot)]) })
		c.r.OpenHot[i] = c.rate(clients, c.Time, func(client, n int) error { return c.open(hot[(client*977+n)%len(hot)]) })
		// What creates make the removals take away, so the store stays as large as it was.
		made := c.creator(fmt.Sprintf("new%d", clients))
		c.r.Create[i] = c.rate(clients, c.Time, made)
		c.r.Remove[i] = c.rate(clients, c.Time, c.remover(fmt.Sprintf("new%d", clients)))
	}
	c.r.LoadRSS = resident("VmHWM")
	c.r.StoreBytes = c.storeBytes()
	for _, step := range []func() error{c.list, c.rename, c.treeSize, c.check} { // the check last: it reads everything
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// random returns the path of any file.
// Trees count by their files, so each file is as likely as any other.
func (c *child) random() string {
	i := rand.Int64N(c.files)
	for t, tree := range c.Trees {
		if i < tree.Shape.Files {
			return c.paths[t](i)
		}
		i -= tree.Shape.Files
	}
	return "/"
}

// stat asks for one entry.
// Attributes and permissions of the path are included.
func (c *child) stat(path string) error {
	_, err := c.m.Names.Stat(c.ctx, boss(), path)
	return err
}

// open opens a file for reading at the manager.
// Nobody opens the file at a node: the grant is dropped.
func (c *child) open(path string) error {
	_, err := c.m.Files.Open(c.ctx, boss(), hemera.OpenRequest{Path: path, Access: hemera.AccessRead})
	return err
}

// storeBytes returns the size of the store on its disk.
func (c *child) storeBytes() int64 {
	s, _ := c.m.Observer.NamespaceStats(c.ctx)
	return s.StoreBytes
}

// list lists the first tree's top, which is the widest directory, and notes how the process's memory grows meanwhile.
func (c *child) list() error {
	resetPeak()
	before := resident("VmRSS")
	started := time.Now()
	err := c.m.Names.List(c.ctx, boss(), c.Trees[0].Path, func(hemera.Entry) error { c.r.Listed++; return nil })
	c.r.List, c.r.ListGrowth = time.Since(started), max(0, resident("VmHWM")-before)
	return err
}

// rename moves the largest tree to and fro.
// An odd number of moves leaves it under the new name, and one more moves it back.
func (c *child) rename() error {
	largest := slices.MaxFunc(c.Trees, func(a, b Tree) int { return int(a.Shape.Files - b.Shape.Files) })
	c.r.Renamed = largest.Shape.Files
	from, to := largest.Path, largest.Path+"-moved"
	err := median(&c.r.Rename, func() error {
		err := c.m.Names.Rename(c.ctx, boss(), from, to)
		from, to = to, from
		return err
	})
	// The next child expects the old name.
	if err == nil && from != largest.Path {
		err = c.m.Names.Rename(c.ctx, boss(), from, to)
	}
	return err
}

// treeSize asks for the size of the whole tree, which the root's record has.
func (c *child) treeSize() error {
	return median(&c.r.TreeSize, func() error { return c.stat(c.Trees[len(c.Trees)-1].Path) })
}

// check runs the checker of the namespace.
// It reads every record of the store.
func (c *child) check() error {
	resetPeak()
	cpu := processCPU()
	report, err := c.m.Maint.CheckNamespace(c.ctx, func(adminapi.NamespaceCheck) error { return nil })
	c.r.Check, c.r.CheckedOK, c.r.CheckRSS = report.Took, report.Healthy(), resident("VmHWM")
	c.r.CheckCPU = processCPU() - cpu
	// Twenty are enough to see what is wrong.
	c.r.Problems = report.Problems[:min(len(report.Problems), 20)]
	return err
}

// median does an operation 21 times and stores the middle of the times.
// Twenty-one are enough for a middle that one slow sync does not move.
func median(into *time.Duration, do func() error) error {
	var took []time.Duration
	for range 21 {
		started := time.Now()
		if err := do(); err != nil {
			return err
		}
		took = append(took, time.Since(started))
	}
	slices.Sort(took)
	*into = took[len(took)/2]
	return nil
}

// resident returns a line of this process's status, in bytes: VmRSS is its memory, VmHWM the most it was.
// A kernel without the line, or another system, gives 0.
func resident(line string) int64 {
	text, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(text), line+":")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(fields[0], 10, 64)
	return kib << 10
}

// resetPeak starts a new peak of memory (VmHWM).
// Writing 5 to clear_refs resets it (proc(5)). Without the right to do so the peak is that of the process's life.
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }
