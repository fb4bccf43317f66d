package admin

import (
	"context"
	"encoding/json"

	"hemera/words/adminapi"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Verbs for tapes have two groups. Verbs about the whole tier are for admins. Verbs about single files are for users: the
// service checks each path with the identity of the caller.

// serveTape serves the verbs of admins.
func serveTape(d *door) {
	unary(d, "TapeConfig", true, func(ctx context.Context, _ hemera.Identity, _ *adminapi.None) (json.RawMessage, error) {
		t, err := part(d.Tape, "tapes")
		if err != nil {
			return nil, err
		}
		return t.TapeConfig(ctx)
	})
	// The change is durable when the verb answers.
	unary(d, "TapeChange", true, func(ctx context.Context, who hemera.Identity, r *adminapi.TapeChange) (adminapi.None, error) {
		t, err := part(d.Tape, "tapes")
		if err != nil {
			return adminapi.None{}, err
		}
		// The values have no secrets: encryption keys appear by name; see serveTapeKeys.
		d.audit(ctx, who, "TapeChange", r)
		return adminapi.None{}, t.ChangeTape(ctx, who.Name, *r)
	})
	// All tapes, thousands at most.
	unary(d, "Tapes", true, func(ctx context.Context, _ hemera.Identity, _ *adminapi.None) ([]tapeapi.Tape, error) {
		t, err := part(d.Tape, "tapes")
		if err != nil {
			return nil, err
		}
		return t.Tapes(ctx)
	})
	// One page; a caller continues after its last fSeq.
	unary(d, "TapeFiles", true, func(ctx context.Context, _ hemera.Identity, r *adminapi.TapeFilesRequest) ([]tapeapi.File, error) {
		t, err := part(d.Tape, "tapes")
		if err != nil {
			return nil, err
		}
		return t.TapeFiles(ctx, r.VID, r.After, r.Dead)
	})
	// Drives, queues and attention, read at one moment.
	unary(d, "TapePicture", true, func(ctx context.Context, _ hemera.Identity, _ *adminapi.None) (adminapi.TapePicture, error) {
		t, err := part(d.Tape, "tapes")
		if err != nil {
			return adminapi.TapePicture{}, err
		}
		return t.TapePicture(ctx)
	})
	// One session that the picture lists, with its samples.
	unary(d, "TapeSession", true, func(ctx context.Context, _ hemera.Identity, r *adminapi.SessionRef) (tapeapi.Session, error) {
		s, err := part(d.Sessions, "tapes")
		if err != nil {
			return tapeapi.Session{}, err
		}
		return s.TapeSession(ctx, r.Mount)
	})
	// At most 1000 jobs.
	unary(d, "TapeJobs", true, func(ctx context.Context, _ hemera.Identity, r *adminapi.TapeJobQuery) ([]tapeapi.Work, error) {
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
	// The work has started when the verb answers, and continues by itself.
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

// serveStaging serves the verbs of users for files on tape. The service checks the caller.
func serveStaging(d *door) {
	// The request is durable when the verb answers; the files arrive later.
	unary(d, "Stage", false, func(ctx context.Context, who hemera.Identity, r *tapeapi.StageRequest) (adminapi.StageRef, error) {
		s, err := part(d.Staging, "tapes")
		if err != nil {
			return adminapi.StageRef{}, err
		}
		id, err := s.Stage(ctx, who, *r)
		return adminapi.StageRef{ID: id}, err
	})
	// The state is read from the files, so it is current.
	unary(d, "StageStatus", false, func(ctx context.Context, who hemera.Identity, r *adminapi.StageRef) (tapeapi.StageStatus, error) {
		s, err := part(d.Staging, "tapes")
		if err != nil {
			return tapeapi.StageStatus{}, err
		}
		return s.StageStatus(ctx, who, r.ID)
	})
	// Only admins get the requests of all users; the service checks that.
	unary(d, "Stages", false, func(ctx context.Context, who hemera.Identity, r *adminapi.StagesRequest) ([]tapeapi.StageSummary, error) {
		s, err := part(d.Staging, "tapes")
		if err != nil {
			return nil, err
		}
		return s.Stages(ctx, who, r.All)
	})
	// A file that is being recalled may still arrive.
	unary(d, "CancelStage", false, func(ctx context.Context, who hemera.Identity, r *adminapi.CancelStageRequest) (adminapi.None, error) {
		s, err := part(d.Staging, "tapes")
		if err != nil {
			return adminapi.None{}, err
		}
		return adminapi.None{}, s.CancelStage(ctx, who, r.ID, r.Paths, r.Forget)
	})
	// Each path is handled alone: one failure does not affect the others.
	unary(d, "Release", false, func(ctx context.Context, who hemera.Identity, r *adminapi.PathsRequest) ([]string, error) {
		s, err := part(d.Staging, "tapes")
		if err != nil {
			return nil, err
		}
		failures, err := s.Release(ctx, who, r.ID, r.Paths)
		// One text for each path; "" for success.
		texts := make([]string, len(failures))
		for i, f := range failures {
			if f != nil {
				texts[i] = f.Error()
			}
		}
		return texts, err
	})
	// In the order of the paths.
	unary(d, "Localities", false, func(ctx context.Context, who hemera.Identity, r *adminapi.PathsRequest) ([]tapeapi.Locality, error) {
		s, err := part(d.Staging, "tapes")
		if err != nil {
			return nil, err
		}
		return s.Localities(ctx, who, r.ID, r.Paths)
	})
	// The files are queued when the verb answers.
	unary(d, "Archive", false, func(ctx context.Context, who hemera.Identity, r *adminapi.ArchiveRequest) (adminapi.Archived, error) {
		s, err := part(d.Staging, "tapes")
		if err != nil {
			return adminapi.Archived{}, err
		}
		copies, err := s.ArchiveNow(ctx, who, r.Path, r.Class)
		return adminapi.Archived{Copies: copies}, err
	})
	// The disks remove the copies soon after the answer.
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
