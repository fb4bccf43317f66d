package admin

import (
	"context"
	"encoding/json"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// Verbs for tapes are in two groups. What concerns the tier as a whole is
// for admins. What concerns single files is for users: the service looks
// each path up as the user who asks, and refuses what that user may not do.

// serveTape serves what admins see and change of tapes.
func serveTape(d *door) {
	// As it is stored: tens of objects.
	unary(d, "TapeConfig", true, func(ctx context.Context, _ hemera.Identity, _ *adminapi.None) (json.RawMessage, error) {
		t, err := part(d.Tape, "tapes")
		if err != nil {
			return nil, err
		}
		return t.TapeConfig(ctx)
	})
	// One object, durable when it is answered.
	unary(d, "TapeChange", true, func(ctx context.Context, who hemera.Identity, r *adminapi.TapeChange) (adminapi.None, error) {
		t, err := part(d.Tape, "tapes")
		if err != nil {
			return adminapi.None{}, err
		}
		// The values have no secrets: keys of encryption are named, not shown; see serveTapeKeys.
		d.audit(ctx, who, "TapeChange", r)
		return adminapi.None{}, t.ChangeTape(ctx, who.Name, *r)
	})
	// All of them: thousands at most, a record each.
	unary(d, "Tapes", true, func(ctx context.Context, _ hemera.Identity, _ *adminapi.None) ([]hemera.Tape, error) {
		t, err := part(d.Tape, "tapes")
		if err != nil {
			return nil, err
		}
		return t.Tapes(ctx)
	})
	// A page; callers go on behind its last fSeq.
	unary(d, "TapeFiles", true, func(ctx context.Context, _ hemera.Identity, r *adminapi.TapeFilesRequest) ([]hemera.TapeFile, error) {
		t, err := part(d.Tape, "tapes")
		if err != nil {
			return nil, err
		}
		return t.TapeFiles(ctx, r.VID, r.After, r.Dead)
	})
	// Drives, queues and what needs a person, of one moment.
	unary(d, "TapePicture", true, func(ctx context.Context, _ hemera.Identity, _ *adminapi.None) (adminapi.TapePicture, error) {
		t, err := part(d.Tape, "tapes")
		if err != nil {
			return adminapi.TapePicture{}, err
		}
		return t.TapePicture(ctx)
	})
	// One of those that the picture lists, with its course.
	unary(d, "TapeSession", true, func(ctx context.Context, _ hemera.Identity, r *adminapi.SessionRef) (hemera.TapeSession, error) {
		s, err := part(d.Sessions, "tapes")
		if err != nil {
			return hemera.TapeSession{}, err
		}
		return s.TapeSession(ctx, r.Mount)
	})
	// At most 1000.
	unary(d, "TapeJobs", true, func(ctx context.Context, _ hemera.Identity, r *adminapi.TapeJobQuery) ([]hemera.TapeWork, error) {
		t, err := part(d.Tape, "tapes")
		if err != nil {
			return nil, err
		}
		return t.TapeJobList(ctx, *r)
	})
	// Sentences for people; their wording may change.
	unary(d, "TapeExplain", true, func(ctx context.Context, _ hemera.Identity, r *adminapi.Subject) ([]string, error) {
		t, err := part(d.Tape, "tapes")
		if err != nil {
			return nil, err
		}
		return t.ExplainTape(ctx, r.Subject)
	})
	// It is begun when it is answered, and goes on by itself.
	unary(d, "TapeOrder", true, func(ctx context.Context, who hemera.Identity, r *adminapi.TapeOrder) (adminapi.Said, error) {
		t, err := part(d.Tape, "tapes")
		if err != nil {
			return adminapi.Said{}, err
		}
		d.audit(ctx, who, "TapeOrder", r)
		text, err := t.OrderTape(ctx, who.Name, *r)
		return adminapi.Said{Text: text}, err
	})
}

// serveStaging serves what users do with files that are on tape: the
// service looks at who asks.
func serveStaging(d *door) {
	// Remembered when it is answered; files come later.
	unary(d, "Stage", false, func(ctx context.Context, who hemera.Identity, r *hemera.StageRequest) (adminapi.StageRef, error) {
		s, err := part(d.Staging, "tapes")
		if err != nil {
			return adminapi.StageRef{}, err
		}
		id, err := s.Stage(ctx, who, *r)
		return adminapi.StageRef{ID: id}, err
	})
	// Read from the files, so it is never older than they are.
	unary(d, "StageStatus", false, func(ctx context.Context, who hemera.Identity, r *adminapi.StageRef) (hemera.StageStatus, error) {
		s, err := part(d.Staging, "tapes")
		if err != nil {
			return hemera.StageStatus{}, err
		}
		return s.StageStatus(ctx, who, r.ID)
	})
	// Those of all users are for admins: the service looks at who asks.
	unary(d, "Stages", false, func(ctx context.Context, who hemera.Identity, r *adminapi.StagesRequest) ([]hemera.StageSummary, error) {
		s, err := part(d.Staging, "tapes")
		if err != nil {
			return nil, err
		}
		return s.Stages(ctx, who, r.All)
	})
	// What is on its way already may still arrive.
	unary(d, "CancelStage", false, func(ctx context.Context, who hemera.Identity, r *adminapi.CancelStageRequest) (adminapi.None, error) {
		s, err := part(d.Staging, "tapes")
		if err != nil {
			return adminapi.None{}, err
		}
		return adminapi.None{}, s.CancelStage(ctx, who, r.ID, r.Paths, r.Forget)
	})
	// Each path by itself: one that fails is no failure of the others.
	unary(d, "Release", false, func(ctx context.Context, who hemera.Identity, r *adminapi.PathsRequest) ([]string, error) {
		s, err := part(d.Staging, "tapes")
		if err != nil {
			return nil, err
		}
		failures, err := s.Release(ctx, who, r.ID, r.Paths)
		// One text for each path, "" where it is done.
		texts := make([]string, len(failures))
		for i, f := range failures {
			if f != nil {
				texts[i] = f.Error()
			}
		}
		return texts, err
	})
	// In the order of the paths.
	unary(d, "Localities", false, func(ctx context.Context, who hemera.Identity, r *adminapi.PathsRequest) ([]hemera.Locality, error) {
		s, err := part(d.Staging, "tapes")
		if err != nil {
			return nil, err
		}
		return s.Localities(ctx, who, r.ID, r.Paths)
	})
	// Queued when it is answered.
	unary(d, "Archive", false, func(ctx context.Context, who hemera.Identity, r *adminapi.ArchiveRequest) (adminapi.Archived, error) {
		s, err := part(d.Staging, "tapes")
		if err != nil {
			return adminapi.Archived{}, err
		}
		copies, err := s.ArchiveNow(ctx, who, r.Path, r.Class)
		return adminapi.Archived{Copies: copies}, err
	})
	// The disks remove the copies soon after.
	unary(d, "Evict", true, func(ctx context.Context, who hemera.Identity, r *adminapi.Subject) (adminapi.Evicted, error) {
		s, err := part(d.Staging, "tapes")
		if err != nil {
			return adminapi.Evicted{}, err
		}
		d.audit(ctx, who, "Evict", r)
		freed, err := s.Evict(ctx, who, r.Subject)
		return adminapi.Evicted{Freed: freed}, err
	})
}
