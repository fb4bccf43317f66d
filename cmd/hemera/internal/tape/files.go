package tape

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/tape/tapeconfig"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// These are the commands of users for files on tape. The manager checks the user and the rights: the right to read a file
// includes that to stage it.

// stageCommand makes `hemera tape stage`. It does not wait: a file may take an hour.
func stageCommand(e *cli.Env) *cobra.Command {
	var activity string
	var f many
	c := &cobra.Command{
		Use: "stage [path…]", Short: "Bring files from tape to disk", ValidArgsFunction: complete.Paths(e),
		Long: `Asks for files to be brought to disk, and prints where each is; of directories (-r) and lists (--from) how many.
They stay on disk until they are released. "xrdfs HOST prepare -s" is the same. Ask again, or
"hemera tape why PATH", to see how far it is.`,
		Example: `  hemera tape stage /exp/run1/data.root
  hemera tape stage -r /exp/run1
  hemera tape stage --from list.txt`,
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				s := &stages{env: e, client: m, activity: activity, each: !f.bulk()}
				err := f.each(ctx, e, m, args, func(path string) error { return s.add(ctx, path) })
				if err == nil {
					err = s.send(ctx)
				}
				if err != nil {
					return err
				}
				return s.end()
			})
		},
	}
	f.register(c)
	c.Flags().StringVar(&activity, "activity", "", "what it is for, as mount rules know it: a `name`")
	c.AddCommand(stagesCommand(e), dropStagesCommand(e))
	return c
}

// stageBatch is the largest number of files in one request, because its answer has a line for each.
const stageBatch = 10_000

// stages makes requests of many files.
type stages struct {
	env      *cli.Env
	client   *admin.Client
	activity string
	each     bool // print a line for each file

	next    tapeapi.StageRequest // the request that is being filled
	sum     tally
	online  int64 // files that are on disk already
	records []output.Record
}

// add adds a file, and sends the request when it is full.
func (s *stages) add(ctx context.Context, path string) error {
	s.next.Files = append(s.next.Files, tapeapi.StageFile{Path: path, Activity: s.activity})
	if len(s.next.Files) < stageBatch {
		return nil
	}
	return s.send(ctx)
}

// send makes a request of the files so far, which get one id.
func (s *stages) send(ctx context.Context) error {
	if len(s.next.Files) == 0 {
		return nil
	}
	id, err := s.client.Staging.Stage(ctx, hemera.Identity{}, s.next)
	if err != nil {
		return err
	}
	s.next.Files = s.next.Files[:0]
	status, err := s.client.Staging.StageStatus(ctx, hemera.Identity{}, id)
	if err != nil {
		return err
	}
	if s.each {
		if err := noneStaged(status.Files); err != nil {
			return err
		}
	}
	// This goes to standard error, so that a pipe gets the list alone.
	if !s.env.ForPrograms() {
		fmt.Fprintln(s.env.Err, "request", id)
	}
	for _, l := range status.Files {
		if s.each {
			s.records = append(s.records, localityRecord(l, id))
		}
		if l.OnDisk {
			s.online++
		}
		s.sum.add(l.Path, did{}, noneStaged([]tapeapi.Locality{l}))
	}
	if !s.each && s.env.ForPrograms() {
		s.records = append(s.records, output.Record{{Key: "request_id", Value: id}, {Key: "files", Value: len(status.Files)}})
	}
	s.sum.draw(s.env)
	return nil
}

// end prints the requested files, or only their numbers if there are many. Its error names the files that cannot be
// brought to disk.
func (s *stages) end() error {
	if s.each || s.env.ForPrograms() {
		columns := localityColumns()
		if !s.each {
			columns = nil
		}
		return s.env.ListAll(columns, s.records, "", s.sum.errors.together("stage"))
	}
	s.env.Say("%s asked for, %d of them on disk already, %d failed", output.Count(s.sum.files, "file"), s.online, s.sum.failed)
	return s.sum.errors.together("stage")
}

// noneStaged returns the errors of all files of a request, or nil if at least one file can be brought to disk.
func noneStaged(files []tapeapi.Locality) error {
	var failed failures
	for _, l := range files {
		if l.Error == "" {
			return nil
		}
		// The request has texts alone; these commands show the reasons.
		remedy := "see what is there: hemera ls -l " + path.Dir(l.Path)
		if l.OnTape {
			remedy = "hemera tape why " + l.Path + " says what helps"
		}
		failed.add(l.Path, errs.New(errs.Internal, "hemera.Stage", l.Path, plainly(l)).WithRemedy(remedy))
	}
	return failed.together("stage")
}

// failures are the paths at which a command failed, in the order in which they were typed. A command continues after a
// failure: users name a hundred files at once, and repeat the command for the few that failed.
type failures []struct {
	path string // the path that the manager uses, or else the typed one
	err  error  // with its remedy
}

// add adds a path and its error. It does nothing if err is nil.
func (f *failures) add(path string, err error) {
	if err != nil {
		*f = append(*f, struct {
			path string
			err  error
		}{path, err})
	}
}

// together joins the errors into one: a line with the reason for each path, and each remedy once. The kind is that of the
// first. It returns nil if there are none.
func (f failures) together(verb string) error {
	switch len(f) {
	case 0:
		return nil
	// A single error keeps the trace of its request.
	case 1:
		return f[0].err
	}
	var lines, remedies []string
	for _, one := range f {
		lines = append(lines, verb+" "+one.path+": "+errs.Reason(one.err, one.path))
		if remedy := errs.RemedyOf(one.err); remedy != "" && !slices.Contains(remedies, remedy) {
			remedies = append(remedies, remedy)
		}
	}
	// The text of an error begins with its path, so the first line leaves it out. Remedies are below each other, after
	// "what to do: ".
	text := strings.TrimPrefix(strings.Join(lines, "\n"), verb+" "+f[0].path+": ")
	return errs.New(errs.KindOf(f[0].err), verb, f[0].path, text).WithRemedy(strings.Join(remedies, "\n              "))
}

// plainly returns the error of a file without the manager's names of operations and without the path.
func plainly(l tapeapi.Locality) string {
	if l.Error == "" {
		return ""
	}
	return errs.Reason(errors.New(l.Error), l.Path)
}

// localityRecord returns the state of a file, on disk or tape, as a record.
func localityRecord(l tapeapi.Locality, id string) output.Record {
	return output.Record{
		{Key: "path", Value: l.Path}, {Key: "online", Value: l.OnDisk}, {Key: "on_tape", Value: l.OnTape}, {Key: "requested", Value: l.Requested},
		{Key: "request_id", Value: id}, {Key: "why", Value: l.Why}, {Key: "error_text", Value: plainly(l)},
	}
}

// localityColumns returns the table of stage.
func localityColumns() []output.Column {
	return []output.Column{{Title: "path", Key: "path"}, {Title: "on disk", Key: "online"}, {Title: "on tape", Key: "on_tape"},
		{Title: "requested", Key: "requested"}, {Title: "why", Key: "why"}, {Title: "error", Key: "error_text"}}
}

// releaseCommand makes `hemera tape release`. A file is released even if its copies on disk stay.
func releaseCommand(e *cli.Env) *cobra.Command {
	var request string
	c := onEach(e, &cobra.Command{
		Use: "release [path…]", Short: "Say that staged files are not needed on disk any more", ValidArgsFunction: complete.Paths(e),
		Long: `Each request that staged a file keeps it on disk until it is released, for two weeks at most. A release
takes one request of yours: the oldest, or that of --request. Requests of others stay (an admin's release
takes those, too). With the last one the disk copies go, once all tape copies are there and were read back.
"xrdfs HOST prepare -e" is the same.`,
		Example: `  hemera tape stage /exp/run1/data.root          prints the id of the request
  hemera tape release /exp/run1/data.root
  hemera tape release -r /exp/run1
  hemera tape release --request d7b612a864d81aa9:1795490775 /exp/run1/data.root`,
	}, func(ctx context.Context, m *admin.Client, path string) (did, error) {
		each, err := m.Staging.Release(ctx, hemera.Identity{}, request, []string{path})
		if err == nil && len(each) == 1 {
			err = each[0]
		}
		return did{said: "released"}, err
	})
	c.Flags().StringVar(&request, "request", "", "the request that is done with the files: its `id`")
	return c
}

// evictCommand makes `hemera tape evict`, for admins. Users release the files that they staged; a file is evicted when
// all its users have released it.
func evictCommand(e *cli.Env) *cobra.Command {
	return onEach(e, &cobra.Command{
		Use: "evict [path…]", Short: "Remove the disk copies of files that are on tape", ValidArgsFunction: complete.Paths(e),
		Long: `Removes the disk copies of files whose tape copies are all there, also while requests still use them. It refuses a
file that lacks a copy its class asks for. An empty file has no disk copies, and needs none on tape.`,
		Example: `  hemera tape evict /exp/run1/data.root
  hemera tape evict -r /exp/run1
  hemera find /exp -f --name '*.raw' | hemera tape evict --from -`,
	}, func(ctx context.Context, m *admin.Client, path string) (did, error) {
		freed, err := m.Staging.Evict(ctx, hemera.Identity{}, path)
		if freed == 0 {
			return did{said: "nothing of it is on disks"}, err
		}
		return did{freed: freed, said: "its disk copies are removed, " + output.Bytes(freed)}, err
	})
}

// archiveCommand makes `hemera tape archive`. The default class exists in a new system.
func archiveCommand(e *cli.Env) *cobra.Command {
	class := tapeconfig.DefaultName
	c := onEach(e, &cobra.Command{
		Use: "archive [path…]", Short: "Write files to tape that their directory does not ask for", ValidArgsFunction: complete.Paths(e),
		Long: `Queues files for the copies of a storage class. Files that are archived already, or wait for it, need
no command: those below a directory with sys.archive.storage_class are queued when they are closed.
An empty file is archived at once, and nothing of it is written to tape.`,
		Example: `  hemera tape archive --class default /exp/old/data.root
  hemera tape archive -r /exp/old`,
	}, func(ctx context.Context, m *admin.Client, path string) (did, error) {
		copies, err := m.Staging.ArchiveNow(ctx, hemera.Identity{}, path, class)
		switch copies {
		case 0:
			return did{said: "archived; it is empty, so nothing is written to tape"}, err
		case 1:
			return did{copies: 1, said: "1 copy is queued for tape"}, err
		}
		return did{copies: copies, said: fmt.Sprintf("%d copies are queued for tape", copies)}, err
	})
	c.Flags().StringVar(&class, "class", class, "storage `class`")
	return c
}

// helped adds a remedy to an error about a path, if it has none.
func helped(err error, at string) error {
	if err == nil || errs.RemedyOf(err) != "" {
		return err
	}
	// The kind decides, because the text is for people. For other kinds, such as Denied, no command helps.
	kind := errs.KindOf(err)
	remedy := map[errs.Kind]string{
		errs.NotFound:    "see what is there: hemera ls -l " + path.Dir(at),
		errs.IsDirectory: "name the files of the directory: hemera find " + at + " -f lists them",
	}[kind]
	if remedy == "" {
		return err
	}
	var e *errs.Error
	if !errors.As(err, &e) {
		return err
	}
	return e.WithRemedy(remedy)
}
