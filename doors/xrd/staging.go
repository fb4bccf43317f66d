package xrd

import (
	"context"
	"time"

	"hemera"
	"hemera/doors/xrd/translate"
	"hemera/errs"
	"hemera/rules/wire"
)

// What prepare requests do where there is tape. Each is one call of hemera.Staging; what the protocol cannot say of single
// files is in the answer to `query prepare`.

// tape serves a prepare that stages, evicts or cancels. lenient clients want no error because of single paths.
func (p *prepareHandlers) tape(r *request, action translate.PrepareAction, lines []string, lenient bool) error {
	who := r.who()
	return runInline(r, func() ([]byte, error) {
		switch action {
		case translate.PrepareCancel:
			return nil, p.cancel(r.context(), who, lines)
		case translate.PrepareEvict:
			return nil, p.evict(r.context(), who, lines, lenient)
		}
		return p.stage(r, who, lines, lenient)
	})
}

// stage makes a request, and answers with its id. Paths that cannot be staged are in the request with their error, but a
// request without a single file fails with the error of the first: most clients ask for one file and never look again.
func (p *prepareHandlers) stage(r *request, who hemera.Identity, lines []string, lenient bool) ([]byte, error) {
	ask := hemera.StageRequest{Files: make([]hemera.StageFile, len(lines))}
	for i, line := range lines {
		f, err := translate.StageFile(line)
		if err != nil { // a path that no file can have
			return nil, err
		}
		ask.Files[i] = f
	}
	var first error
	for _, line := range lines {
		err := p.exists(r, line)
		if err == nil {
			first = nil
			break
		}
		if first == nil {
			first = err
		}
	}
	if first != nil && !lenient {
		return nil, first
	}
	id, err := p.staging.Stage(r.context(), who, ask)
	return []byte(id + "\x00"), err
}

// cancel withdraws a request, whose id is the first line, or the paths after it.
func (p *prepareHandlers) cancel(ctx context.Context, who hemera.Identity, lines []string) error {
	paths, err := cleanPaths(lines[1:])
	if err != nil {
		return err
	}
	err = p.staging.CancelStage(ctx, who, lines[0], paths, false)
	if errs.KindOf(err) == errs.NotFound { // clients take "not found" for a missing file
		return errs.As(err, errs.Invalid, "xrd.Prepare", lines[0])
	}
	return err
}

// evict releases files. It fails with the first path that could not be released, after all have been tried.
func (p *prepareHandlers) evict(ctx context.Context, who hemera.Identity, lines []string, lenient bool) error {
	paths, err := cleanPaths(lines)
	if err != nil {
		return err
	}
	each, err := p.staging.Release(ctx, who, paths)
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

// cleanPaths are the paths of lines, without what follows them.
func cleanPaths(lines []string) ([]string, error) {
	var paths []string
	for _, line := range lines {
		f, err := translate.StageFile(line)
		if err != nil {
			return nil, err
		}
		paths = append(paths, f.Path)
	}
	return paths, nil
}

// queryTape answers about the paths of a request, or about all of its files if there are none.
func (p *prepareHandlers) queryTape(r *request, id string, lines []string) error {
	who := r.who()
	return runInline(r, func() ([]byte, error) {
		var list []translate.PrepareState
		if len(lines) == 0 {
			s, err := p.staging.StageStatus(r.context(), who, id)
			if err != nil {
				return nil, err
			}
			for _, l := range s.Files {
				list = append(list, translate.StateOf(l))
			}
		} else {
			var err error
			if list, err = p.localities(r.context(), who, id, lines); err != nil {
				return nil, err
			}
		}
		text, err := translate.PrepareAnswer(id, list)
		return []byte(text + "\x00"), err
	})
}

// localities asks where the paths of lines are. A line that is no path has an error of its own.
func (p *prepareHandlers) localities(ctx context.Context, who hemera.Identity, id string, lines []string) ([]translate.PrepareState, error) {
	list := make([]translate.PrepareState, len(lines))
	var paths []string
	var at []int // which line each of paths is
	for i, line := range lines {
		raw, _ := wire.SplitPath([]byte(line))
		list[i].Path = raw
		f, err := translate.StageFile(line)
		if err != nil {
			list[i].Error = errs.Plain(err.Error())
			continue
		}
		paths, at = append(paths, f.Path), append(at, i)
	}
	found, err := p.staging.Localities(ctx, who, id, paths)
	if err != nil {
		return nil, err
	}
	for n, l := range found[:min(len(found), len(at))] {
		raw := list[at[n]].Path
		list[at[n]] = translate.StateOf(l)
		list[at[n]].Path = raw // as the client wrote it, which it compares
	}
	return list, nil
}

// awaitRecall is the outcome of an open that failed because the file is being recalled from tape, which is what Unavailable
// means for a file that is evicted; nil for other failures. It asks the client to open again later, or is the failure itself
// for a client that does not want to wait. It does not count how often a client comes back: the recall ends, and clients have
// a limit of their own (stock ones wait for 30 minutes).
func (m *managerOpens) awaitRecall(r *request, path string, failed error) error {
	if m.staging == nil || errs.KindOf(failed) != errs.Unavailable {
		return nil
	}
	e, err := m.names.Stat(r.context(), r.who(), path)
	if err != nil || !e.Evicted() {
		return nil
	}
	if r.ID == wire.ReqOpen && wire.DecodeOpen(r.Body).Options&wire.OpenNoWait != 0 {
		return failed
	}
	var where hemera.Locality
	if at, err := m.staging.Localities(r.context(), r.who(), "", []string{path}); err == nil && len(at) == 1 {
		where = at[0]
	}
	return &waitFor{Seconds: translate.RecallWait(where, time.Now()), Text: failed.Error()}
}
