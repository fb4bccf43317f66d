package admin

import (
	"context"

	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// Names reads and changes the tree. It implements hemera.Names.
type Names struct{ server *server }

// Stat implements hemera.Names. The server identifies the caller; the argument is not sent.
func (c Names) Stat(ctx context.Context, _ hemera.Identity, p string) (hemera.Entry, error) {
	return call[hemera.Entry](ctx, c.server, "Stat", adminapi.PathRequest{Path: p})
}

// List implements hemera.Names. Entries arrive while the server still lists.
func (c Names) List(ctx context.Context, _ hemera.Identity, p string, visit func(hemera.Entry) error) error {
	return receive(ctx, c.server, "List", adminapi.PathRequest{Path: p}, func(m *adminapi.Entries) error {
		for _, e := range m.Entries {
			if err := visit(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// Mkdir implements hemera.Names.
func (c Names) Mkdir(ctx context.Context, _ hemera.Identity, p string, mode uint32, parents bool) (hemera.Entry, error) {
	return call[hemera.Entry](ctx, c.server, "Mkdir", adminapi.MkdirRequest{Path: p, Mode: mode, Parents: parents})
}

// Rename implements hemera.Names. It moves a tree of any size in one step.
func (c Names) Rename(ctx context.Context, _ hemera.Identity, from, to string) error {
	return c.server.do(ctx, "Rename", adminapi.RenameRequest{From: from, To: to})
}

// Publish implements hemera.Names.
func (c Names) Publish(ctx context.Context, _ hemera.Identity, p hemera.Publication) error {
	return c.server.do(ctx, "Publish", p)
}

// Remove implements hemera.Names. Directories have to be empty: no verb removes a tree.
func (c Names) Remove(ctx context.Context, _ hemera.Identity, p string, kind hemera.EntryKind) error {
	return c.server.do(ctx, "Remove", adminapi.RemoveRequest{Path: p, Kind: kind})
}

// Walk calls visit for every entry found, while the server still searches, and returns a summary. An error of visit, and
// the end of the context, end the walk at the server too. Walk returns visit's error.
func (c Names) Walk(ctx context.Context, r adminapi.WalkRequest, visit func(adminapi.Found) error) (sum adminapi.Sum, err error) {
	err = receive(ctx, c.server, "Walk", r, func(m *adminapi.FoundEntries) error {
		for _, f := range m.Found {
			if err := visit(f); err != nil {
				return err
			}
		}
		for _, p := range m.Paths {
			if err := visit(adminapi.Found{Path: p}); err != nil {
				return err
			}
		}
		if m.Sum != nil {
			sum = *m.Sum
		}
		return nil
	})
	return sum, err
}
