package files

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/client/xrootd"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/hemera"
)

// LsCommand makes `hemera ls`: contents of directories. It works with any XRootD server. Names that begin with a dot are
// listed, because data has no hidden files.
func LsCommand(e *cli.Env) *cobra.Command {
	var o lsOptions
	c := &cobra.Command{
		Use: "ls [path…]", Short: "List directories", ValidArgsFunction: complete.Paths(e),
		Long: "Lists the contents of directories, or files. Entries appear as the server sends them.\n" +
			"Owners and groups are shown by the names that this machine knows, else as numbers.\n" +
			"-y asks the manager where files are: d2::t1 is two pieces on disks and a copy on tape, d0::t1 is on tape only.\n" + cli.PathHelp,
		Example: `  hemera ls /exp
  hemera ls -l /exp/run1 /exp/run2
  hemera ls -lhR /exp
  hemera ls -y /exp/run1
  hemera ls -l root://eospublic.cern.ch//eos/opendata`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"/"}
			}
			o.names, o.long = cli.Owners{}, o.long || o.numeric || o.copies // -n implies -l, as in ls(1), and -y as in eos ls
			o.headings = (len(args) > 1 || o.recursive) && !e.ForPrograms() // more than one directory
			all := func(ctx context.Context, from listing) error {
				s := e.Stream(o.line)
				err := e.Each(ctx, args, func(arg string) error { return ls(ctx, e, from, s, arg, o) })
				if err != nil {
					return err
				}
				return s.Close()
			}
			if o.copies {
				return e.Ask(c, func(ctx context.Context, m *admin.Client) error { return all(ctx, ofManager{m.Names}) })
			}
			return e.Files(c, func(ctx context.Context, cl *xrootd.Client) error { return all(ctx, anyServer{cl}) })
		},
	}
	c.Flags().BoolVarP(&o.long, "long", "l", false, "show mode, owner, size and time")
	c.Flags().BoolVarP(&o.self, "directory", "d", false, "list directories themselves, not their contents") // as ls -d
	c.Flags().BoolVarP(&o.recursive, "recursive", "R", false, "list subdirectories too")
	c.Flags().BoolVarP(&o.numeric, "numeric-uid-gid", "n", false, "like -l, with owners and groups as numbers")  // as ls -n
	c.Flags().BoolVarP(&o.copies, "copies", "y", false, "like -l, with the copies of files on disk and on tape") // as eos ls -y
	c.Flags().BoolP("all", "a", false, "")
	_ = c.Flags().MarkHidden("all") // typed by habit: names that begin with a dot are always shown
	c.MarkFlagsMutuallyExclusive("directory", "recursive")
	cli.HumanFlag(c, &o.human, false)
	return c
}

// lsOptions are the flags of ls, and the cache of owners' names.
type lsOptions struct {
	long, self, human, recursive, headings, numeric, copies bool       // flags; headings: a title above each directory
	names                                                   cli.Owners // of this listing
}

// ls lists one argument. A file is listed under the name that the user gave.
func ls(ctx context.Context, e *cli.Env, from listing, s *output.Stream, arg string, o lsOptions) error {
	u, err := o.url(e, arg)
	if err != nil {
		return err
	}
	i, err := from.stat(ctx, u)
	if err != nil {
		return err
	}
	if !i.IsDir() || o.self {
		i.Name = arg
		return s.Add(i.record(hemera.PlainPath(u.Path)))
	}
	return lsDirectory(ctx, e, from, s, listed{u, arg}, o)
}

// url parses an argument. Paths for the manager must be at its server.
func (o lsOptions) url(e *cli.Env, arg string) (u xrootd.URL, err error) {
	if !o.copies {
		return e.Remote(arg)
	}
	u.Path, err = e.OnManager(arg)
	return u, err
}

// listed is a directory with its name in the user's form.
type listed struct {
	xrootd.URL
	name string // with the colon or URL that the user wrote
}

// below returns a subdirectory of l.
func (l listed) below(name string) listed {
	return listed{l.Join(name), strings.TrimSuffix(l.name, "/") + "/" + name}
}

// lsDirectory lists a directory and, with -R, those below it afterwards. It keeps only the names of directories: those of
// one directory for each level. It prints entries as they come, unsorted, so a directory of a million files needs no
// memory.
func lsDirectory(ctx context.Context, e *cli.Env, from listing, s *output.Stream, dir listed, o lsOptions) error {
	if o.headings {
		fmt.Fprintf(e.Out, "%s:\n", e.Visible(dir.name))
	}
	var below []string // subdirectories, for -R
	err := from.list(ctx, dir.URL, func(i listedEntry) error {
		// Listed after this directory, as with ls -R.
		if o.recursive && i.IsDir() {
			below = append(below, i.Name)
		}
		return s.Add(i.record(dir.Join(i.Name).Path))
	})
	if err != nil {
		return err
	}
	return e.Each(ctx, below, func(name string) error {
		if o.headings {
			fmt.Fprintln(e.Out)
		}
		return lsDirectory(ctx, e, from, s, dir.below(name), o)
	})
}

// record returns the entryRecord with the manager's additional information.
func (i listedEntry) record(path string) output.Record {
	r := entryRecord(path, i.Info)
	if i.redundancy != "" {
		r = append(r, output.Field{Key: "redundancy", Value: i.redundancy})
	}
	return r
}

// entryRecord makes the record of an entry, for ls and stat. mtime and ctime are seconds since 1970. Owner and group are
// empty if the server does not send them.
func entryRecord(path string, i xrootd.Info) output.Record {
	return output.Record{
		{Key: "name", Value: cmp.Or(i.Name, path)}, {Key: "path", Value: path}, {Key: "type", Value: cli.OnOff(i.IsDir(), "directory", "file")}, // without a name it is the path itself
		{Key: "size", Value: i.Size}, {Key: "mode", Value: fmt.Sprintf("%04o", i.Mode)}, {Key: "owner", Value: i.Owner}, {Key: "group", Value: i.Group}, // bytes; octal
		{Key: "mtime", Value: i.Mtime}, {Key: "ctime", Value: i.Ctime}, {Key: "inode", Value: i.ID},
	}
}

// line returns the line of a record for a person. Columns have fixed widths, because the following entries are not known
// yet. The time is in the reader's zone. A directory ends in a slash.
func (o lsOptions) line(r output.Record) string {
	name, _ := r.Get("name").(string)
	dir := r.Get("type") == "directory"
	if !o.long {
		return name + cli.OnOff(dir, "/", "")
	}
	size := fmt.Sprint(r.Get("size")) // in bytes, unless -h
	if o.human {
		size = output.Bytes(r.Get("size"))
	}
	var mode uint32
	_, _ = fmt.Sscanf(r.Get("mode").(string), "%o", &mode)
	mtime, _ := r.Get("mtime").(int64)
	where := ""
	if o.copies {
		text, _ := r.Get("redundancy").(string) // directories have none
		where = fmt.Sprintf("%-7s  ", text)
	}
	return where + fmt.Sprintf("%s  %-8v  %-8v  %14s  %s  %s%s", modeString(mode, dir), o.owner(r, "owner", cli.UserName), o.owner(r, "group", cli.GroupName), size,
		time.Unix(mtime, 0).Format("2006-01-02 15:04:05"), name, cli.OnOff(dir, "/", ""))
}

// owner returns an owner or group for a person. Servers other than Hemera may send names in place of numbers. key is
// "owner" or "group".
func (o lsOptions) owner(r output.Record, key string, lookup func(string) (string, error)) string {
	text := fmt.Sprint(r.Get(key))
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil || o.numeric {
		return text
	}
	return o.names.Name(key, uint32(id), lookup)
}

// modeString returns a mode like ls(1): "drwxr-x---", without set-id and sticky bits.
func modeString(mode uint32, dir bool) string {
	b := []byte(cli.OnOff(dir, "d", "-") + "rwxrwxrwx")
	for i := range 9 {
		if mode>>(8-i)&1 == 0 { // bit 8 is the owner's r
			b[1+i] = '-'
		}
	}
	return string(b)
}
