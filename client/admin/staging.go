package admin

import (
	"context"
	"errors"

	"hemera/words/adminapi"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Staging has the calls for files on tape. It implements tapeapi.Staging.
type Staging struct{ server *server }

// Stage implements tapeapi.Staging.
func (c Staging) Stage(ctx context.Context, _ hemera.Identity, r tapeapi.StageRequest) (string, error) {
	answer, err := call[adminapi.StageRef](ctx, c.server, "Stage", r)
	return answer.ID, err
}

// StageStatus implements tapeapi.Staging.
func (c Staging) StageStatus(ctx context.Context, _ hemera.Identity, id string) (tapeapi.StageStatus, error) {
	return call[tapeapi.StageStatus](ctx, c.server, "StageStatus", adminapi.StageRef{ID: id})
}

// Stages implements tapeapi.Staging.
func (c Staging) Stages(ctx context.Context, _ hemera.Identity, all bool) ([]tapeapi.StageSummary, error) {
	return call[[]tapeapi.StageSummary](ctx, c.server, "Stages", adminapi.StagesRequest{All: all})
}

// CancelStage implements tapeapi.Staging.
func (c Staging) CancelStage(ctx context.Context, _ hemera.Identity, id string, paths []string, forget bool) error {
	return c.server.do(ctx, "CancelStage", adminapi.CancelStageRequest{ID: id, Paths: paths, Forget: forget})
}

// Release implements tapeapi.Staging. Errors of single paths arrive as texts.
func (c Staging) Release(ctx context.Context, _ hemera.Identity, id string, paths []string) ([]error, error) {
	texts, err := call[[]string](ctx, c.server, "Release", adminapi.PathsRequest{ID: id, Paths: paths})
	failures := make([]error, len(texts))
	for i, text := range texts {
		if text != "" {
			failures[i] = errors.New(text)
		}
	}
	return failures, err
}

// Localities implements tapeapi.Staging.
func (c Staging) Localities(ctx context.Context, _ hemera.Identity, id string, paths []string) ([]tapeapi.Locality, error) {
	return call[[]tapeapi.Locality](ctx, c.server, "Localities", adminapi.PathsRequest{ID: id, Paths: paths})
}

// ArchiveNow implements tapeapi.Staging.
func (c Staging) ArchiveNow(ctx context.Context, _ hemera.Identity, path, class string) (int, error) {
	answer, err := call[adminapi.Archived](ctx, c.server, "Archive", adminapi.ArchiveRequest{Path: path, Class: class})
	return answer.Copies, err
}

// Evict implements tapeapi.Staging.
func (c Staging) Evict(ctx context.Context, _ hemera.Identity, path string) (int64, error) {
	answer, err := call[adminapi.Evicted](ctx, c.server, "Evict", adminapi.Subject{Subject: path})
	return answer.Freed, err
}
