package prepare

import (
	"context"

	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Query answers `query prepare`: the first line is the id of a request, the others are paths. Without paths the answer
// has all files of the request. A path that cannot be looked at has an error of its own, and the others are answered.
func (s *Service) Query(ctx context.Context, who hemera.Identity, lines []string) (string, error) {
	id, paths := lines[0], lines[1:]
	// The id is not checked: the state of a path may be seen by every user with access to the path.
	var list []State
	var err error
	switch {
	case s.staging == nil:
		list = s.withoutTape(ctx, who, id, paths)
	case len(paths) == 0:
		var all tapeapi.StageStatus
		all, err = s.staging.StageStatus(ctx, who, id)
		for _, l := range all.Files {
			list = append(list, stateOf(l))
		}
	default: // also for an unknown request: then has_reqid is false for each path
		list, err = s.localities(ctx, who, id, paths)
	}
	if err != nil {
		return "", err
	}
	return answer(id, list)
}

// withoutTape answers without tape: all existing files are online.
func (s *Service) withoutTape(ctx context.Context, who hemera.Identity, id string, lines []string) (list []State) {
	hasID := s.known.has(id)
	for _, line := range lines {
		raw, _ := wire.SplitPath([]byte(line))
		f, err := fileOf(line)
		var e hemera.Entry
		if err == nil {
			e, err = s.names.Stat(ctx, who, f.Path)
		}
		// Denied looks like missing here; error_text tells the difference.
		state := State{Path: raw, HasReqID: hasID, Exists: err == nil, Online: err == nil && !e.IsDir()}
		if err == nil && e.IsDir() {
			err = errs.New(errs.IsDirectory, "xrd.Prepare", raw, "")
		}
		if err != nil {
			state.Error = errs.KindOf(err).String()
		}
		list = append(list, state)
	}
	return list
}

// localities gets the localities of the paths of lines. The answer has them in the order of the lines, because clients
// match them by position or by path. Lines that are not paths get an error.
func (s *Service) localities(ctx context.Context, who hemera.Identity, id string, lines []string) ([]State, error) {
	list := make([]State, len(lines))
	var paths []string
	var at []int // of each path, the number of its line
	for i, line := range lines {
		list[i].Path, _ = wire.SplitPath([]byte(line))
		f, err := fileOf(line)
		if err != nil {
			list[i].Error = errs.Plain(err.Error())
			continue
		}
		paths, at = append(paths, f.Path), append(at, i)
	}
	found, err := s.staging.Localities(ctx, who, id, paths)
	if err != nil {
		return nil, err
	}
	for n, l := range found[:min(len(found), len(at))] {
		l.Path = list[at[n]].Path // as the client wrote it, because the client compares it
		list[at[n]] = stateOf(l)
	}
	return list, nil
}
