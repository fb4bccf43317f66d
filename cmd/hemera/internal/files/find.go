package files

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// findOptions has the flags of find, as texts; request converts them for the manager.
type findOptions struct {
	files, dirs, count bool   // -f, -d, --count
	name, layout       string // a pattern, and a layout as in policies
	size, mtime, ctime string // +n or -n
	depth, stripes     int    // levels (-1: all) and pieces (0: any)
	incomplete         bool   // --stripediff
	lost, unreadable   bool
	degraded           bool
	uid, gid           string // numbers or names
	nuid, ngid         string // all but these
}

// FindCommand makes `hemera find`: search in a tree. The manager searches and sends its matches, so a search of a large
// tree needs no memory here. --lost reads a list of the manager.
func FindCommand(e *cli.Env) *cobra.Command {
	o := findOptions{depth: -1}
	c := &cobra.Command{
		Use: "find <path>", Short: "Search a tree", Args: cobra.ExactArgs(1), ValidArgsFunction: complete.Paths(e),
		Long: `Searches a tree at the manager and prints paths as it finds them. A path must meet all
conditions. Sizes are written 10k, 1G, 1GB (powers of 1000) or 1GiB; +n means more than n, -n less than n.
A search does not delay writers or other searches. -m and -j have owner, times, layout, pieces and checksum
of each entry.`,
		Example: `  hemera find /exp -f --name '*.root' --size +1G
  hemera find /exp -f --mtime +30         older than 30 days
  hemera find /exp -d --maxdepth 2
  hemera find /exp --count
  hemera find /exp --layoutstripes 1      files with a layout of one piece
  hemera find /exp --layout rs:4+2        files with 4 data and 2 parity pieces
  hemera find / --stripediff              files with fewer pieces than their layout has for files of their size
  hemera find / --lost                    files with no good piece left`,
		RunE: func(c *cobra.Command, args []string) error {
			path, err := e.OnManager(args[0])
			if err != nil {
				return err
			}
			r, err := o.request(path, e.Now())
			if err != nil {
				return cli.Usage(err)
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error { return find(ctx, e, m, r) })
		},
	}
	f := c.Flags()
	f.BoolVarP(&o.files, "files", "f", false, "files only")
	f.BoolVarP(&o.dirs, "directories", "d", false, "directories only")
	f.BoolVar(&o.count, "count", false, "print only how many there are, and their bytes") // the manager counts, and sends one answer
	f.StringVar(&o.name, "name", "", "last component matches this pattern (*, ?, [a-z])") // matched by the manager, without regard to the directory
	f.StringVar(&o.size, "size", "", "files larger (+1G) or smaller (-1k) than this; with -d directories, with all that is in them")
	f.StringVar(&o.mtime, "mtime", "", "changed more (+7) or less (-7) days ago")                   // days of 24 hours
	f.StringVar(&o.ctime, "ctime", "", "as mtime, of any change: content, mode, owner, attributes") // as find -ctime
	f.StringVar(&o.layout, "layout", "", "files of this layout: a kind, or all of it (plain, replica:3, rs, rs:4+2, lrc, stripe)")
	_ = c.RegisterFlagCompletionFunc("layout", complete.Layouts)
	f.IntVar(&o.stripes, "layoutstripes", 0, "files whose layout has this number of pieces")                               // the layout, not what is there now
	f.BoolVar(&o.incomplete, "stripediff", false, "files with fewer pieces than their layout has for files of their size") // EOS's name
	f.BoolVar(&o.lost, "lost", false, "files with too few good pieces on any disk of the cluster, found without a search") // from the list that the manager keeps
	f.BoolVar(&o.unreadable, "unreadable", false, "files that only disks or tapes have that cannot be read now")           // depends on which nodes are online
	f.BoolVar(&o.degraded, "degraded", false, "files that can be read, and have pieces on disks that cannot")
	c.MarkFlagsMutuallyExclusive("lost", "unreadable", "degraded")
	f.StringVar(&o.nuid, "nuid", "", "not of this owner, a number or a name that this machine knows")
	f.StringVar(&o.ngid, "ngid", "", "not of this group")
	f.IntVar(&o.depth, "maxdepth", -1, "levels below <path> to search; 0 is <path> alone") // as find -maxdepth
	f.StringVar(&o.uid, "uid", "", "of this owner, a number or a name that this machine knows")
	f.StringVar(&o.gid, "gid", "", "of this group")
	c.MarkFlagsMutuallyExclusive("files", "directories")
	return c
}

// standing returns the standing of the files to find; "" for any.
func (o findOptions) standing() adminapi.FileStanding {
	switch {
	case o.lost:
		return adminapi.FileLost
	case o.unreadable:
		return adminapi.FileUnreadable
	case o.degraded:
		return adminapi.FileDegraded
	}
	return ""
}

// request returns the request for the manager, which evaluates every condition. Days count from now. It fails with
// Invalid for a malformed condition, before any search.
func (o findOptions) request(path string, now time.Time) (adminapi.WalkRequest, error) {
	r := adminapi.WalkRequest{Path: path, Name: o.name, Count: o.count, Layout: o.layout, Pieces: o.stripes, Incomplete: o.incomplete,
		Standing: o.standing()}
	if err := o.readLayout(&r); err != nil {
		return r, err
	}
	switch {
	// Without both flags, both kinds.
	case o.files:
		r.Kind = hemera.KindFile
	case o.dirs:
		r.Kind = hemera.KindDirectory
	}
	switch {
	// 0 means "all" for the manager.
	case o.depth == 0:
		r.Depth = -1
	case o.depth > 0:
		r.Depth = o.depth
	}
	if o.size != "" {
		more, n, err := parseBound(o.size)
		if err != nil {
			return r, err
		}
		if more { // sizes are whole bytes, so "more than n" is "at least n+1"
			r.SizeMin = n + 1
		} else {
			limit := n - 1 // a pointer, because 0 is a limit too
			r.SizeMax = &limit
		}
	}
	for _, t := range []struct {
		days         string
		older, newer **time.Time
	}{{o.mtime, &r.Older, &r.Newer}, {o.ctime, &r.ChangedBefore, &r.ChangedAfter}} {
		if t.days == "" {
			continue
		}
		more, days, err := parseBound(t.days)
		if err != nil {
			return r, err
		}
		// "More than 30 days ago" is before a moment.
		if at := now.Add(-time.Duration(days) * 24 * time.Hour); more {
			*t.older = &at
		} else {
			*t.newer = &at
		}
	}
	for _, id := range []struct {
		name   string
		lookup func(string) (string, error)
		into   **uint32
	}{{o.uid, cli.LookupUser, &r.UID}, {o.gid, cli.LookupGroup, &r.GID}, {o.nuid, cli.LookupUser, &r.NotUID}, {o.ngid, cli.LookupGroup, &r.NotGID}} {
		n, err := cli.ParseID(id.name, id.lookup)
		if err != nil {
			return r, err
		}
		if n >= 0 {
			v := uint32(n)
			*id.into = &v
		}
	}
	return r, nil
}

// readLayout parses the layout: a kind, or a whole one in the manager's spelling, so that raid6:6 finds rs:4+2.
func (o findOptions) readLayout(r *adminapi.WalkRequest) error {
	kinds := []string{"", "plain", "replica", "rs", "stripe", "lrc"}
	if slices.Contains(kinds, o.layout) {
		return nil
	}
	l, err := hemera.ParseLayout(o.layout, 0)
	if err != nil {
		return errs.As(err, errs.Invalid, "hemera.ReadLayout", o.layout)
	}
	r.Layout = l.String()
	return nil
}

// parseBound parses +n (more than n) or -n (less than n). n may have k, M, G, T or P, or a unit. It fails with Invalid; n
// is at most the largest size of a file.
func parseBound(s string) (more bool, n int64, err error) {
	bad := errs.New(errs.Invalid, "hemera.ReadBound", s, "want +n or -n").WithRemedy("for example +1G (more) or -10k (less)")
	if len(s) < 2 || s[0] != '+' && s[0] != '-' {
		return false, 0, bad
	}
	n, ok := cli.ParseSize(s[1:], hemera.FileSizeMax)
	if !ok {
		return false, 0, bad
	}
	return s[0] == '+', n, nil
}

// find prints the matches while the manager still searches. Directories that could not be listed are reported, and the
// exit code is then 1. An entry that is moved during the search may be found twice or not at all.
func find(ctx context.Context, e *cli.Env, m *admin.Client, r adminapi.WalkRequest) error {
	r.Brief = !e.ForPrograms() // people see paths only, so the manager sends nothing else
	s := e.Stream(func(r output.Record) string { return fmt.Sprint(r.Get("path")) })
	var failed int64
	sum, err := m.Names.Walk(ctx, r, func(f adminapi.Found) error {
		if f.Err != "" {
			failed++
			text, _ := e.Explain(f.Err) // the search continues
			fmt.Fprintf(e.Err, "hemera: %s\n", text)
			return nil
		}
		// Without attributes: the manager has sent only the path.
		if r.Brief {
			return s.Add(output.Record{{Key: "path", Value: f.Path}})
		}
		return s.Add(foundRecord(f))
	})
	if err != nil {
		return err
	}
	if r.Count {
		// A second stream: with --count the first has printed nothing.
		s = e.Stream(func(output.Record) string {
			return fmt.Sprintf("%s, %s, %s", output.Count(sum.Files, "file"), output.Count(sum.Dirs, "directory"), output.Bytes(sum.Bytes))
		})
		err = s.Add(output.Record{{Key: "nfiles", Value: sum.Files}, {Key: "ndirectories", Value: sum.Dirs}, {Key: "bytes", Value: sum.Bytes},
			{Key: "physical", Value: sum.Physical}})
	}
	if err == nil && failed > 0 {
		err = errs.New(errs.Internal, "hemera.Find", r.Path, output.Count(failed, "directory")+" could not be listed")
	}
	if err != nil {
		return err
	}
	return s.Close()
}

// foundRecord makes the record of a found entry, with the keys of ls where both have one.
func foundRecord(f adminapi.Found) output.Record {
	en := f.Entry
	return output.Record{
		{Key: "path", Value: f.Path}, {Key: "type", Value: cli.OnOff(en.IsDir(), "directory", "file")}, {Key: "size", Value: onOffSize(en)},
		{Key: "mode", Value: fmt.Sprintf("%04o", en.Mode)}, {Key: "uid", Value: en.UID}, {Key: "gid", Value: en.GID}, // octal
		{Key: "mtime", Value: cli.Stamp(en.Mtime)}, {Key: "ctime", Value: cli.Stamp(en.Ctime)}, {Key: "fxid", Value: en.ID.Hex()}, {Key: "layout", Value: layoutName(en)}, // UTC
		{Key: "nrep", Value: len(en.Pieces)}, {Key: "checksum", Value: firstSum(en)}, // pieces that the namespace has
	}
}

// layoutName returns a file's layout; "" for directories.
func layoutName(e hemera.Entry) string {
	if e.IsDir() {
		return ""
	}
	return e.Layout.String()
}

// firstSum returns a file's main checksum, with its kind.
func firstSum(e hemera.Entry) string {
	if len(e.Checksums) == 0 {
		return ""
	}
	return e.Checksums[0].String()
}
