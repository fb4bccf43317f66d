package client

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"hemera"
	"hemera/errs"
	"hemera/rules/wire"
)

// Info is what a server says of an entry. Name is its last component.
type Info struct {
	Name string
	wire.StatInfo
}

// IsDir reports whether the entry is a directory.
func (i Info) IsDir() bool { return i.Flags&wire.StatIsDir != 0 }

// onPath is a request whose payload is the URL's path.
func onPath(w wire.Request) func(URL) (wire.Request, []byte) {
	return func(u URL) (wire.Request, []byte) { return w, u.payload() }
}

// Stat asks for one entry. NotFound.
func (c *Client) Stat(ctx context.Context, u URL) (Info, error) {
	a, err := c.do(ctx, newRoute(u), request{op: "stat", build: onPath(wire.Stat{}), again: true})
	if err != nil {
		return Info{}, err
	}
	s, err := wire.ParseStat(a.body)
	return Info{baseName(u.Path), s}, errs.As(err, errs.Corrupt, "stat", u.Redacted())
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// StatVFS asks how much room there is.
func (c *Client) StatVFS(ctx context.Context, u URL) (wire.SpaceInfo, error) {
	a, err := c.do(ctx, newRoute(u), request{op: "stat space", build: onPath(wire.Stat{Options: wire.StatVFS}), again: true})
	if err != nil {
		return wire.SpaceInfo{}, err
	}
	s, err := wire.ParseSpaceInfo(a.body)
	return s, errs.As(err, errs.Corrupt, "stat space", u.Redacted())
}

// Ping asks whether the server answers.
func (c *Client) Ping(ctx context.Context, e Endpoint) error {
	q := request{op: "ping", again: true, build: func(URL) (wire.Request, []byte) { return wire.Ping{}, nil }}
	_, err := c.do(ctx, newRoute(URL{Endpoint: e, Path: "/"}), q)
	return err
}

// change does a request without an answer; it is not repeated once it may have arrived.
func (c *Client) change(ctx context.Context, u URL, op string, w wire.Request) error {
	_, err := c.do(ctx, newRoute(u), request{op: op, build: onPath(w)})
	return err
}

// Mkdir makes a directory, with parents also those above it, and then an existing one is no error.
func (c *Client) Mkdir(ctx context.Context, u URL, mode uint32, parents bool) error {
	w := wire.Mkdir{Mode: uint16(mode)}
	if parents {
		w.Options = wire.MkdirPath
	}
	q := request{op: "make directory", build: onPath(w), again: parents}
	_, err := c.do(ctx, newRoute(u), q)
	if parents && errs.KindOf(err) == errs.Exists && err != nil {
		// The stock server says so when the directory has another mode.
		if i, statErr := c.Stat(ctx, u); statErr == nil && i.IsDir() {
			return nil
		}
	}
	return err
}

// Remove removes a file. Some servers also take an empty directory.
func (c *Client) Remove(ctx context.Context, u URL) error {
	return c.change(ctx, u, "remove", wire.Rm{})
}

// Rmdir removes an empty directory. NotEmpty.
func (c *Client) Rmdir(ctx context.Context, u URL) error {
	return c.change(ctx, u, "remove directory", wire.Rmdir{})
}

// Chmod sets permission bits.
func (c *Client) Chmod(ctx context.Context, u URL, mode uint32) error {
	return c.change(ctx, u, "change mode", wire.Chmod{Mode: uint16(mode)})
}

// Truncate sets a file's size.
func (c *Client) Truncate(ctx context.Context, u URL, size int64) error {
	return c.change(ctx, u, "truncate", wire.Truncate{Size: size})
}

// Rename moves an entry within its server.
func (c *Client) Rename(ctx context.Context, from URL, to string) error {
	q := request{op: "rename", build: func(u URL) (wire.Request, []byte) {
		return wire.Mv{FromLength: int16(len(from.Path))}, []byte(from.Path + " " + u.Opaque.Join(to))
	}}
	_, err := c.do(ctx, newRoute(from), q)
	return err
}

// Publish moves a file within its server if it is what p says; see hemera.Names. Unsupported by servers
// that are not Hemera: they would move any file, so ask [Client.Publishes] before.
func (c *Client) Publish(ctx context.Context, server URL, p hemera.Publication) error {
	opaque := server.Opaque.With(hemera.OpaqueSize, strconv.FormatInt(p.Size, 10))
	if p.Sum.Kind != hemera.ChecksumNone {
		opaque = opaque.With(hemera.OpaqueSum, p.Sum.String())
	}
	if !p.Replace {
		opaque = opaque.With(hemera.OpaqueNew, "1")
	}
	server.Path = p.To
	q := request{op: "publish", build: func(URL) (wire.Request, []byte) {
		return wire.Mv{FromLength: int16(len(p.From))}, []byte(p.From + " " + opaque.Join(p.To))
	}}
	_, err := c.do(ctx, newRoute(server), q)
	return err
}

// Publishes reports whether a server knows [Client.Publish] and shows no file before its close.
func (c *Client) Publishes(ctx context.Context, e Endpoint) (bool, error) {
	values, err := c.Config(ctx, e, hemera.ConfigPublish)
	if errors.Is(err, errs.Unsupported) || errors.Is(err, errs.Invalid) {
		return false, nil
	}
	return err == nil && len(values) == 1 && values[0] == "1", err
}

// Locate asks which servers have the file; "*" instead of a path asks for all servers.
func (c *Client) Locate(ctx context.Context, u URL, options uint16) ([]wire.Location, error) {
	q := request{op: "locate", build: onPath(wire.Locate{Options: options}), again: true}
	a, err := c.do(ctx, newRoute(u), q)
	if err != nil {
		return nil, err
	}
	list, err := wire.ParseLocations(a.body)
	return list, errs.As(err, errs.Corrupt, "locate", u.Redacted())
}

// Query asks a question of the kind (wire.QueryConfig and so on); arg is its text.
func (c *Client) Query(ctx context.Context, e Endpoint, kind uint16, arg string) (string, error) {
	q := request{op: "query", again: true, build: func(URL) (wire.Request, []byte) {
		return wire.Query{Kind: kind}, []byte(arg)
	}}
	a, err := c.do(ctx, newRoute(URL{Endpoint: e, Path: "/"}), q)
	return wire.Text(a.body), err
}

// Config asks for configuration values, in order; of an unknown key the server returns the key.
func (c *Client) Config(ctx context.Context, e Endpoint, keys ...string) ([]string, error) {
	text, err := c.Query(ctx, e, wire.QueryConfig, strings.Join(keys, " "))
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimRight(text, "\n"), "\n"), nil
}

// Space asks for the room of the space that a path is in: "oss.free" and the other keys.
func (c *Client) Space(ctx context.Context, u URL) (wire.Opaque, error) {
	text, err := c.Query(ctx, u.Endpoint, wire.QuerySpace, u.Path)
	return wire.Opaque(text), err
}

// Checksum asks for a file's checksum; ChecksumNone for the kind the server prefers. It can take as
// long as the server needs to read the file.
func (c *Client) Checksum(ctx context.Context, u URL, kind hemera.ChecksumKind) (hemera.Checksum, error) {
	if kind != hemera.ChecksumNone {
		u.Opaque = u.Opaque.With("cks.type", kind.String())
	}
	q := request{op: "checksum", again: true, patience: c.opts.WaitFor, build: func(u URL) (wire.Request, []byte) {
		return wire.Query{Kind: wire.QueryChecksum}, u.payload()
	}}
	a, err := c.do(ctx, newRoute(u), q)
	if err != nil {
		return hemera.Checksum{}, err
	}
	name, hex, err := wire.ParseChecksumReply(a.body)
	if err != nil {
		return hemera.Checksum{}, errs.As(err, errs.Corrupt, "checksum", u.Redacted())
	}
	sum, err := hemera.ParseChecksum(name + ":" + hex)
	return sum, errs.As(err, errs.Corrupt, "checksum", u.Redacted())
}
