package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"hemera/client/copy"
	"hemera/client/direct"
	"hemera/client/xrootd"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/rules/policy"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// cpOptions has the flags of cp.
type cpOptions struct {
	recursive, force, resume, quiet bool   // -r, -f, -c, -q
	preserve, follow, skipLinks     bool   // -p, -L, --skip-links
	parallel                        int    // files at a time
	checksum, tpc, direct           string // words; see copyOptions
	layout, blockSize               string // wishes for new files; see wishing
}

// CpCommand makes `hemera cp`: copies of files and trees. Package client/copy does the work. This file converts flags and
// paths to its options, and its reports to lines and errors.
func CpCommand(e *cli.Env) *cobra.Command {
	var o cpOptions
	c := &cobra.Command{
		Use: "cp <from>… <to>", Short: "Copy files and trees, to, from and between clusters", Args: cobra.MinimumNArgs(2),
		Long: `Copies files. A path that begins with : is on the cluster of --url or HEMERA_URL, a URL
root://host:1094//path is at that XRootD server, - is standard input or output, and
everything else is a file of this machine:

  data.root                       here
  :/exp/data.root                 on the cluster
  root://host:1094//exp/data.root at any XRootD server

If <to> is a directory, sources go into it under their own names. A <to> that ends in / is
made if it is missing. A <from> that ends in /. stands for the contents of that directory.
Copies between two servers go directly from one to the other if both can.

Several files are copied at once (-P), and checksums are compared. If the node of a file stops, its
copy begins again at another node. Files that exist are replaced only with --force; servers other than
Hemera cannot do that in one step, so the name is free for a moment. The command names what it cannot
copy, copies the rest, and ends with exit code 1. A device, such as /dev/null, is written to as it is.

A file appears under its name only when it is whole and its checksum was compared. Until then
a large file is written beside it as .<name>.hemera-part; an interrupted copy leaves this part.
The same command with --continue goes on with the part if it is of the same source: of an upload the
checksum of the part is compared, of a download size and time of the source. It passes over files that
are there with the same size and checksum; with --force it replaces those that differ. Without
--continue the part is replaced. If the first copy made <to> itself, write <from> with /. at its end to
continue. Parts count for quotas. To find those that are left over: hemera find / --name
'.*.hemera-part'. Remove them with hemera rm. A copy of a tree leaves out parts.

In a tree, a link to a file is copied as that file. Links to directories and links that lead
nowhere are errors. -L follows links to directories too, --skip-links passes over all links, and
both together follow the links that lead somewhere and pass over the others. Files and
directories get the permission bits of their source less the umask; --preserve keeps the bits
and the times of files and directories, and, if root copies, the owner. Servers give times in whole
seconds; those other than Hemera cannot set them, and --preserve to them is refused.

A coded file (rs:4+2 and the like) of at least 16 MiB is read straight from the nodes of its pieces, all
at once; lost and slow pieces are computed here. It is written to them, data and parity, if that is
faster than through one node: when the link of this machine is the faster one. If this machine cannot
reach them, the file goes through one node; --verbose says of each file which way it goes, and why.
--direct always uses the nodes of the pieces for every coded file, --direct never uses one node for
every file. A file needs up to 64 MiB of memory here.

--layout and --blocksize ask a server of Hemera to store the files in another way than their
directory says, if it lets clients choose. URLs can ask too: root://host//path?hem.layout=rs:4+2

If a pipe breaks, or Ctrl-C ends the pipeline, "hemera cp - :/file" leaves nothing. It cannot see that the
program before it failed: use "set -o pipefail", and remove the file then.`,
		Example: `  hemera cp data.root :/exp/
  hemera cp -r ./run1 ./run2 :/exp/2026/ -P 16
  hemera cp --layout rs:10+4 big.tar :/exp/    any 4 of its 14 pieces may be lost
  hemera cp -r --continue :/exp/2026 /backup/
  hemera cp -r --continue :/exp/2026/. /backup2026
  hemera cp root://eospublic.cern.ch//eos/opendata/cms/f.root :/exp/
  mysqldump db | hemera cp - :/backup/db.sql`,
		ValidArgsFunction: complete.Endpoints(e),
		RunE: func(c *cobra.Command, args []string) error {
			return e.Files(c, func(ctx context.Context, cl *xrootd.Client) error { return cp(ctx, e, cl, args, o) })
		},
	}
	f := c.Flags()
	cli.RecursiveFlag(c, &o.recursive, "copy directories, with their contents")
	f.BoolVarP(&o.force, "force", "f", false, "replace files that exist")                                            // as xrdcp -f
	f.BoolVarP(&o.resume, "continue", "c", false, "go on with parts; pass over files of the same size and checksum") // parts are found by their names beside the target
	f.BoolVarP(&o.preserve, "preserve", "p", false, "keep permission bits and times, and the owner as root")         // as cp -p
	f.BoolVarP(&o.follow, "dereference", "L", false, "follow links to directories too")                              // as cp -L
	f.BoolVar(&o.skipLinks, "skip-links", false, "pass over all symbolic links; with -L over those that lead nowhere")
	f.IntVarP(&o.parallel, "parallel", "P", 4, "number of files copied in parallel")                                                         // each with its own requests in flight
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress bar")                                                                             // errors are still printed
	f.StringVar(&o.checksum, "checksum", "possible", "verify: always, possible (where servers can), never")                                  // see copy.Verify
	f.StringVar(&o.tpc, "tpc", "first", "directly between servers: first (else through here), only, off")                                    // third-party copy of the XRootD protocol
	f.StringVar(&o.direct, "direct", "auto", "coded files straight from and to the nodes of their pieces: auto (large ones), always, never") // see direct.Mode
	f.StringVar(&o.layout, "layout", "", "layout of new files on a server: plain, replica:2, rs:4+2, ...")                                   // hem.layout
	f.StringVar(&o.blockSize, "blocksize", "", "block size of new files with a layout such as rs:4+2: 64k to 16M")                           // hem.blocksize
	_ = c.RegisterFlagCompletionFunc("layout", complete.Layouts)
	_ = c.RegisterFlagCompletionFunc("blocksize", cobra.FixedCompletions([]cobra.Completion{"64k", "256k", "1M", "4M", "16M"}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("checksum", cobra.FixedCompletions([]cobra.Completion{"always", "possible", "never"}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("direct", cobra.FixedCompletions([]cobra.Completion{"auto", "always", "never"}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("tpc", cobra.FixedCompletions([]cobra.Completion{"first", "only", "off"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// place converts an argument to the form of package copy: a URL or a local path. Only words with a colon and URLs are
// remote: every other word is a local file, also /exp/a.
func place(e *cli.Env, arg string) (string, error) {
	if !strings.HasPrefix(arg, ":") {
		return arg, nil
	}
	u, err := e.Remote(arg)
	if strings.HasSuffix(arg, "/.") {
		// ParseURL has cleaned the path, so the mark is added again.
		return u.String() + "/.", err // the content of the directory
	}
	return u.String(), err
}

// wishing adds the wishes for new files to the destination. The words are checked here, so that a copy of a tree does not
// fail file by file. It fails with an error of the command line for a malformed wish, and for a destination on this
// machine.
func (o cpOptions) wishing(to string) (string, error) {
	if o.layout == "" && o.blockSize == "" {
		return to, nil
	}
	if !xrootd.IsRemote(to) {
		return to, cli.Usage(errs.New(errs.Invalid, "hemera.ReadLayout", to, "--layout and --blocksize are for files on a server").
			WithRemedy("a path on the cluster begins with :, as in hemera cp --layout rs:4+2 data.root :/exp/"))
	}
	u, err := xrootd.ParseURL(to)
	if err != nil {
		return to, err
	}
	if o.layout != "" {
		// The server decides whether its policy has a number of pieces for a name without one.
		if _, err := policy.Named(o.layout, 0, hemera.Plain()); err != nil {
			return to, cli.Usage(errs.As(err, errs.Invalid, "hemera.ReadLayout", o.layout))
		}
		u.Opaque = u.Opaque.With("hem.layout", o.layout)
	}
	if o.blockSize != "" {
		if _, err := hemera.ParseBlockSize(o.blockSize); err != nil {
			return to, cli.Usage(errs.As(err, errs.Invalid, "hemera.ReadBlockSize", o.blockSize))
		}
		u.Opaque = u.Opaque.With("hem.blocksize", o.blockSize)
	}
	return u.String(), nil
}

// copyOptions converts flags to options. It fails with an error of the command line for an unknown word or number.
func (o cpOptions) copyOptions() (copy.Options, error) {
	verify, ok1 := map[string]copy.Verify{"always": copy.VerifyAlways, "possible": copy.VerifyPossible, "never": copy.VerifyNever}[o.checksum]
	tpc, ok2 := map[string]copy.TPC{"first": copy.TPCFirst, "only": copy.TPCOnly, "off": copy.TPCOff}[o.tpc]
	way, ok3 := map[string]direct.Mode{"auto": direct.Auto, "always": direct.Always, "never": direct.Never}[o.direct]
	switch {
	case !ok1:
		return copy.Options{}, cli.Usage(errs.New(errs.Invalid, "hemera.ReadChecksum", o.checksum, "want always, possible or never"))
	case !ok2:
		return copy.Options{}, cli.Usage(errs.New(errs.Invalid, "hemera.ReadTpc", o.tpc, "want first, only or off"))
	case !ok3:
		return copy.Options{}, cli.Usage(errs.New(errs.Invalid, "hemera.ReadDirect", o.direct, "want auto, always or never"))
	case o.parallel < 1 || o.parallel > parallelMax:
		return copy.Options{}, cli.Usage(errs.New(errs.TooLarge, "hemera.ReadParallel", "", "want 1 to 1024"))
	}
	links := copy.LinksFiles // the default: links to files only
	switch {
	// Both together: links to missing files are skipped.
	case o.follow && o.skipLinks:
		links = copy.LinksGood
	case o.follow:
		links = copy.LinksFollow
	case o.skipLinks:
		links = copy.LinksSkip
	}
	return copy.Options{
		Preserve: o.preserve, Links: links, Recursive: o.recursive, Force: o.force, Continue: o.resume, Parallel: o.parallel, Verify: verify, TPC: tpc, Direct: direct.Options{Mode: way},
	}, nil
}

// again returns the remedy after a copy that failed in part. It is added to errors only if something remains to be
// copied.
func (o cpOptions) again(args []string) string {
	s := "repeat the command with --continue: it goes on with the parts that were kept and passes over the files that are there"
	// The first copy made <to> itself; the next one would copy into it.
	if from, to := args[0], args[len(args)-1]; o.recursive && len(args) == 2 && !strings.HasSuffix(to, "/") && !strings.HasSuffix(from, "/.") {
		s += "; if it made " + to + ", write " + strings.TrimSuffix(from, "/") + "/. for " + from
	}
	return s
}

// parallelMax bounds the files copied at a time. More files would only need more memory and open files.
const parallelMax = 1024

// cp copies all sources. It chooses between a pipe and a copy of files, makes the target directory, and reports. It
// returns nil if every file was copied or skipped.
func cp(ctx context.Context, e *cli.Env, cl *xrootd.Client, args []string, o cpOptions) error {
	options, err := o.copyOptions()
	if err != nil {
		return err
	}
	places := make([]string, len(args)) // the arguments in the form of package copy
	for i, arg := range args {
		if places[i], err = place(e, arg); err != nil {
			return err
		}
	}
	from, to := places[:len(places)-1], places[len(places)-1]
	if to, err = o.wishing(to); err != nil {
		return err
	}
	// Also with -, because a reason is useful there too.
	told := &teller{e: e, again: o.again(args), over: func() bool { return ctx.Err() != nil }}
	options.Direct.Note, options.Direct.Straight = told.note, told.straight
	// With - there are no files to count, so there is no progress and no report.
	if to == "-" || len(from) == 1 && from[0] == "-" {
		return pipe(ctx, e, cl, from, to, options)
	}
	if !slices.ContainsFunc(places, xrootd.IsRemote) {
		return cli.Usage(errs.New(errs.Invalid, "hemera.Copy", args[len(args)-1], "both ends are on this machine").
			WithRemedy("a path on the cluster begins with :, as in hemera cp data.root :/exp/"))
	}
	// Before the copy, which would take a missing target for the name of a file.
	if err := makeTarget(ctx, cl, args[len(args)-1], to); err != nil {
		return err
	}
	s := e.Stream(nil) // people get the summary, programs a record for each file
	told.s = s         // before the first report
	// Set in every case, because people must be told of failures.
	options.Report = told.file
	// Without a terminal a progress line would fill a log.
	if e.Live && !o.quiet {
		options.Progress = told.progress
	}
	p, err := copy.Run(ctx, cl, from, to, options)
	if err := told.end(ctx, p, err); err != nil {
		return err
	}
	if !o.quiet && !e.Live && !e.ForPrograms() { // eyes that had no bar to look at
		e.Say("%s", copied(p))
	}
	return s.Close()
}

// copied returns the summary of a copy, with what was skipped, left out and kept. Files and bytes of p include those that
// were there already.
func copied(p copy.Progress) string {
	s := output.Count(p.Files-p.Skipped, "file") + ", " + output.Bytes(p.Bytes-p.SkippedBytes) + " copied"
	// Each part of the sentence is there only if its number is not 0.
	if p.Skipped > 0 {
		s += "; " + output.Count(p.Skipped, "file") + " of " + output.Bytes(p.SkippedBytes) + " there already"
	}
	if p.Links > 0 {
		s += "; " + output.Count(p.Links, "link") + " passed over"
	}
	if p.Passed > 0 {
		s += "; " + output.Count(p.Passed, "part") + " of unfinished copies left out"
	}
	if p.Kept > 0 {
		s += "; " + output.Count(p.Kept, "part") + " kept"
	}
	return s
}

// makeTarget makes the directory of a target that ends in /, with missing directories above it. It accepts a directory
// that exists.
func makeTarget(ctx context.Context, cl *xrootd.Client, arg, to string) error {
	// The argument as typed, because a clean local path has lost the slash.
	if !strings.HasSuffix(arg, "/") {
		return nil
	}
	if !xrootd.IsRemote(to) {
		return errs.Wrap(os.MkdirAll(to, 0o755), "hemera.MakeDirectory", to)
	}
	u, err := xrootd.ParseURL(to)
	if err != nil || u.Path == "/" {
		return err
	}
	return cl.Mkdir(ctx, u, 0o755, true)
}

// pipe copies standard input to a file, or files to standard output. Standard input has no length and no time, so no part
// of it is kept: an interrupted copy begins again.
func pipe(ctx context.Context, e *cli.Env, cl *xrootd.Client, sources []string, to string, o copy.Options) error {
	if to == "-" {
		// In the same way as a copy to a file.
		from := direct.New(cl, o.Direct)
		defer from.Close()
		return e.Each(ctx, sources, func(arg string) error {
			if !xrootd.IsRemote(arg) {
				return cli.Usage(errs.New(errs.Invalid, "hemera.Copy", arg, "both ends are on this machine").WithRemedy("a path on the cluster begins with :"))
			}
			return cat(ctx, e, from, arg, 0, math.MaxInt64)
		})
	}
	if !xrootd.IsRemote(to) {
		return cli.Usage(errs.New(errs.Invalid, "hemera.Copy", to, "both ends are on this machine").WithRemedy("a path on the cluster begins with :"))
	}
	u, err := xrootd.ParseURL(to)
	if err != nil {
		return err
	}
	_, err = copy.FromReader(ctx, cl, &input{ctx: ctx, r: e.In}, u, o) // the file appears when the input has ended
	return e.Done(err)
}

// teller reports a copy while it runs. The goroutines that copy call it. mu guards its fields and the terminal. It never
// calls a server while it holds mu.
type teller struct {
	e     *cli.Env       // for the two streams
	s     *output.Stream // records for programs
	again string         // remedy after failures
	over  func() bool    // reports whether the command was interrupted

	mu     sync.Mutex
	drawn  bool  // a progress line is on the terminal
	failed int   // files
	known  int   // failed files whose errors have a remedy
	last   error // the last failure, not printed yet: if it is the only one, it becomes the command's error
}

// file reports every file to programs, and failed ones to people. Package copy calls it once for each file. The last
// failure is held back, so that a single one becomes the error of the command.
func (t *teller) file(from, to string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if interrupted := err != nil && t.over() && errors.Is(err, errs.Cancelled); err != nil && !interrupted {
		t.tellLast()
		t.failed++
		if errs.RemedyOf(err) != "" {
			t.known++
		}
		t.last = err
	}
	if !t.e.ForPrograms() {
		return
	}
	// The kind is a stable word; the text of the error may change.
	r := output.Record{{Key: "from", Value: from}, {Key: "to", Value: to}, {Key: "result", Value: cli.OnOff(err == nil, "ok", "failed")}}
	if err != nil {
		r = append(r, output.Field{Key: "kind", Value: errs.KindOf(err).String()}, output.Field{Key: "error", Value: errs.Plain(err.Error())})
	}
	_ = t.s.Add(r)
}

// progress redraws the progress line. Package copy calls it a few times a second.
func (t *teller) progress(p copy.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	io.WriteString(t.e.Err, cli.ClearLine+cli.Fitted(t.e.ErrWidth(), progressForms(p)))
	t.drawn = true
}

// note prints, if the user asked for it, the reason why a file is not transferred directly between this machine and the
// nodes of its pieces. Package direct calls it once for each such file, if the layout would allow direct access. The
// progress line is cleared first, so that the note stays on the screen.
func (t *teller) note(file, reason string) { t.way(file, "goes through one node: "+reason) }

// straight reports a file that is transferred directly. Package direct calls it when the nodes have accepted the open.
func (t *teller) straight(file, layout string) {
	t.way(file, "goes straight between this machine and the nodes of its pieces, in layout "+layout)
}

// way prints, if the user asked for it, how a file is transferred. It locks mu, because copies of several files report at
// the same time.
func (t *teller) way(file, text string) {
	if !t.e.Verbose() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.drawn {
		io.WriteString(t.e.Err, cli.ClearLine)
	}
	t.drawn = false
	// To standard error, because it is no result.
	fmt.Fprintf(t.e.Err, "hemera: %s %s\n", t.e.Visible(file), t.e.Visible(text))
}

// tellLast prints the last failure, unless it is only the interruption, which the command's error reports. The caller
// holds mu.
func (t *teller) tellLast() {
	if t.last == nil || errors.Is(t.last, context.Canceled) || errors.Is(t.last, errs.Cancelled) {
		return
	}
	if t.drawn {
		io.WriteString(t.e.Err, cli.ClearLine)
	}
	t.drawn = false
	t.e.Complain(t.last)
}

// end keeps the last bar on the screen and returns the error of the command. It is called once, after the copy. For
// several failed files the error has their number, for one file its own error.
func (t *teller) end(ctx context.Context, p copy.Progress, err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.drawn {
		io.WriteString(t.e.Err, "\n")
		t.drawn = false
	}
	switch {
	// An interruption is one error, however many files it ended.
	case ctx.Err() != nil:
		t.tellLast()
		return errs.New(errs.Cancelled, "hemera.Copy", "", "interrupted; "+copied(p)).WithRemedy(t.again)
	// The error, if any, is about the whole copy, such as a missing source.
	case t.failed == 0:
		return err
	// A part was kept, so repeating the command is useful.
	case t.failed == 1 && p.Kept > 0 && errs.RemedyOf(t.last) == "":
		return cli.Advised(t.last, t.again)
	case t.failed == 1:
		return cli.Advise(t.last, errs.Exists, "add -f to replace it, or -c to pass over files that are there already")
	}
	t.tellLast()
	remedy := t.again
	if t.known == t.failed && p.Kept == 0 { // otherwise a repetition would fail in the same way
		remedy = "do what each of them says above; then " + t.again
	}
	return errs.New(errs.KindOf(err), "hemera.Copy", "", output.Count(int64(t.failed), "file")+" failed; "+copied(p)).
		WithRemedy(remedy)
}
