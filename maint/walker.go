package maint

import (
	"context"
	"strings"

	"hemera/words/hemera"
)

// walkPage bounds the entries of a directory that are read at a time, and kept while the directories among them are
// walked.
const walkPage = 128

// walker visits the files below a directory in the order of names, with bounded memory, and can begin in the middle. A
// tree that is changed meanwhile is walked as it is found: nothing that stays where it is is left out.
type walker struct {
	tree hemera.Directories
	// visit gets each file with its path below the root; its error ends the walk.
	visit func(at string, e hemera.Entry) error
	// enter, if not nil, is called before a directory is walked, and reports whether it is to be. leave follows if so.
	enter func(at string, dir hemera.Entry) bool
	leave func()
}

// walk visits the files below root, whose path is for errors, that come after the cursor; "" is the beginning.
func (w *walker) walk(ctx context.Context, root hemera.Entry, path, cursor string) error {
	return w.directory(ctx, walked{dir: root, path: path}, cursor)
}

// walked is a directory of a walk: what it was found in, its path, and its path below the root.
type walked struct {
	dir, above hemera.Entry
	path, at   string
}

// directory visits the files below one directory. Its depth is that of the tree, which is bounded by [hemera.DepthMax].
func (w *walker) directory(ctx context.Context, d walked, cursor string) error {
	// Pages begin behind a name, so the part of the cursor in this directory is where its first page begins.
	after, rest, deeper := strings.Cut(cursor, "/")
	// The directory that the cursor is in is entered again: what it names there is done.
	if deeper && after != "" {
		entry, err := w.child(ctx, d, after)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if err := w.below(ctx, d, entry, rest); err != nil {
				return err
			}
		}
	}
	for {
		entries, next, err := w.tree.Page(ctx, hemera.SystemIdentity(), hemera.PageRequest{Dir: d.dir, Above: d.above, Path: d.path, After: after, Limit: walkPage})
		if err != nil {
			return err
		}
		// The rest of the page is kept while a directory of it is walked: so it is read once, and is not too large.
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return err
			}
			if e.IsDir() {
				err = w.below(ctx, d, e, "")
			} else {
				err = w.visit(d.at+e.Name, e)
			}
			if err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		after = next
	}
}

// below walks a directory within another.
func (w *walker) below(ctx context.Context, d walked, e hemera.Entry, cursor string) error {
	if w.enter != nil {
		if !w.enter(d.at+e.Name, e) {
			return nil
		}
		defer w.leave()
	}
	return w.directory(ctx, walked{dir: e, above: d.dir, path: strings.TrimSuffix(d.path, "/") + "/" + e.Name, at: d.at + e.Name + "/"}, cursor)
}

// child finds the entry with the name in a directory. It returns a zero entry if the directory has no such name.
func (w *walker) child(ctx context.Context, d walked, name string) (hemera.Entry, error) {
	// A page begins behind a name. No name is between this text and the one that is looked for.
	last := len(name) - 1
	before := name[:last] + string([]byte{name[last] - 1}) + strings.Repeat("\xff", hemera.NameMax)
	entries, _, err := w.tree.Page(ctx, hemera.SystemIdentity(), hemera.PageRequest{Dir: d.dir, Above: d.above, Path: d.path, After: before, Limit: 1})
	// It may be gone since, or be a file now: then the walk continues behind it.
	if err == nil && len(entries) == 1 && entries[0].Name == name {
		return entries[0], nil
	}
	return hemera.Entry{}, err
}
