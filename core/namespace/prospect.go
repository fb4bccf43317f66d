package namespace

import (
	"context"

	"hemera"
)

// PrepareBelow implements Quotas. The limits of a file's path are those of its directory.
func (n *Namespace) PrepareBelow(ctx context.Context, who hemera.Identity, path string) (p Prepared, err error) {
	names, err := split("PrepareBelow", path)
	if err != nil {
		return p, err
	}
	err = n.view(ctx, func(t *tx) error {
		f, _, err := t.follow("PrepareBelow", who, path, names)
		if err != nil {
			return err
		}
		if f.entry != nil && f.entry.IsDir() {
			f.dirs = append(f.dirs, f.entry)
		}
		f.entry = nil
		p = t.prepared(f)
		p.Quota, err = t.standing(f, who)
		return err
	})
	return p, err
}
