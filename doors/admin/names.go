package admin

import (
	"context"

	"hemera/words/hemera"
)

// batchMax is how many entries one message of a stream carries at most.
// It bounds memory on both sides: attributes apart, entries are small.
const batchMax = 256

// attributesMax is the number of bytes of attributes with which a message is sent, even if it has fewer than batchMax entries.
// It is in bytes of values. One entry can have much more than the average, and messages are bounded by answerMax at
// the client.
const attributesMax = 1 << 20

// path is the request of verbs about one path.
type path struct{ Path string }

// mkdir is the request of the verb of that name; so are the types below.
type mkdir struct {
	Path    string
	Mode    uint32
	Parents bool // make missing parents too; an existing directory is no error then
}

type rename struct{ From, To string }

type remove struct {
	Path string
	Kind hemera.EntryKind `json:",omitempty"` // zero: a file or a directory
}

// entries is one message of a listing.
type entries struct{ Entries []hemera.Entry }

// serveNames serves the verbs of hemera.Names to users, with their identity.
func serveNames(d *door) {
	names(d, "Stat", func(ctx context.Context, n hemera.Names, who hemera.Identity, r *path) (hemera.Entry, error) {
		return n.Stat(ctx, who, r.Path)
	})
	names(d, "Mkdir", func(ctx context.Context, n hemera.Names, who hemera.Identity, r *mkdir) (hemera.Entry, error) {
		return n.Mkdir(ctx, who, r.Path, r.Mode, r.Parents)
	})
	names(d, "Rename", func(ctx context.Context, n hemera.Names, who hemera.Identity, r *rename) (none, error) {
		return none{}, n.Rename(ctx, who, r.From, r.To)
	})
	names(d, "Publish", func(ctx context.Context, n hemera.Names, who hemera.Identity, r *hemera.Publication) (none, error) {
		return none{}, n.Publish(ctx, who, *r)
	})
	names(d, "Remove", func(ctx context.Context, n hemera.Names, who hemera.Identity, r *remove) (none, error) {
		return none{}, n.Remove(ctx, who, r.Path, r.Kind)
	})
	stream(d, "List", false, func(ctx context.Context, who hemera.Identity, r *path, send func(*entries) error) error {
		n, err := part(d.Names, "namespace")
		if err != nil {
			return err
		}
		b := batch[hemera.Entry]{send: func(e []hemera.Entry) error { return send(&entries{e}) }}
		attributes := 0 // their bytes in the batch, which are bounded too
		err = n.List(ctx, who, r.Path, func(e hemera.Entry) error {
			for _, value := range e.Xattrs {
				attributes += len(value)
			}
			if err := b.add(e); err != nil || attributes < attributesMax {
				return err
			}
			attributes = 0
			return b.flush()
		})
		if err != nil {
			return err
		}
		return b.flush()
	})
}

// names serves a verb of hemera.Names.
func names[Req, Res any](d *door, verb string, f func(context.Context, hemera.Names, hemera.Identity, *Req) (Res, error)) {
	unary(d, verb, false, func(ctx context.Context, who hemera.Identity, r *Req) (res Res, err error) {
		n, err := part(d.Names, "namespace")
		if err != nil {
			return res, err
		}
		return f(ctx, n, who, r)
	})
}

// namesClient is the part of a [Client] that changes names.
type namesClient struct{ server *server }

// Stat implements hemera.Names. The server decides who asks; the argument is not sent.
func (c namesClient) Stat(ctx context.Context, _ hemera.Identity, p string) (hemera.Entry, error) {
	return call[hemera.Entry](ctx, c.server, "Stat", path{p})
}

// List implements hemera.Names; entries arrive while the server still lists.
func (c namesClient) List(ctx context.Context, _ hemera.Identity, p string, visit func(hemera.Entry) error) error {
	return receive(ctx, c.server, "List", path{p}, func(m *entries) error {
		for _, e := range m.Entries {
			if err := visit(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// Mkdir implements hemera.Names.
func (c namesClient) Mkdir(ctx context.Context, _ hemera.Identity, p string, mode uint32, parents bool) (hemera.Entry, error) {
	return call[hemera.Entry](ctx, c.server, "Mkdir", mkdir{p, mode, parents})
}

// Rename implements hemera.Names.
// It moves a tree in one step, whatever its size.
func (c namesClient) Rename(ctx context.Context, _ hemera.Identity, from, to string) error {
	return c.server.do(ctx, "Rename", rename{from, to})
}

// Publish implements hemera.Names.
func (c namesClient) Publish(ctx context.Context, _ hemera.Identity, p hemera.Publication) error {
	return c.server.do(ctx, "Publish", p)
}

// Remove implements hemera.Names.
// Directories have to be empty: no verb removes a tree.
func (c namesClient) Remove(ctx context.Context, _ hemera.Identity, p string, kind hemera.EntryKind) error {
	return c.server.do(ctx, "Remove", remove{p, kind})
}
