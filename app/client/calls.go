package client

import (
	"context"
	"errors"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/rules/wire"
)

// callPatience is how long a call may be answered with nothing: a search finds what it finds. A server that is gone
// is noticed by its kernel's silence.
const callPatience = 24 * time.Hour

// Call sends a call of the admin API to the manager that the server is or knows, as the user of the session, and calls
// answer with the pieces of the answer. Both are HTTP messages; see [hemera.Calls]. It ends with answer's error, if any.
func (c *Client) Call(ctx context.Context, at URL, message []byte, answer func([]byte) error) error {
	err := c.streamed(ctx, at, request{
		op: "ask manager", patience: callPatience,
		build: func(URL) (wire.Request, []byte) {
			return wire.Query{Kind: wire.QueryOpaque}, append([]byte(hemera.OpaqueCall), message...)
		},
	}, answer)
	if own, ok := errors.AsType[*errs.Error](err); ok && own.Kind == errs.Unsupported && own.Remedy == "" {
		return own.WithRemedy("its server is no manager of Hemera, or of a version before 0.2: run the command on its machine")
	}
	return err
}
