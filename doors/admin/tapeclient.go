package admin

import (
	"context"
	"encoding/json"
	"errors"

	"hemera/words/hemera"
)

// tapeClient is the part of a [Client] that asks about tapes. It implements
// hemera.TapeAdmin and hemera.Staging. The server finds out by itself who
// asks, so identities are not sent.
type tapeClient struct{ server *server }

// TapeConfig implements hemera.TapeAdmin.
func (c tapeClient) TapeConfig(ctx context.Context) ([]byte, error) {
	raw, err := call[json.RawMessage](ctx, c.server, "TapeConfig", none{})
	return raw, err
}

// ChangeTape implements hemera.TapeAdmin.
func (c tapeClient) ChangeTape(ctx context.Context, _ string, r hemera.TapeChange) error {
	return c.server.do(ctx, "TapeChange", r)
}

// Tapes implements hemera.TapeAdmin.
func (c tapeClient) Tapes(ctx context.Context) ([]hemera.Tape, error) {
	return call[[]hemera.Tape](ctx, c.server, "Tapes", none{})
}

// TapeFiles implements hemera.TapeAdmin.
func (c tapeClient) TapeFiles(ctx context.Context, vid string, after uint64, dead bool) ([]hemera.TapeFile, error) {
	return call[[]hemera.TapeFile](ctx, c.server, "TapeFiles", tapeFilesPage{vid, after, dead})
}

// TapePicture implements hemera.TapeAdmin.
func (c tapeClient) TapePicture(ctx context.Context) (hemera.TapePicture, error) {
	return call[hemera.TapePicture](ctx, c.server, "TapePicture", none{})
}

// TapeSession implements hemera.TapeSessions.
func (c tapeClient) TapeSession(ctx context.Context, mount uint64) (hemera.TapeSession, error) {
	return call[hemera.TapeSession](ctx, c.server, "TapeSession", sessionRef{mount})
}

// TapeJobList implements hemera.TapeAdmin.
func (c tapeClient) TapeJobList(ctx context.Context, q hemera.TapeJobQuery) ([]hemera.TapeWork, error) {
	return call[[]hemera.TapeWork](ctx, c.server, "TapeJobs", q)
}

// ExplainTape implements hemera.TapeAdmin.
func (c tapeClient) ExplainTape(ctx context.Context, what string) ([]string, error) {
	return call[[]string](ctx, c.server, "TapeExplain", subject{what})
}

// OrderTape implements hemera.TapeAdmin.
func (c tapeClient) OrderTape(ctx context.Context, _ string, o hemera.TapeOrder) (string, error) {
	answer, err := call[said](ctx, c.server, "TapeOrder", o)
	return answer.Text, err
}

// Stage implements hemera.Staging.
func (c tapeClient) Stage(ctx context.Context, _ hemera.Identity, r hemera.StageRequest) (string, error) {
	answer, err := call[stageRef](ctx, c.server, "Stage", r)
	return answer.ID, err
}

// StageStatus implements hemera.Staging.
func (c tapeClient) StageStatus(ctx context.Context, _ hemera.Identity, id string) (hemera.StageStatus, error) {
	return call[hemera.StageStatus](ctx, c.server, "StageStatus", stageRef{id})
}

// Stages implements hemera.Staging.
func (c tapeClient) Stages(ctx context.Context, _ hemera.Identity, all bool) ([]hemera.StageSummary, error) {
	return call[[]hemera.StageSummary](ctx, c.server, "Stages", stageList{all})
}

// CancelStage implements hemera.Staging.
func (c tapeClient) CancelStage(ctx context.Context, _ hemera.Identity, id string, paths []string, forget bool) error {
	return c.server.do(ctx, "CancelStage", stageCancel{id, paths, forget})
}

// Release implements hemera.Staging. Errors of single paths arrive as their
// texts.
func (c tapeClient) Release(ctx context.Context, _ hemera.Identity, id string, paths []string) ([]error, error) {
	texts, err := call[[]string](ctx, c.server, "Release", pathList{id, paths})
	failures := make([]error, len(texts))
	for i, text := range texts {
		if text != "" {
			failures[i] = errors.New(text)
		}
	}
	return failures, err
}

// Localities implements hemera.Staging.
func (c tapeClient) Localities(ctx context.Context, _ hemera.Identity, id string, paths []string) ([]hemera.Locality, error) {
	return call[[]hemera.Locality](ctx, c.server, "Localities", pathList{id, paths})
}

// ArchiveNow implements hemera.Staging.
func (c tapeClient) ArchiveNow(ctx context.Context, _ hemera.Identity, path, class string) (int, error) {
	answer, err := call[archivedFile](ctx, c.server, "Archive", archiveFile{path, class})
	return answer.Copies, err
}

// Evict implements hemera.Staging.
func (c tapeClient) Evict(ctx context.Context, _ hemera.Identity, path string) (int64, error) {
	answer, err := call[evictedFile](ctx, c.server, "Evict", subject{path})
	return answer.Freed, err
}
