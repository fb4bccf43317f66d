package hemera

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// TapeSecretSize is that of a key, in bytes: drives encrypt with AES-256.
const TapeSecretSize = 32

// TapeSecret is the secret of a key that tapes are encrypted with. It prints as nothing that helps to guess it, in logs too; as JSON, CBOR and
// bytes it is itself.
type TapeSecret []byte

// hidden stands for a secret that is printed.
const hidden = "(secret)"

// Format hides the secret from each verb. It implements fmt.Formatter.
func (TapeSecret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// LogValue hides the secret. It implements slog.LogValuer.
func (TapeSecret) LogValue() slog.Value { return slog.StringValue(hidden) }

// TapeKey is a key that a drive encrypts and decrypts with. The zero TapeKey is none: blocks are written as they are.
type TapeKey struct {
	Name   string
	Secret TapeSecret `cbor:"Secret" json:"-"` // of [TapeSecretSize] bytes
}

// TapeKeys is the keys of encryption as admins have them. Callers have checked that who is one. A key is removed as an object of the configuration
// is: see adminapi.TapeAdmin. Calls block for the manager's store and its directory, and fail if those do. A key is durable before it is used.
type TapeKeys interface {
	// TapeKeyList lists the keys by name, with what uses them.
	TapeKeyList(ctx context.Context) ([]TapeKeyRow, error)
	// AddTapeKey makes a key, or takes over the secret that it is given. Of a key whose secret is missing it takes the same secret back; Conflict if
	// it is another one. Exists, Invalid.
	AddTapeKey(ctx context.Context, who string, k TapeKey, comment string) (TapeKeyRow, error)
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
