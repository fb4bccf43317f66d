package namespace

import (
	"context"

	"hemera"
	"hemera/errs"
)

// PrepareConversion returns what a new content of the file with the id begins with, and the file's path: the file with
// the generation that a commit has to replace, the limits that hold for it, and a new generation. No identity is asked,
// as the content stays the same. Conflict if the file is gone, or has another generation than gen.
func (n Writes) PrepareConversion(ctx context.Context, id hemera.FileID, gen hemera.Generation) (p Prepared, path string, err error) {
	err = n.view(ctx, func(t tx) error {
		e, err := t.ByID(id)
		if err != nil {
			return err
		}
		if e == nil || e.IsDir() || e.Gen != gen {
			return refuse(errs.Conflict, "PrepareConversion", "fid:"+id.String(), "the file was changed or removed meanwhile")
		}
		parent, err := t.ByID(e.Parent)
		if err != nil {
			return err
		}
		dirs, above, err := t.Above(parent)
		if err != nil {
			return err
		}
		f := found{dirs: dirs, name: e.Name, entry: e}
		p, path = openTx(t).prepared(f), above+"/"+e.Name
		p.Quota, err = openTx(t).standing(f, hemera.SystemIdentity())
		return err
	})
	if err != nil {
		return Prepared{}, "", err
	}
	number, err := n.numbers.Take(ctx)
	p.Gen = hemera.Generation(number)
	return p, path, err
}

// converts reports whether the commit has the content of the entry, in whatever form: the same size, and the same
// checksum of each kind that is known of the entry. Without such a proof a fault of one node would replace a good file.
func converts(now *hemera.Entry, c *Commit) bool {
	for _, sum := range now.Checksums {
		if is, ok := hemera.FindChecksum(c.Sums, sum.Kind); !ok || is != sum {
			return false
		}
	}
	return c.Size == now.Size
}
