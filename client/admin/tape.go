package admin

import (
	"context"
	"encoding/json"

	"hemera/words/adminapi"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Tape has the calls of admins for tapes. It implements adminapi.TapeAdmin, adminapi.TapeSessions and adminapi.TapeKeys.
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
func (c Tape) Tapes(ctx context.Context) ([]tapeapi.Tape, error) {
	return call[[]tapeapi.Tape](ctx, c.server, "Tapes", adminapi.None{})
}

// TapeFiles implements adminapi.TapeAdmin.
func (c Tape) TapeFiles(ctx context.Context, vid hemera.VID, after uint64, dead bool) ([]tapeapi.File, error) {
	return call[[]tapeapi.File](ctx, c.server, "TapeFiles", adminapi.TapeFilesRequest{VID: vid, After: after, Dead: dead})
}

// TapePicture implements adminapi.TapeAdmin.
func (c Tape) TapePicture(ctx context.Context) (adminapi.TapePicture, error) {
	return call[adminapi.TapePicture](ctx, c.server, "TapePicture", adminapi.None{})
}

// TapeSession implements adminapi.TapeSessions.
func (c Tape) TapeSession(ctx context.Context, mount tapeapi.MountID) (tapeapi.Session, error) {
	return call[tapeapi.Session](ctx, c.server, "TapeSession", adminapi.SessionRef{Mount: mount})
}

// TapeJobList implements adminapi.TapeAdmin.
func (c Tape) TapeJobList(ctx context.Context, q adminapi.TapeJobQuery) ([]tapeapi.Work, error) {
	return call[[]tapeapi.Work](ctx, c.server, "TapeJobs", q)
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

// TapeKeyList implements adminapi.TapeKeys.
func (c Tape) TapeKeyList(ctx context.Context) ([]adminapi.TapeKeyRow, error) {
	return call[[]adminapi.TapeKeyRow](ctx, c.server, "TapeKeyList", adminapi.None{})
}

// AddTapeKey implements adminapi.TapeKeys.
func (c Tape) AddTapeKey(ctx context.Context, _ string, k tapeapi.Key, comment string) (adminapi.TapeKeyRow, error) {
	return call[adminapi.TapeKeyRow](ctx, c.server, "TapeKeyAdd", adminapi.AddTapeKeyRequest{Name: k.Name, Secret: k.Secret, Comment: comment})
}
