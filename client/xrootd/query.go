package xrootd

import (
	"context"
	"errors"
	"strings"
	"time"

	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// StatVFS returns the room of a server, in MiB and percent, as in the protocol. Space returns bytes.
func (c *Client) StatVFS(ctx context.Context, u URL) (wire.SpaceInfo, error) {
	a, err := c.do(ctx, newRoute(u), request{op: "xrootd.StatSpace", build: onPath(wire.Stat{Options: wire.StatVFS}), repeatable: true})
	if err != nil {
		return wire.SpaceInfo{}, err
	}
	s, err := wire.ParseSpaceInfo(a.body)
	return s, errs.As(err, errs.Corrupt, "xrootd.StatSpace", u.Redacted())
}

// Ping blocks until the server answers. While the server does not listen it tries for RetryFor.
func (c *Client) Ping(ctx context.Context, e Endpoint) error {
	q := request{op: "xrootd.Ping", repeatable: true, build: func(URL) (wire.Request, []byte) { return wire.Ping{}, nil }}
	_, err := c.do(ctx, newRoute(URL{Endpoint: e, Path: "/"}), q)
	return err
}

// Publishes reports whether a server supports [Client.Publish] and shows no file before its close.
func (c *Client) Publishes(ctx context.Context, e Endpoint) (bool, error) {
	// Other servers return the key, or refuse the query.
	values, err := c.Config(ctx, e, wire.ConfigPublish)
	if errors.Is(err, errs.Unsupported) || errors.Is(err, errs.Invalid) {
		return false, nil
	}
	return err == nil && len(values) == 1 && values[0] == "1", err
}

// Locate returns the servers that have the file, according to a manager; "*" instead of a path returns all servers. The
// answer may change at any time.
func (c *Client) Locate(ctx context.Context, u URL, options uint16) ([]wire.Location, error) {
	q := request{op: "xrootd.Locate", build: onPath(wire.Locate{Options: options}), repeatable: true}
	a, err := c.do(ctx, newRoute(u), q)
	if err != nil {
		return nil, err
	}
	list, err := wire.ParseLocations(a.body)
	return list, errs.As(err, errs.Corrupt, "xrootd.Locate", u.Redacted())
}

// Query sends a query of the kind (wire.QueryConfig and so on); arg is its text. The answer ends at its first NUL. It
// fails with Unsupported at servers without the kind.
func (c *Client) Query(ctx context.Context, e Endpoint, kind uint16, arg string) (string, error) {
	q := request{op: "xrootd.Query", repeatable: true, build: func(URL) (wire.Request, []byte) {
		return wire.Query{Kind: kind}, []byte(arg)
	}}
	a, err := c.do(ctx, newRoute(URL{Endpoint: e, Path: "/"}), q)
	return wire.Text(a.body), err
}

// Config returns configuration values, in order; for an unknown key the server returns the key.
func (c *Client) Config(ctx context.Context, e Endpoint, keys ...string) ([]string, error) {
	text, err := c.Query(ctx, e, wire.QueryConfig, strings.Join(keys, " "))
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimRight(text, "\n"), "\n"), nil
}

// Space returns the room of the space of a path: "oss.free" and the other keys.
func (c *Client) Space(ctx context.Context, u URL) (wire.Opaque, error) {
	text, err := c.Query(ctx, u.Endpoint, wire.QuerySpace, u.Path)
	return wire.Opaque(text), err
}

// Checksum returns a file's checksum; ChecksumNone means the kind that the server prefers. It may block while the server
// reads the file.
func (c *Client) Checksum(ctx context.Context, u URL, kind hemera.ChecksumKind) (hemera.Checksum, error) {
	if kind != hemera.ChecksumNone {
		u.Opaque = u.Opaque.With("cks.type", kind.String())
	}
	q := request{op: "xrootd.Checksum", repeatable: true, silenceMax: c.opts.WaitFor, build: func(u URL) (wire.Request, []byte) {
		return wire.Query{Kind: wire.QueryChecksum}, u.payload()
	}}
	a, err := c.do(ctx, newRoute(u), q)
	if err != nil {
		return hemera.Checksum{}, err
	}
	name, hex, err := wire.ParseChecksumReply(a.body)
	if err != nil {
		return hemera.Checksum{}, errs.As(err, errs.Corrupt, "xrootd.Checksum", u.Redacted())
	}
	sum, err := hemera.ParseChecksum(name + ":" + hex)
	return sum, errs.As(err, errs.Corrupt, "xrootd.Checksum", u.Redacted())
}

// adminCallSilenceMax is the time for which a call may have no answer: a search may find nothing for long. The kernel
// notices a dead server.
const adminCallSilenceMax = 24 * time.Hour

// Call sends a call of the admin API to the manager that the server is or knows, as the user of the session, and calls
// answer with the pieces of the answer. Both are HTTP messages; see [adminapi.Calls]. It ends with answer's error, if any.
func (c *Client) Call(ctx context.Context, at URL, message []byte, answer func([]byte) error) error {
	err := c.stream(ctx, at, request{
		op: "xrootd.AskManager", silenceMax: adminCallSilenceMax,
		build: func(URL) (wire.Request, []byte) {
			return wire.Query{Kind: wire.QueryOpaque}, append([]byte(wire.OpaqueCall), message...)
		},
	}, answer)
	// A stock server answers that it does not know the query: explain this to the user.
	if own, ok := errors.AsType[*errs.Error](err); ok && own.Kind == errs.Unsupported && own.Remedy == "" {
		return own.WithRemedy("its server is no manager of Hemera, or of a version before 0.2: run the command on its machine")
	}
	return err
}
