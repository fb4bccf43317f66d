package manager

import (
	"context"
	"slices"

	"hemera/rules/access"
	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// content returns the content that a reader that comes back continues with: the file with the generation that it was
// reading. That is the file's own as long as it has it, wherever it was moved, else what its disks still hold. Conflict
// when it is gone: the client must not get another content for the rest of this one. A client that was granted the
// content may still read it when its name is gone or is another file's; while the file exists, who may not read it any
// more is refused.
func (o *opener) content(ctx context.Context, who hemera.Identity, r hemera.OpenRequest) (hemera.Entry, error) {
	again := r.Again
	now, _, err := o.tree.Resolve(ctx, again.File)
	switch kind := errs.KindOf(err); {
	case err != nil && kind != errs.NotFound:
		return now, errs.Wrap(err, "manager.Open", r.Path)
	case err == nil:
		if d := access.Decide(who, access.Of(now), access.Read); !d.Allowed {
			return now, errs.New(errs.Denied, "manager.Open", r.Path, "the file was open, and may not be read any more")
		}
		// The content was not replaced. Its pieces may be on other disks than the reader was granted, or come from tape.
		if now.Gen == again.Gen || sameContent(&now, again) {
			return now, nil
		}
	}
	e := hemera.Entry{ID: again.File, Parent: again.Parent, Name: again.Name, Kind: hemera.KindFile, Mode: again.Mode,
		Size: again.Size, Gen: again.Gen, Layout: again.Layout, Space: again.Space, Checksums: again.Sums}
	for _, p := range again.Pieces {
		// An unlinked piece can be read until its disk has removed it.
		there, err := o.tree.IsUnlinked(ctx, p.Disk, hemera.PieceID{File: again.File, Gen: again.Gen, Index: p.Index})
		if err != nil {
			return e, errs.Wrap(err, "manager.Open", r.Path)
		}
		if there {
			e.Pieces = append(e.Pieces, p)
		}
	}
	if !layout.Readable(e.Layout, e.Size, layout.Indexes(e.Pieces)) {
		return e, errs.New(errs.Conflict, "manager.Open", r.Path, "the content that was being read was replaced or removed, and is gone").
			WithRemedy("read the file again from its beginning")
	}
	// As entries of the namespace have them, whatever order the old grant had.
	slices.SortFunc(e.Pieces, func(a, b hemera.Piece) int { return int(a.Index) - int(b.Index) })
	return e, nil
}

// sameContent reports whether an entry of a later generation has the content that was granted: in another form, or recalled from tape. All checksums that
// both have agree, and there is one.
func sameContent(now *hemera.Entry, was *hemera.Content) bool {
	if now.Size != was.Size {
		return false
	}
	both := 0
	for _, c := range was.Sums {
		is, there := hemera.FindChecksum(now.Checksums, c.Kind)
		if there && is != c {
			return false
		}
		if there {
			both++
		}
	}
	return both > 0
}
