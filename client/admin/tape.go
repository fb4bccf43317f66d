package admin

import (
	"context"
	"encoding/json"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// Tape has the calls of admins for tapes. It implements adminapi.TapeAdmin, adminapi.TapeSessions and hemera.TapeKeys.
type Tape struct{ server *server }

// TapeConfig implements adminapi.TapeAdmin.
func (c Tape) TapeConfig(ctx context.Context) ([]byte, error) {
	raw, err := call[json.RawMessage](ctx, c.server, "TapeConfig", adminapi.None{})
	return raw, err
}

// ChangeTape implements adminapi.TapeAdmin.
func (c Tape) ChangeTape(ctx context.Context, _ string, r adminapi.TapeChange) error {
	return c.server.do(ctx, "TapeChange", r)
}

// Tapes implements adminapi.TapeAdmin.
func (c Tape) Tapes(ctx context.Context) ([]hemera.Tape, error) {
	return call[[]hemera.Tape](ctx, c.server, "Tapes", adminapi.None{})
}

// TapeFiles implements adminapi.TapeAdmin.
func (c Tape) TapeFiles(ctx context.Context, vid string, after uint64, dead bool) ([]hemera.TapeFile, error) {
	return call[[]hemera.TapeFile](ctx, c.server, "TapeFiles", adminapi.TapeFilesRequest{VID: vid, After: after, Dead: dead})
}

// TapePicture implements adminapi.TapeAdmin.
func (c Tape) TapePicture(ctx context.Context) (adminapi.TapePicture, error) {
	return call[adminapi.TapePicture](ctx, c.server, "TapePicture", adminapi.None{})
}

// TapeSession implements adminapi.TapeSessions.
func (c Tape) TapeSession(ctx context.Context, mount uint64) (hemera.TapeSession, error) {
	return call[hemera.TapeSession](ctx, c.server, "TapeSession", adminapi.SessionRef{Mount: mount})
}

// TapeJobList implements adminapi.TapeAdmin.
func (c Tape) TapeJobList(ctx context.Context, q adminapi.TapeJobQuery) ([]hemera.TapeWork, error) {
	return call[[]hemera.TapeWork](ctx, c.server, "TapeJobs", q)
}

// ExplainTape implements adminapi.TapeAdmin.
func (c Tape) ExplainTape(ctx context.Context, what string) ([]string, error) {
	return call[[]string](ctx, c.server, "TapeExplain", adminapi.Subject{Subject: what})
}

// OrderTape implements adminapi.TapeAdmin.
func (c Tape) OrderTape(ctx context.Context, _ string, o adminapi.TapeOrder) (string, error) {
	answer, err := call[adminapi.Said](ctx, c.server, "TapeOrder", o)
	return answer.Text, err
}

// TapeKeyList implements hemera.TapeKeys.
func (c Tape) TapeKeyList(ctx context.Context) ([]hemera.TapeKeyRow, error) {
	return call[[]hemera.TapeKeyRow](ctx, c.server, "TapeKeyList", adminapi.None{})
}

// AddTapeKey implements hemera.TapeKeys.
func (c Tape) AddTapeKey(ctx context.Context, _ string, k hemera.TapeKey, comment string) (hemera.TapeKeyRow, error) {
	return call[hemera.TapeKeyRow](ctx, c.server, "TapeKeyAdd", adminapi.AddTapeKeyRequest{Name: k.Name, Secret: k.Secret, Comment: comment})
}
