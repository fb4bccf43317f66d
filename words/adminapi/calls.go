package adminapi

import (
	"context"

	"hemera/words/hemera"
)

// Calls runs verbs of the admin API for clients of another door. It blocks for as long as the verb does. A failure of
// the verb is in its HTTP response. Call itself fails with Invalid for bytes that are not an HTTP request, and with
// Unsupported for one that is not of a verb.
type Calls interface {
	// Call answers one HTTP request with an HTTP response, in pieces, which answer may not keep. The door has found
	// out who asks: what the request says of that counts for nothing. Answer's error ends the call and is returned.
	Call(ctx context.Context, who hemera.Identity, request []byte, answer func([]byte) error) error
}
