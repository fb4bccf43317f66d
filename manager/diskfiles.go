package manager

import (
	"context"

	"hemera/rules/layout"
	"hemera/rules/policy"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// diskFilesMax bounds one page of a disk's files, whatever was asked for.
const diskFilesMax = 1000

// DiskFiles implements adminapi.MaintAdmin.
func (ma *maintAdmin) DiskFiles(ctx context.Context, id hemera.DiskID, after hemera.FileID, limit int) (page adminapi.DiskFiles, err error) {
	defer ma.ops.begin("DiskFiles").end(&err)
	view := ma.cluster.View()
	if _, ok := view.Disk(id); !ok {
		return page, errs.New(errs.NotFound, "manager.ListFilesOf", "disk "+id.String(), "there is no such disk").WithRemedy("see `hemera fs ls`")
	}
	if limit <= 0 || limit > diskFilesMax {
		// A limit of zero or less asks for as many as one page has.
		limit = diskFilesMax
	}
	entries, err := ma.tree.DiskFiles(ctx, id, after, limit)
	if err != nil {
		return page, errs.Wrap(err, "manager.ListFilesOf", "disk "+id.String())
	}
	for _, e := range entries {
		f := adminapi.DiskFile{File: e.ID, Size: e.Size, Pieces: len(e.Pieces), Layout: e.Layout}
		// Pieces on other disks that can be read: if they are too few, the file needs this disk now.
		var others layout.Set
		for _, p := range e.Pieces {
			if d, ok := view.Disk(p.Disk); ok && p.Disk != id && d.Reliable() {
				others = others.With(int(p.Index))
			}
		}
		f.Last = !layout.Readable(e.Layout, e.Size, others)
		if _, f.Path, err = ma.tree.Resolve(ctx, e.ID); err != nil {
			if errs.KindOf(err) == errs.NotFound {
				continue // removed meanwhile
			}
			return page, errs.Wrap(err, "manager.ListFilesOf", e.ID.Hex())
		}
		page.Files = append(page.Files, f)
	}
	// A full page may be the last one: then the next page is empty. Files that were removed meanwhile do not end the list.
	if len(entries) == limit {
		page.Next = entries[len(entries)-1].ID
	}
	return page, nil
}

// spacePage is the number of entries of a directory that are looked at together.
const spacePage = 1000

// RemoveSpace implements adminapi.ClusterAdmin. It looks at the whole tree, a page at a time, and delays no other call.
func (a *clusterAdmin) RemoveSpace(ctx context.Context, name hemera.SpaceName) error {
	// First what is cheap: it is checked again with the removal itself.
	if err := a.cluster.Admin.SpaceUnused(name); err != nil {
		return err
	}
	root, err := a.tree.Stat(ctx, hemera.SystemIdentity(), "/")
	if err != nil {
		return errs.Wrap(err, "manager.RemoveSpace", string(name))
	}
	if err := refersTo(root, "/", name); err != nil {
		return err
	}
	if err := a.searchSpace(ctx, root, name); err != nil {
		return err
	}
	return a.cluster.Admin.RemoveSpace(ctx, name)
}

// searchSpace fails with NotEmpty at the first entry below the directory that refers to the space.
func (a *clusterAdmin) searchSpace(ctx context.Context, root hemera.Entry, name hemera.SpaceName) error {
	type place struct {
		dir, above hemera.Entry
		path       string
	}
	// Depth first: memory is bounded by the depth of the tree and the directories beside the path.
	for left := []place{{dir: root}}; len(left) > 0; {
		at := left[len(left)-1]
		left = left[:len(left)-1]
		for after := ""; ; {
			entries, next, err := a.tree.Page(ctx, hemera.SystemIdentity(), hemera.PageRequest{
				Dir: at.dir, Above: at.above, Path: at.path, After: after, Limit: spacePage,
			})
			if err != nil {
				return errs.Wrap(err, "manager.RemoveSpace", string(name))
			}
			for _, e := range entries {
				path := at.path + "/" + e.Name
				if err := refersTo(e, path, name); err != nil {
					return err
				}
				if e.IsDir() {
					left = append(left, place{e, at.dir, path})
				}
			}
			if after = next; after == "" {
				break
			}
		}
	}
	return nil
}

// refersTo fails when the entry is stored in the space, or sends new files there.
func refersTo(e hemera.Entry, path string, space hemera.SpaceName) error {
	if !e.IsDir() && e.Space == space {
		return errs.New(errs.NotEmpty, "manager.RemoveSpace", string(space), "file "+path+" belongs to it").
			WithRemedy("copy such files to a place with another space and remove them; hemera find -j / shows the space of each")
	}
	for attr, value := range e.Xattrs {
		if policy.IsSpaceAttribute(attr) && hemera.SpaceName(value) == space {
			return errs.New(errs.NotEmpty, "manager.RemoveSpace", string(space), attr+" of "+path+" names it").
				WithRemedy("change that: hemera attr set " + attr + "=OTHER " + path)
		}
	}
	return nil
}
