package checkpoint

import (
	"errors"
	"io/fs"
	"path"
	"slices"

	"hemera/platform/vfs"
)

// entry is a file or a directory below a root.
type entry struct {
	name string // relative, with slashes
	size int64
	dir  bool
}

// list returns all entries below a directory, each directory before its entries; none if there is no such directory.
func list(fsys vfs.FS, root string) ([]entry, error) {
	if _, err := fsys.Stat(root); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var found []entry
	left := []string{""}
	for len(left) > 0 {
		dir := left[len(left)-1]
		left = left[:len(left)-1]
		names, err := fsys.ReadDir(path.Join(root, dir))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			e := entry{name: path.Join(dir, name)}
			info, err := fsys.Stat(path.Join(root, e.name))
			if err != nil {
				return nil, err
			}
			if e.dir = info.IsDir; e.dir {
				left = append(left, e.name)
			} else {
				e.size = info.Size
			}
			found = append(found, e)
		}
	}
	return found, nil
}

// removeAll removes a directory with all below it. It is not an error if there is none.
func removeAll(fsys vfs.FS, root string) error {
	have, err := list(fsys, root)
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(have) {
		if err := fsys.Remove(path.Join(root, e.name)); err != nil {
			return err
		}
	}
	if err := fsys.Remove(root); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// plan says how to make a directory ready for the files of a manifest.
type plan struct {
	remove []string // files and directories that do not belong there, in this order
	mkdir  []string // directories that are missing, in this order
	dirs   []string // all directories, those below before those above
	need   int64    // bytes that the files will grow
}

// unit is the unit of allocation that plans assume, in bytes.
const unit = 4 << 10

// planFor compares a manifest with what is there.
func planFor(m *Manifest, have []entry) plan {
	var p plan
	dirs, files := map[string]bool{}, map[string]int64{}
	for _, f := range m.Files {
		files[f.Name] = f.Size
		for d := path.Dir(f.Name); d != "."; d = path.Dir(d) {
			dirs[d] = true
		}
	}
	for _, f := range m.Files {
		p.need += rounded(f.Size)
	}
	there := map[string]bool{}
	for _, e := range slices.Backward(have) {
		size, isFile := files[e.name]
		switch {
		case e.dir && dirs[e.name]:
			there[e.name] = true
		case !e.dir && isFile:
			p.need -= min(rounded(e.size), rounded(size))
		default:
			p.remove = append(p.remove, e.name)
		}
	}
	for d := range dirs {
		p.dirs = append(p.dirs, d)
		if !there[d] {
			p.mkdir = append(p.mkdir, d)
		}
	}
	// A directory sorts before its entries.
	slices.Sort(p.mkdir)
	slices.Sort(p.dirs)
	slices.Reverse(p.dirs)
	return p
}

// rounded returns the room of a file.
func rounded(size int64) int64 { return (size + unit - 1) / unit * unit }
