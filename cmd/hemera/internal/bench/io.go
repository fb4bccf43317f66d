package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hemera/cmd/hemera/internal/cli"
	"hemera/measure/load"
	"hemera/measure/result"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// ioLevel measures reads and writes of clients, at a server or in a directory. interferenceLevel has its flags too.
type ioLevel struct {
	e       *cli.Env
	o       load.Options           // completed by check
	clients []int                  // as given: one number is the end of a ramp
	sizes   map[string]*string     // the flags with sizes, by name
	peak    peakFlags              // from which check makes the nodes
	named   bool                   // the user named the target, so it must answer
	follows bool                   // the peak is the result of disk and net of this run
	given   func(flag string) bool // whether the user gave the flag; nil before flags
}

// ioCommand makes `hemera bench io`. Its defaults are IOR's pattern as in published results: 4 MiB transfers, a file for
// each client, five iterations.
func ioCommand(s *session) *cobra.Command {
	l := &ioLevel{e: s.e}
	c := s.command(l, &cobra.Command{
		Use: "io [TARGET]", Short: "Measure what clients read and write: files of any size, at a server or in a directory", Args: cobra.MaximumNArgs(1),
		Long: `Measures throughput, latency and processor time of 1, 2, 4 … clients. TARGET is root://host//directory at
any XRootD server or Hemera cluster (default: the cluster of --url), or a directory of any mounted file
system: CephFS, NFS, Lustre, a local disk. One tool and one method for all of them.

  sequential  write, then read by another client: a file per client, synchronous transfers (IOR's pattern)
  copies      put, get: each client copies all of its files at the same time, as many xrdcp do
  random      one block at a random place        vector  many blocks in one request (readv)
  mixed       writes and reads at the same time  small   files made, then opened and read
  metadata    directories and empty files made, looked at, opened, removed (mdtest's pattern)

A file counts as written when it is durable. Data cannot be compressed, and every byte that is read is
compared. The files are in a new directory of the target, which is removed at the end, also after Ctrl-C.
As root the page cache of this machine is dropped before reads. Say what the hardware can do with --peak-…,
and the result has the share of it.`,
		Example: `  hemera bench io --quick
  hemera bench io --layout replica:2,rs:4+2 --clients 8 --size 1GiB
  hemera bench io root://eos.example.org//eos/scratch --load copies --files 180 --size 16GB --clients 1
  hemera bench io /mnt/cephfs/scratch --direct --peak-net 125MB --peak-disk 230MB --peak-nodes 4
  hemera bench io root://eos.example.org//eos/scratch --driver xrdcp --files 16 --clients 4,4
  hemera bench io /mnt/lustre/scratch --driver ior --size 36GiB --clients 1,2,3,4
  hemera bench io /mnt/nfs --peak-from results/disk-and-net
  hemera bench io --pid $(pidof -s hemera) -j | jq '.result[] | select(.measure == "throughput")'`,
		ValidArgsFunction: targets,
	})
	// The layouts are examples; any numbers are accepted.
	for flag, words := range map[string][]string{"load": load.Loads(), "driver": load.Drivers(), "layout": {"plain", "replica:2", "rs:4+2", "lrc:12+2+2", "stripe:4"}} {
		_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // fails only for flags that do not exist
	}
	return c
}

// targets completes a target: a directory of this machine.
func targets(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// name implements level.
func (l *ioLevel) name() string { return "io" }

// flags implements level.
func (l *ioLevel) flags(f *pflag.FlagSet) {
	// The loads, and the program that makes them.
	f.StringSliceVar(&l.o.Loads, "load", load.Loads(), "the loads, of sequential, copies, random, vector, mixed, small and metadata")
	f.StringSliceVar(&l.o.Layouts, "layout", nil, "layouts of new files, each measured alone (Hemera only)")
	f.StringVar(&l.o.Driver, "driver", load.DriverOwn, "the `program` that makes the load: own, xrdcp (copies), ior (sequential) or mdtest (metadata)")
	l.common(f, 1, "256MiB")
	f.IntSliceVar(&l.clients, "clients", []int{4}, "clients at once: 8 is 1, 2, 4 and 8; 3,8 is 3 and 8; 8,8 is 8 alone")
	// How much of it.
	f.IntVar(&l.o.Elements, "elements", 64, "blocks in a vector")
	f.IntVar(&l.o.SmallFiles, "small-files", 200, "small files of each client, and its entries of metadata")
	f.DurationVar(&l.o.For, "for", 5*time.Second, "how long random and vector reads last")
	f.StringVar(&l.o.ReadThrough, "read-through", "", "the same `directory` in another mount: files are read there, not from caches of the mount that wrote them")
	l.size(f, "block", "4KiB", "of a random read, and of an element of a vector")
	l.size(f, "small-size", "16KiB", "of each small file")
	// The comparison with the peak.
	l.peak.flags(f)
	l.given = f.Changed
}

// common adds the flags that io and interference share, each with its own defaults for files.
func (l *ioLevel) common(f *pflag.FlagSet, files int, size string) {
	// Defaults for a run of minutes on one machine.
	f.IntVar(&l.o.Files, "files", files, "files of each client")
	f.IntVar(&l.o.Iterations, "iterations", 5, "how often everything is measured")
	f.BoolVar(&l.o.Direct, "direct", false, "open files with O_DIRECT, in a directory")
	f.BoolVar(&l.o.Sync, "sync", true, "files count as written when they are durable")
	f.BoolVar(&l.o.Drop, "drop-caches", os.Geteuid() == 0, "drop the page cache of this machine before reads (root)")
	f.IntSliceVar(&l.o.PIDs, "pid", nil, "`processes` of servers on this machine, whose processor time is measured")
	l.size(f, "size", size, "of each file")
	l.size(f, "transfer", "4MiB", "of one read or write of sequential loads")
}

// size adds a flag for a number of bytes.
func (l *ioLevel) size(f *pflag.FlagSet, name, value, text string) {
	// pflag has no type for sizes, and l.numbers reports a wrong one with a remedy.
	if l.sizes == nil {
		l.sizes = map[string]*string{}
	}
	l.sizes[name] = f.String(name, value, "`size` "+text)
}

// check implements level. It completes the options: the target, the sizes, the ramp of clients, the peak. It does not
// access the target.
func (l *ioLevel) check(args []string, quick bool) error {
	if l.given == nil { // in a run of all levels: without its own command line
		l.flags(pflag.NewFlagSet("", pflag.ContinueOnError))
	}
	// The default target is the cluster, as for every other command.
	l.named = len(args) > 0
	l.o.Targets = args
	if !l.named {
		u, err := l.e.DataURL()
		if err != nil {
			return err
		}
		// --url names a host; a target is a directory.
		if u.Path == "" {
			u.Path = "/"
		}
		l.o.Targets = []string{u.String()}
	}
	// The user's choices stay, also with --quick.
	if quick {
		l.shorten()
	}
	if err := l.numbers(); err != nil {
		return err
	}
	// All mistakes are reported together.
	nodes, err := l.peak.nodes()
	l.o.Nodes = nodes
	if !l.given("load") {
		l.o.Loads = load.LoadsOf(l.o.Driver)
	}
	return errors.Join(err, l.o.Check())
}

// shorten sets the options that the user did not choose so that the run takes seconds.
func (l *ioLevel) shorten() {
	// Two numbers of clients and three iterations are the least that show a slope and a spread.
	quick := func(flag string, set func()) {
		if !l.given(flag) {
			set()
		}
	}
	quick("clients", func() { l.clients = []int{2} })
	quick("iterations", func() { l.o.Iterations = 3 })
	quick("small-files", func() { l.o.SmallFiles = 50 })
	// Random reads show their rate soon.
	quick("for", func() { l.o.For = 300 * time.Millisecond })
	quick("size", func() { *l.sizes["size"] = "32MiB" })
}

// numbers parses the sizes and the numbers of clients.
func (l *ioLevel) numbers() error {
	l.o.Clients = l.clients
	// The same number twice stands for one number: one number means a ramp.
	switch n := len(l.clients); {
	case n == 1 && l.clients[0] > 0:
		l.o.Clients = load.Ramp(l.clients[0])
	case n == 2 && l.clients[0] == l.clients[1]:
		l.o.Clients = l.clients[:1]
	}
	// int may have 32 bits, so sizes of requests are bounded before the conversion.
	bytes := map[string]int64{}
	for name, given := range l.sizes {
		text := *given
		n, ok := cli.ParseSize(text, hemera.FileSizeMax)
		if !ok {
			return errs.New(errs.Invalid, "hemera.Bench", "--"+name, fmt.Sprintf("%q is no size", text)).WithRemedy("sizes are written 4MiB, 16GB, 512K or as bytes")
		}
		bytes[name] = n
	}
	const most = 1 << 30 // load.Check has smaller limits
	l.o.Size, l.o.Transfer = bytes["size"], int(min(bytes["transfer"], most))
	l.o.Block, l.o.SmallSize = int(min(bytes["block"], most)), int(min(bytes["small-size"], most))
	return nil
}

// run implements level. It skips a cluster that does not answer if the user has not named it.
func (l *ioLevel) run(ctx context.Context, rec *result.Recorder) error {
	if l.follows {
		rec.Note("The theoretical peak is that of this machine as one server: what the levels disk and net of this run reached.")
	}
	l.learnLayout(ctx, rec)
	err := load.Run(ctx, l.o, rec)
	// hemera bench all also runs on machines without a cluster.
	if !l.named && errors.Is(err, errs.Unavailable) {
		rec.Skip("reads and writes", errs.Reason(err, ""), "start a cluster with hemera up DIR, or name one with --url; or measure a directory with hemera bench io DIRECTORY")
		return nil
	}
	return err
}
