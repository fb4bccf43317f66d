package prepare

import (
	"context"
	"time"

	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Service answers requests of all clients of a manager's door. It is safe for concurrent use.
type Service struct {
	names   hemera.Names
	staging hemera.Staging // nil: there is no tape
	known   known          // used without staging
}

// New makes a service. staging may be nil.
func New(names hemera.Names, staging hemera.Staging) *Service {
	return &Service{names: names, staging: staging}
}

// action is what a kXR_prepare asks for.
type action uint8

const (
	check  action = iota // whether the files are there
	stage                // bring files from tape to disk
	cancel               // withdraw files from a request, or all of it
	evict                // the files are not needed on disk any more
)

// actionOf reads the options of a prepare. A client that sets several bits gets the one that moves least: cancel is before
// evict, and evict before stage. Priority, colocation, fresh and write mode change nothing: the mount policy decides about the
// first, and the others are for disk caches.
func actionOf(p wire.Prepare) action {
	switch {
	case p.Options&wire.PrepareCancel != 0:
		return cancel
	case p.OptionX&wire.PrepareEvict != 0:
		return evict
	case p.Options&wire.PrepareStage != 0:
		return stage
	}
	return check
}

// fileOf reads one line: a path, with the activity in its opaque part where the client gives one.
func fileOf(line string) (hemera.StageFile, error) {
	raw, opaque := wire.SplitPath([]byte(line))
	path, err := wire.CleanPath(raw)
	return hemera.StageFile{Path: path, Activity: opaque.Value("activity")}, err
}

// Do carries out a prepare whose payload has at least one line, and returns what the client gets: the id of a stage request,
// else nothing. Clients that set noerrs hear of failures of single paths by `query prepare` only.
// Invalid for an id that is not known, or that lacks a path to cancel.
func (s *Service) Do(ctx context.Context, who hemera.Identity, p wire.Prepare, lines []string) (string, error) {
	lenient := p.Options&wire.PrepareNoErrs != 0 // single paths are no reason to fail
	switch actionOf(p) {
	case cancel:
		return "", s.cancel(ctx, who, lines)
	case stage:
		return s.stage(ctx, who, lines, lenient)
	case evict:
		if s.staging != nil {
			return "", s.evict(ctx, who, lines, lenient)
		}
	}
	return "", s.check(ctx, who, lines, lenient)
}

// check fails with the first path that is not there for the client. Lenient clients may ask for paths that do not exist yet.
func (s *Service) check(ctx context.Context, who hemera.Identity, lines []string, lenient bool) error {
	for _, line := range lines {
		if err := s.exists(ctx, who, line); err != nil && !lenient {
			return err
		}
	}
	return nil
}

// exists fails if the path of a line is not there for the client: NotFound, or Denied, which the client sees as it is.
// What is behind the question mark of a line does not matter here.
func (s *Service) exists(ctx context.Context, who hemera.Identity, line string) error {
	f, err := fileOf(line)
	if err == nil {
		_, err = s.names.Stat(ctx, who, f.Path)
	}
	return err
}

// stage makes a request. Paths that cannot be staged are in the request with their error, but a request without a single file
// fails with the error of the first: most clients ask for one file and never look again.
func (s *Service) stage(ctx context.Context, who hemera.Identity, lines []string, lenient bool) (string, error) {
	ask := hemera.StageRequest{Files: make([]hemera.StageFile, len(lines))}
	for i, line := range lines {
		f, err := fileOf(line)
		if err != nil { // no file can have this path
			return "", err
		}
		ask.Files[i] = f
	}
	if !lenient {
		if err := s.anyFile(ctx, who, ask.Files); err != nil {
			return "", err
		}
	}
	// Where there is no tape each path has to be there: nobody keeps the error of one.
	if s.staging == nil {
		if err := s.check(ctx, who, lines, lenient); err != nil {
			return "", err
		}
		return s.known.add(), nil
	}
	return s.staging.Stage(ctx, who, ask)
}

// anyFile fails with the error of the first path if none is that of a file. It stops at the first file, which for most requests
// is the first of all.
func (s *Service) anyFile(ctx context.Context, who hemera.Identity, files []hemera.StageFile) (first error) {
	for _, f := range files {
		e, err := s.names.Stat(ctx, who, f.Path)
		if err == nil && e.IsDir() {
			err = errs.New(errs.IsDirectory, "xrd.Prepare", f.Path, "only files are brought to disk").WithRemedy("name the files of the directory")
		}
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// cancel withdraws a request, whose id is the first line, or the paths after it. The request stays, so that clients can still
// ask about it.
func (s *Service) cancel(ctx context.Context, who hemera.Identity, lines []string) error {
	id := lines[0]
	if s.staging == nil {
		if !s.known.remove(id) {
			return errs.New(errs.Invalid, "xrd.Prepare", id, "no such prepare request")
		}
		return nil
	}
	paths, err := pathsOf(lines[1:])
	if err != nil {
		return err
	}
	err = s.staging.CancelStage(ctx, who, id, paths, false)
	if errs.KindOf(err) == errs.NotFound { // clients take "not found" for a missing file
		return errs.As(err, errs.Invalid, "xrd.Cancel", "")
	}
	return err
}

// evict releases files. It fails with the first path that could not be released, after all have been tried.
func (s *Service) evict(ctx context.Context, who hemera.Identity, lines []string, lenient bool) error {
	paths, err := pathsOf(lines)
	if err != nil {
		return err
	}
	each, err := s.staging.Release(ctx, who, "", paths)
	if err != nil || lenient {
		return err
	}
	for _, err := range each {
		if err != nil {
			return err
		}
	}
	return nil
}

// pathsOf are the paths of lines, without what follows them. One path that is none refuses them all, before anything is done:
// clients would not learn which it was.
func pathsOf(lines []string) ([]string, error) {
	var paths []string
	for _, line := range lines {
		f, err := fileOf(line)
		if err != nil {
			return nil, err
		}
		paths = append(paths, f.Path)
	}
	return paths, nil
}

// Recalling reports whether an open of the path failed because the file is being recalled from tape, and after how many
// seconds the client is to ask again. It is what Unavailable means for a file that is evicted.
func (s *Service) Recalling(ctx context.Context, who hemera.Identity, path string, failed error) (after int32, recalling bool) {
	if s.staging == nil || errs.KindOf(failed) != errs.Unavailable {
		return 0, false
	}
	e, err := s.names.Stat(ctx, who, path)
	if err != nil || !e.Evicted() {
		return 0, false
	}
	var where hemera.Locality
	at, err := s.staging.Localities(ctx, who, "", []string{path})
	if err == nil && len(at) == 1 { // otherwise nothing is known of when it will be there
		where = at[0]
	}
	return recallWait(where, time.Now()), true
}
