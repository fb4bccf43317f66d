package tapeapi

import (
	"fmt"
	"io"
	"log/slog"
)

// SecretSize is that of a key, in bytes: drives encrypt with AES-256.
const SecretSize = 32

// Secret is the secret of a key that tapes are encrypted with. It prints as nothing that helps to guess it, in logs too; as JSON, CBOR and
// bytes it is itself.
type Secret []byte

// hidden stands for a secret that is printed.
const hidden = "(secret)"

// Format hides the secret from each verb. It implements fmt.Formatter.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// LogValue hides the secret. It implements slog.LogValuer.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// Key is a key that a drive encrypts and decrypts with. The zero Key is none: blocks are written as they are.
type Key struct {
	Name   string
	Secret Secret `cbor:"Secret" json:"-"` // of [SecretSize] bytes
}
