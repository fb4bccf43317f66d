package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// attributesMax bounds the bytes of attribute values in a message: a batch that reaches it is sent, even with fewer than
// batchMax entries. A client bounds messages by answerMax, and one entry may have much more than the average.
const attributesMax = 1 << 20

// serveNames serves the verbs of hemera.Names to users, with their identity.
func serveNames(d *door) {
	names(d, "Stat", func(ctx context.Context, n hemera.Names, who hemera.Identity, r *adminapi.PathRequest) (hemera.Entry, error) {
		return n.Stat(ctx, who, r.Path)
	})
	names(d, "Mkdir", func(ctx context.Context, n hemera.Names, who hemera.Identity, r *adminapi.MkdirRequest) (hemera.Entry, error) {
		return n.Mkdir(ctx, who, r.Path, r.Mode, r.Parents)
	})
	names(d, "Rename", func(ctx context.Context, n hemera.Names, who hemera.Identity, r *adminapi.RenameRequest) (adminapi.None, error) {
		return adminapi.None{}, n.Rename(ctx, who, r.From, r.To)
	})
	names(d, "Publish", func(ctx context.Context, n hemera.Names, who hemera.Identity, r *hemera.Publication) (adminapi.None, error) {
		return adminapi.None{}, n.Publish(ctx, who, *r)
	})
	names(d, "Remove", func(ctx context.Context, n hemera.Names, who hemera.Identity, r *adminapi.RemoveRequest) (adminapi.None, error) {
		return adminapi.None{}, n.Remove(ctx, who, r.Path, r.Kind)
	})
	stream(d, "List", false, func(ctx context.Context, who hemera.Identity, r *adminapi.PathRequest, send func(*adminapi.Entries) error) error {
		n, err := part(d.Names, "namespace")
		if err != nil {
			return err
		}
		b := batch[hemera.Entry]{send: func(e []hemera.Entry) error { return send(&adminapi.Entries{Entries: e}) }}
		attributes := 0 // bytes of attributes in the batch
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

// names serves a verb of hemera.Names, with the caller's identity.
func names[Req, Res any](d *door, verb string, f func(context.Context, hemera.Names, hemera.Identity, *Req) (Res, error)) {
	unary(d, verb, false, func(ctx context.Context, who hemera.Identity, r *Req) (res Res, err error) {
		n, err := part(d.Names, "namespace")
		if err != nil {
			return res, err
		}
		return f(ctx, n, who, r)
	})
}
