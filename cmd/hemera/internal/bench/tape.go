package bench

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hemera/cmd/hemera/internal/cli"
	"hemera/measure/result"
	"hemera/measure/tape"
	"hemera/words/errs"
)

// tapeLevel measures whether disks keep tape drives busy. It starts the cluster and the emulated tape that it needs.
type tapeLevel struct {
	o     tape.Options
	sizes map[string]*string     // as given, by flag
	small []string               // as given
	given func(flag string) bool // whether the user gave the flag; nil before flags
}

// tapeCommand makes `hemera bench tape`. Its defaults take half an hour, because long sessions are the usual work of
// drives.
func tapeCommand(s *session) *cobra.Command {
	l := &tapeLevel{sizes: map[string]*string{}}
	return s.command(l, &cobra.Command{
		Use: "tape DIRECTORY...", Short: "Measure whether disks keep tape drives streaming", Args: cobra.ArbitraryArgs,
		Long: `Archives files from the disks of DIRECTORY... to emulated LTO-9 drives that take the time of real ones,
and recalls them: do these disks keep one drive of 400 MB/s busy, and two? A cluster is started for it,
with a node for each directory; no tape library is needed. Directories should be on disks of their own.

  stream  what one buffered stream reads from each disk, as a copy by one thread would
  large   large files, to and from each number of drives: rate, back-hitches, what was waited for
  small   many files of each size, to and from one drive: files a second, with and without containers

The report has the course of each session. Files are in new directories, which are removed at the end;
they need --size for each drive. --quick shows that it works: its sessions are too short to judge by.`,
		Example: `  hemera bench tape --quick /data01
  hemera bench tape /data01 /data02 /data03 /data04
  hemera bench tape /data01 /data02 --drives 2 --size 80GB --small ""`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	})
}

// name implements level.
func (l *tapeLevel) name() string { return "tape" }

// flags implements level.
func (l *tapeLevel) flags(f *pflag.FlagSet) {
	size := func(flag, value, usage string) {
		l.sizes[flag] = f.String(flag, value, usage)
	}
	// Large files: 40 GB are 100 s of a drive.
	f.IntSliceVar(&l.o.Drives, "drives", []int{1, 2}, "how many drives work at once on large files")
	size("size", "40GB", "`bytes` of large files for each drive")
	size("file-size", "4GB", "`bytes` of a large file")
	// Small files.
	f.StringSliceVar(&l.small, "small", []string{"1MB"}, "`sizes` of small files; none if empty")
	f.IntVar(&l.o.SmallFiles, "small-files", 20_000, "how many small files of each size")
	f.BoolVar(&l.o.Plain, "without-containers", false, "measure small files without containers too")
	// All of it.
	f.IntVar(&l.o.Iterations, "iterations", 1, "how often everything is measured")
	f.StringVar(&l.o.State, "state", "", "`directory` for the state of the cluster and the tapes, on another disk than those measured (default: that for temporary files)")
	l.given = f.Changed
}

// sizeMax bounds sizes on the command line.
const sizeMax = 1 << 50

// check implements level.
func (l *tapeLevel) check(args []string, quick bool) error {
	l.o.Directories = args
	// The user's choices stay, also with --quick.
	if quick {
		l.shorten()
	}
	for flag, to := range map[string]*int64{"size": &l.o.Size, "file-size": &l.o.FileSize} {
		n, ok := cli.ParseSize(*l.sizes[flag], sizeMax)
		if !ok {
			return errs.New(errs.Invalid, "hemera.Bench", "--"+flag, fmt.Sprintf("%q is no size", *l.sizes[flag])).WithRemedy("sizes are written 40GB, 512M or as bytes")
		}
		*to = n
	}
	l.o.Small = nil
	for _, text := range l.small {
		n, ok := cli.ParseSize(text, sizeMax)
		if !ok {
			return errs.New(errs.Invalid, "hemera.Bench", "--small", fmt.Sprintf("%q is no size", text)).WithRemedy("sizes are written 1kB,100kB,1MB")
		}
		l.o.Small = append(l.o.Small, n)
	}
	// The cluster is this program.
	program, err := os.Executable()
	if err != nil {
		return errs.Wrap(err, "hemera.Bench", "")
	}
	l.o.Program = program
	return l.o.Check()
}

// shorten sets the options that the user did not choose so that the run takes about two minutes, most of it mounts.
func (l *tapeLevel) shorten() {
	quick := func(flag string, set func()) {
		if !l.given(flag) {
			set()
		}
	}
	quick("drives", func() { l.o.Drives = []int{1} })
	quick("size", func() { *l.sizes["size"] = "2GB" })
	quick("file-size", func() { *l.sizes["file-size"] = "500MB" })
	quick("small-files", func() { l.o.SmallFiles = 500 })
}

// run implements level.
func (l *tapeLevel) run(ctx context.Context, rec *result.Recorder) error {
	return tape.Run(ctx, l.o, rec)
}
