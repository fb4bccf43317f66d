package prepare

import (
	"context"
	"time"

	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Service serves prepare requests of all clients of a manager's door. It is safe for concurrent use.
type Service struct {
	names   hemera.Names
	staging tapeapi.Staging // nil: there is no tape
	known   known           // used without staging
}

// New makes a service. staging may be nil.
func New(names hemera.Names, staging tapeapi.Staging) *Service {
	return &Service{names: names, staging: staging}
}

// action is the action of a kXR_prepare.
type action uint8

const (
	check  action = iota // test whether the files exist
	stage                // bring files from tape to disk
	cancel               // withdraw files from a request, or the whole request
	evict                // the files are no longer needed on disk
)

// actionOf returns the action for the options of a prepare. If a client sets several bits, cancel precedes evict, and
// evict precedes stage, so that the least data moves. Priority, colocation, fresh and write mode have no effect: the
// mount policy decides the priority, and the others are for disk caches.
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

// fileOf parses one line: a path, with the activity in its opaque part if there is one.
func fileOf(line string) (tapeapi.StageFile, error) {
	raw, opaque := wire.SplitPath([]byte(line))
	path, err := wire.CleanPath(raw)
	return tapeapi.StageFile{Path: path, Activity: opaque.Value("activity")}, err
}

// Do carries out a prepare with at least one line. It returns the id of a stage request, and "" otherwise. With noerrs,
// clients get failures of single paths by `query prepare` only. It fails with Invalid for an unknown id, or an id without
// a path to cancel.
func (s *Service) Do(ctx context.Context, who hemera.Identity, p wire.Prepare, lines []string) (string, error) {
	lenient := p.Options&wire.PrepareNoErrs != 0 // failures of single paths do not fail the request
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

// check fails with the error of the first path that does not exist for the client. Lenient requests may have paths that
// do not exist yet.
func (s *Service) check(ctx context.Context, who hemera.Identity, lines []string, lenient bool) error {
	for _, line := range lines {
		if err := s.exists(ctx, who, line); err != nil && !lenient {
			return err
		}
	}
	return nil
}

// exists fails if the path of a line does not exist for the client, with NotFound or Denied. It ignores the opaque part
// of the line.
func (s *Service) exists(ctx context.Context, who hemera.Identity, line string) error {
	f, err := fileOf(line)
	if err == nil {
		_, err = s.names.Stat(ctx, who, f.Path)
	}
	return err
}

// stage makes a stage request. Paths that cannot be staged are part of the request with their error. But a request
// without any file fails with the error of the first path: most clients name one file and do not ask later.
func (s *Service) stage(ctx context.Context, who hemera.Identity, lines []string, lenient bool) (string, error) {
	ask := tapeapi.StageRequest{Files: make([]tapeapi.StageFile, len(lines))}
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
	// Without tape every path must exist, because the error of a single path is not stored.
	if s.staging == nil {
		if err := s.check(ctx, who, lines, lenient); err != nil {
			return "", err
		}
		return s.known.add(), nil
	}
	return s.staging.Stage(ctx, who, ask)
}

// anyFile fails with the error of the first path if none is that of a file. It stops at the first file.
func (s *Service) anyFile(ctx context.Context, who hemera.Identity, files []tapeapi.StageFile) (first error) {
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

// cancel withdraws the request whose id is the first line, or only the paths after it. The request stays, so that clients
// can still ask about it.
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

// evict releases files. It tries all paths, and then fails with the error of the first that could not be released.
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

// pathsOf returns the paths of lines without their opaque parts. One wrong path fails the whole request before it has an
// effect, because the client could not learn which path was wrong.
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
// seconds the client opens again. For an evicted file Unavailable means that.
func (s *Service) Recalling(ctx context.Context, who hemera.Identity, path string, failed error) (after int32, recalling bool) {
	if s.staging == nil || errs.KindOf(failed) != errs.Unavailable {
		return 0, false
	}
	e, err := s.names.Stat(ctx, who, path)
	if err != nil || !e.Evicted() {
		return 0, false
	}
	var where tapeapi.Locality
	at, err := s.staging.Localities(ctx, who, "", []string{path})
	if err == nil && len(at) == 1 { // otherwise there is no estimate
		where = at[0]
	}
	return recallWait(where, time.Now()), true
}
