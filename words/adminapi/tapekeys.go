package adminapi

import (
	"context"
	"time"

	"hemera/words/tapeapi"
)

// TapeKeys is the keys of encryption as admins have them. Callers have checked that who is one. A key is removed as an object of the configuration
// is: see adminapi.TapeAdmin. Calls block for the manager's store and its directory, and fail if those do. A key is durable before it is used.
type TapeKeys interface {
	// TapeKeyList lists the keys by name, with what uses them.
	TapeKeyList(ctx context.Context) ([]TapeKeyRow, error)
	// AddTapeKey makes a key, or takes over the secret that it is given. Of a key whose secret is missing it takes the same secret back; Conflict if
	// it is another one. Exists, Invalid.
	AddTapeKey(ctx context.Context, who string, k tapeapi.Key, comment string) (TapeKeyRow, error)
}

// TapeKeyRow is a key as people see it.
type TapeKeyRow struct {
	Name        string
	Fingerprint string // tells keys apart; see tape/tapeconfig
	Pools       []string
	Tapes       int64  // that are encrypted with it
	Files       int64  // of the tree, on these tapes
	Problem     string // why it cannot be used, "" for nothing
	MadeBy      string
	Made        time.Time `json:",omitzero"`
	Comment     string
}
