package manager

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"hemera/namespace"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// find resolves a path, or an id as [idOf] knows them, to an entry that who can reach by its path, with the attributes that who may see.
// An id tells no more than the path does: otherwise it would show names and owners below directories that are closed to the user. So
// it is NotFound with one text in all these cases.
func find(ctx context.Context, tree namespace.Parts, who hemera.Identity, ref string) (e hemera.Entry, path string, err error) {
	id, byID, err := idOf(ref)
	switch {
	case err != nil:
		return e, "", err
	case !byID:
		e, err = tree.Stat(ctx, who, ref)
		return e, hemera.PlainPath(ref), err
	}
	e, path, err = tree.Resolve(ctx, id)
	if err != nil && !errors.Is(err, errs.NotFound) || who.Admin {
		return e, path, err
	}
	if err == nil {
		e, err = tree.Stat(ctx, who, path)
	}
	unseen := []errs.Kind{errs.NotFound, errs.NotDirectory, errs.Denied, errs.Invalid}
	if err != nil && slices.Contains(unseen, errs.KindOf(err)) || err == nil && e.ID != id {
		return hemera.Entry{}, "", errs.New(errs.NotFound, "manager.Resolve", ref, "there is no such file, or it is below a directory that is not for you")
	}
	return e, path, err
}

// idOf returns the id that "fid:<decimal>" or "fxid:<hexadecimal>" names. EOS's other words mean the same here, where
// files and directories share their ids.
func idOf(ref string) (_ hemera.FileID, byID bool, _ error) {
	for prefix, base := range map[string]int{"fid:": 10, "fxid:": 16, "pid:": 10, "pxid:": 16, "cid:": 10, "cxid:": 16, "inode:": 10} {
		digits, ok := strings.CutPrefix(ref, prefix)
		if !ok {
			continue
		}
		id, err := strconv.ParseUint(digits, base, 64)
		if err != nil {
			return 0, true, errs.New(errs.Invalid, "manager.FileInfo", ref, "this is no file id").
				WithRemedy("fid:, pid: and inode: take a decimal number, fxid: and pxid: a hexadecimal one")
		}
		return hemera.FileID(id), true, nil
	}
	return 0, false, nil
}
