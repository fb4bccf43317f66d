package bench

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hemera/cmd/hemera/internal/cli"
	"hemera/measure/disk"
	"hemera/measure/result"
	"hemera/words/errs"
)

// diskLevel measures disks: raw devices, and file systems on them.
type diskLevel struct {
	e       *cli.Env
	o       disk.Options           // completed by check
	streams []int                  // as given: one number is the end of a ramp
	size    string                 // as given
	sweep   bool                   // the read-ahead test
	given   func(flag string) bool // whether the user gave the flag; nil before flags
}

// diskCommand makes `hemera bench disk`. Its defaults are those of the published figures: up to 15 streams, five iterations.
func diskCommand(s *session) *cobra.Command {
	e := s.e
	l := &diskLevel{e: e}
	// The command asks only if a device is to be written.
	var consent cli.Consent
	c := s.command(l, &cobra.Command{
		Use: "disk [DIRECTORY|DEVICE]...", Short: "Measure disks: devices, file systems, streams, read-ahead",
		Long: `Measures each disk with fio: the file system in DIRECTORY (default: the present one) and, as root, the
raw device below it. Several directories or devices are measured alone, and 1, 2, … N at once.

  ramp        1, 2, 4 … streams at a disk that read, write, both, and read or write 4 KiB at random
              places, directly and through the page cache
  scaling     1 to N disks at once, one stream each: a straight line means that nothing above them limits
  read-ahead  one stream with the read-ahead of the device from 128 KiB to 64 MiB, and what the kernel
              counts at the device meanwhile (root)

Writes count when they are durable. Files are in a new directory, which is removed at the end; the
read-ahead is put back; both also after Ctrl-C. Devices are only read, unless --write-device names one:
ALL OF ITS DATA ARE LOST. Nobody else should use the disks meanwhile. The defaults take half an hour
for each disk, --quick half a minute.`,
		Example: `  hemera bench disk --quick
  sudo hemera bench disk /data01 /data02 /data03
  sudo hemera bench disk /data01 --loads read,write --streams 1,15 --size 32GiB
  sudo hemera bench disk /dev/sdx --write-device /dev/sdx       destroys what is on it`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
	})
	consent.Flags(c)
	_ = c.RegisterFlagCompletionFunc("loads", cobra.FixedCompletions(disk.Loads(), cobra.ShellCompDirectiveNoFileComp)) // fails for flags that are not there
	measure := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		// Before the first line of progress, so that the question is visible.
		if l.o.WriteDevice != "" || consent.Dry {
			if ok, err := e.Agree(c.Context(), consent, "hemera.BenchDisk", stake(l.o.WriteDevice)); err != nil || !ok {
				return err
			}
		}
		return measure(c, args)
	}
	return c
}

// stake returns the lines about the data that a run destroys.
func stake(device string) []string {
	if device == "" {
		return []string{"nothing is destroyed: devices are only read, and files are in a new directory"}
	}
	return []string{fmt.Sprintf("all data on %s will be lost", device)}
}

// name implements level.
func (l *diskLevel) name() string { return "disk" }

// flags implements level.
func (l *diskLevel) flags(f *pflag.FlagSet) {
	// The measurements.
	f.StringSliceVar(&l.o.Loads, "loads", disk.Loads(), "the loads, of read, write, both, randread and randwrite")
	f.IntSliceVar(&l.streams, "streams", []int{15}, "streams of each disk: 15 is 1, 2, 4, 8 and 15; 3,8 is 3 and 8; 8,8 is 8 alone")
	f.IntVar(&l.o.Iterations, "iterations", 5, "how often everything is measured")
	// How much of it.
	f.StringVar(&l.size, "size", "4GiB", "`bytes` of the file to read, and of the files to write, on each disk")
	f.DurationVar(&l.o.For, "for", 5*time.Second, "how long one step lasts at most, without the fsync at its end")
	f.BoolVar(&l.sweep, "read-ahead", true, "measure with every read-ahead, where it can be set")
	// The only flag that destroys anything.
	f.StringVar(&l.o.WriteDevice, "write-device", "", "the `device` among those named that may be overwritten: all of its data are lost")
	l.given = f.Changed
}

// check implements level. It does not access the disks.
func (l *diskLevel) check(args []string, quick bool) error {
	if l.given == nil { // in a run of all levels: without its own command line
		l.flags(pflag.NewFlagSet("", pflag.ContinueOnError))
	}
	// The default is the present directory.
	l.o.Targets = args
	if len(args) == 0 {
		l.o.Targets = []string{"."}
	}
	// So that a mistyped name leaves no directory of a run.
	for _, target := range l.o.Targets {
		if _, err := os.Stat(target); err != nil {
			return errs.Wrap(err, "hemera.Bench", target)
		}
	}
	// Those of source E, from the kernel's default upwards.
	if l.sweep {
		l.o.ReadAheads = disk.ReadAheads()
	}
	if quick {
		l.shorten()
	}
	// A list is used unchanged.
	l.o.Streams = l.streams
	// The same number twice stands for one number, as with the clients of io.
	switch n := len(l.streams); {
	case n == 1 && l.streams[0] > 0:
		l.o.Streams = disk.Ramp(l.streams[0])
	case n == 2 && l.streams[0] == l.streams[1]:
		l.o.Streams = l.streams[:1]
	}
	// A petabyte is more than a disk has.
	size, ok := cli.ParseSize(l.size, 1<<50)
	if !ok {
		return errs.New(errs.Invalid, "hemera.Bench", "--size", fmt.Sprintf("%q is no size", l.size)).WithRemedy("sizes are written 4GiB, 16GB, 512M or as bytes")
	}
	l.o.Size = size
	return l.o.Check()
}

// shorten sets the options that the user did not choose so that the run takes half a minute.
func (l *diskLevel) shorten() {
	// The user's choices stay, also with --quick.
	quick := func(flag string, set func()) {
		if !l.given(flag) {
			set()
		}
	}
	quick("iterations", func() { l.o.Iterations = 3 })
	quick("streams", func() { l.streams = []int{1, 4} })
	// Reads of 0.2 s show the order of a disk's rate. Hard disks need more time for a good result.
	quick("for", func() { l.o.For = 200 * time.Millisecond })
	// Buffered writes last until the disk has all of it.
	quick("size", func() { l.size = "128MiB" })
	// Four points show whether the line rises.
	if l.sweep {
		quick("read-ahead", func() { l.o.ReadAheads = []int64{128 << 10, 1 << 20, 8 << 20, 64 << 20} })
	}
}

// run implements level. It skips everything without fio, and parts that the machine does not allow, with the reason.
func (l *diskLevel) run(ctx context.Context, rec *result.Recorder) error {
	return disk.Run(ctx, l.o, rec)
}
