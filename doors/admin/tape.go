package admin

import (
	"context"
	"encoding/json"

	"hemera"
)

// The requests and answers of the verbs for tapes, where package hemera has no type for them.
type (
	tapeFilesPage struct {
		VID   string
		After uint64 // the page begins behind this fSeq
		Dead  bool   // with files that were removed from the tree
	}
	subject  struct{ Subject string } // a path, or a name of something
	said     struct{ Text string }
	stageRef struct{ ID string }
	// stageCancel withdraws paths from a request; none are all of it.
	stageCancel struct {
		ID     string
		Paths  []string
		Forget bool
	}
	pathList struct {
		ID    string // of a request, or ""
		Paths []string
	}
	archiveFile struct{ Path, Class string }
)

// serveTape serves what admins see and change of tapes.
func serveTape(d *door) {
	unary(d, "TapeConfig", true, func(ctx context.Context, _ hemera.Identity, _ *none) (json.RawMessage, error) {
		t, err := part(d.Tape, "tapes")
		if err != nil {
			return nil, err
		}
		return t.TapeConfig(ctx)
	})
	unary(d, "TapeChange", true, func(ctx context.Context, who hemera.Identity, r *hemera.TapeChange) (none, error) {
		t, err := part(d.Tape, "tapes")
		if err != nil {
			return none{}, err
		}
		d.audit(ctx, who, "TapeChange", r)
		return none{}, t.ChangeTape(ctx, who.Name, *r)
	})
	unary(d, "Tapes", true, func(ctx context.Context, _ hemera.Identity, _ *none) ([]hemera.Tape, error) {
		t, err := part(d.Tape, "tapes")
		if err != nil {
			return nil, err
		}
		return t.Tapes(ctx)
	})
	unary(d, "TapeFiles", true, func(ctx context.Context, _ hemera.Identity, r *tapeFilesPage) ([]hemera.TapeFile, error) {
		t, err := part(d.Tape, "tapes")
		if err != nil {
			return nil, err
		}
		return t.TapeFiles(ctx, r.VID, r.After, r.Dead)
	})
	unary(d, "TapePicture", true, func(ctx context.Context, _ hemera.Identity, _ *none) (hemera.TapePicture, error) {
		t, err := part(d.Tape, "tapes")
		if err != nil {
			return hemera.TapePicture{}, err
		}
		return t.TapePicture(ctx)
	})
	unary(d, "TapeJobs", true, func(ctx context.Context, _ hemera.Identity, r *hemera.TapeJobQuery) ([]hemera.TapeWork, error) {
		t, err := part(d.Tape, "tapes")
		if err != nil {
			return nil, err
		}
		return t.TapeJobList(ctx, *r)
	})
	unary(d, "TapeExplain", true, func(ctx context.Context, _ hemera.Identity, r *subject) ([]string, error) {
		t, err := part(d.Tape, "tapes")
		if err != nil {
			return nil, err
		}
		return t.ExplainTape(ctx, r.Subject)
	})
	unary(d, "TapeOrder", true, func(ctx context.Context, who hemera.Identity, r *hemera.TapeOrder) (said, error) {
		t, err := part(d.Tape, "tapes")
		if err != nil {
			return said{}, err
		}
		d.audit(ctx, who, "TapeOrder", r)
		text, err := t.OrderTape(ctx, who.Name, *r)
		return said{text}, err
	})
}

// serveStaging serves what users do with files that are on tape: the service looks at who asks.
func serveStaging(d *door) {
	unary(d, "Stage", false, func(ctx context.Context, who hemera.Identity, r *hemera.StageRequest) (stageRef, error) {
		s, err := part(d.Staging, "tapes")
		if err != nil {
			return stageRef{}, err
		}
		id, err := s.Stage(ctx, who, *r)
		return stageRef{id}, err
	})
	unary(d, "StageStatus", false, func(ctx context.Context, who hemera.Identity, r *stageRef) (hemera.StageStatus, error) {
		s, err := part(d.Staging, "tapes")
		if err != nil {
			return hemera.StageStatus{}, err
		}
		return s.StageStatus(ctx, who, r.ID)
	})
	unary(d, "CancelStage", false, func(ctx context.Context, who hemera.Identity, r *stageCancel) (none, error) {
		s, err := part(d.Staging, "tapes")
		if err != nil {
			return none{}, err
		}
		return none{}, s.CancelStage(ctx, who, r.ID, r.Paths, r.Forget)
	})
	unary(d, "Release", false, func(ctx context.Context, who hemera.Identity, r *pathList) ([]string, error) {
		s, err := part(d.Staging, "tapes")
		if err != nil {
			return nil, err
		}
		failures, err := s.Release(ctx, who, r.Paths)
		// One text for each path, "" where it is done.
		texts := make([]string, len(failures))
		for i, f := range failures {
			if f != nil {
				texts[i] = f.Error()
			}
		}
		return texts, err
	})
	unary(d, "Localities", false, func(ctx context.Context, who hemera.Identity, r *pathList) ([]hemera.Locality, error) {
		s, err := part(d.Staging, "tapes")
		if err != nil {
			return nil, err
		}
		return s.Localities(ctx, who, r.ID, r.Paths)
	})
	unary(d, "Archive", false, func(ctx context.Context, who hemera.Identity, r *archiveFile) (none, error) {
		s, err := part(d.Staging, "tapes")
		if err != nil {
			return none{}, err
		}
		return none{}, s.ArchiveNow(ctx, who, r.Path, r.Class)
	})
	unary(d, "Evict", true, func(ctx context.Context, who hemera.Identity, r *subject) (none, error) {
		s, err := part(d.Staging, "tapes")
		if err != nil {
			return none{}, err
		}
		d.audit(ctx, who, "Evict", r)
		return none{}, s.Evict(ctx, who, r.Subject)
	})
}
