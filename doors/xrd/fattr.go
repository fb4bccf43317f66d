package xrd

import (
	"maps"
	"slices"
	"strings"

	"hemera/doors/xrd/translate"
	"hemera/rules/access"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// fattr answers kXR_fattr of a path, at a manager.
//
// The manager has the attributes of a path, and changes are durable when they are answered. Attributes of an open file
// are shown as the client will find them after its close; they change with its commit.
func (n *nameHandlers) fattr(r *request) error {
	q := wire.DecodeFattr(r.Body)
	args, err := wire.ParseFattrArgs(q, r.payload)
	if err != nil {
		return err
	}
	if args.Path == "" { // a handle, at a door without open files
		return errBadHandle
	}
	raw, _ := wire.SplitPath([]byte(args.Path))
	path, err := wire.CleanPath(raw)
	if err != nil {
		return err
	}
	e, err := n.names.Stat(r.conn.ctx, r.who(), path)
	if err != nil {
		return err
	}
	switch q.Subcode {
	case wire.FattrList:
		values := q.Options&wire.FattrData != 0
		return r.ok(wire.AppendFattrList(nil, translate.ShownAttributes(e.Xattrs, e.IsDir()), values))
	case wire.FattrGet:
		// A stat is allowed for every user with access to the directory. User attributes are content and need the right
		// to read.
		if d := access.Decide(r.who(), access.Of(e), access.Read); !d.Allowed && slices.ContainsFunc(args.Names, translate.OfUser) {
			return errs.New(errs.Denied, "xrd.Fattr", path, "permission denied: "+d.Rule)
		}
		return r.ok(wire.AppendFattrResults(nil, translate.LookupAttributes(e.Xattrs, args.Names), true))
	}
	r.lend()
	// Each name has its own result: one failure does not undo the others.
	results := make([]wire.FattrResult, len(args.Names))
	for i, name := range args.Names {
		results[i].Name = name
		var err error
		if q.Subcode == wire.FattrSet {
			// the payload's memory is reused
			err = n.attributes.SetXattr(r.conn.ctx, r.who(), path, translate.AttributeName(name), slices.Clone(args.Values[i]), q.Options&wire.FattrIsNew != 0)
		} else {
			err = n.attributes.RemoveXattr(r.conn.ctx, r.who(), path, translate.AttributeName(name))
		}
		if err != nil {
			results[i].Code = translate.CodeOfError(err)
		}
	}
	return r.ok(wire.AppendFattrResults(nil, results, false))
}

// fattr answers kXR_fattr of an open file. Changes are kept with the handle and committed with the content.
func (f *fileHandlers) fattr(r *request) error {
	q := wire.DecodeFattr(r.Body)
	h, err := r.session.handles.file(q.Handle)
	if err != nil {
		return err
	}
	args, err := wire.ParseFattrArgs(q, r.payload)
	if err != nil {
		return err
	}
	switch q.Subcode {
	case wire.FattrSet, wire.FattrDel: // kept with the handle until the commit
		return f.changeAttributes(r, h, q, args)
	}
	known, err := f.attributesOf(r, h)
	if err != nil {
		return err
	}
	if q.Subcode == wire.FattrList {
		return r.ok(wire.AppendFattrList(nil, translate.ShownAttributes(known, false), q.Options&wire.FattrData != 0))
	}
	return r.ok(wire.AppendFattrResults(nil, translate.LookupAttributes(known, args.Names), true))
}

// attributesOf returns the attributes of an open file: the committed ones, with the changes of this handle.
func (f *fileHandlers) attributesOf(r *request, h *fileHandle) (map[string][]byte, error) {
	known, err := f.committedAttributes(r, h)
	if err == nil {
		translate.ApplyAttributes(known, h.attributes)
	}
	return known, err
}

// committedAttributes returns the attributes of an open file without the changes of this handle.
func (f *fileHandlers) committedAttributes(r *request, h *fileHandle) (map[string][]byte, error) {
	known := map[string][]byte{}
	if f.resolve != nil {
		e, _, err := f.resolve(r.conn.ctx, h.file.Info().ID)
		if err != nil && errs.KindOf(err) != errs.NotFound {
			return nil, err
		}
		if info := h.file.Info(); info.Writable {
			// A right to write does not include reading. The handle's own changes are shown below.
			maps.Copy(known, access.Attributes(hemera.Identity{UID: info.UID, GID: info.GID}, &e))
		} else {
			maps.Copy(known, e.Xattrs)
		}
	}
	if pending, ok := h.file.(hemera.XattrSetter); ok {
		translate.ApplyAttributes(known, pending.Xattrs())
	}
	return known, nil
}

// changeAttributes sets or removes attributes of a file that is being written. Each name has its own result.
func (f *fileHandlers) changeAttributes(r *request, h *fileHandle, q wire.Fattr, args wire.FattrArgs) error {
	if err := h.forWriting(); err != nil {
		return err
	}
	if _, ok := h.file.(hemera.XattrSetter); !ok { // open for reading, or the commit has no attributes
		return translate.Refuse(wire.Unsupported, "attributes of this open file cannot be changed; close it first")
	}
	committed, err := f.committedAttributes(r, h)
	if err != nil {
		return err
	}
	known := maps.Clone(committed)
	translate.ApplyAttributes(known, h.attributes)
	// total is the size of the entry's attributes, in bytes. It is checked here, because after a failed close the client
	// could not know which change caused it.
	total := 0
	for name, value := range known {
		total += len(name) + len(value)
	}
	results := make([]wire.FattrResult, len(args.Names))
	for i, name := range args.Names {
		full := translate.AttributeName(name)
		old, exists := known[full]
		had := 0
		if exists {
			had = len(full) + len(old)
		}
		_, ours := h.attributes[full] // a second change of one name needs no more room
		results[i].Name = name
		switch {
		// sys. attributes control policies; the right to write a file does not include them.
		case !strings.HasPrefix(full, translate.UserPrefix):
			results[i].Code = wire.NotAuthorized
		case q.Subcode == wire.FattrDel && !exists:
			results[i].Code = wire.AttrNotFound
		case q.Subcode == wire.FattrDel:
			// The commit must remove the stored attribute, and forget one that was only set here.
			if _, stored := committed[full]; stored {
				h.setAttribute(full, nil)
			} else {
				delete(h.attributes, full)
			}
			delete(known, full)
			total -= had
		case exists && q.Options&wire.FattrIsNew != 0:
			results[i].Code = wire.ItExists
		case !ours && len(h.attributes) >= hemera.XattrsMax:
			results[i].Code = wire.ArgTooLong
		case total-had+len(full)+len(args.Values[i]) > hemera.XattrsBytesMax:
			results[i].Code = wire.ArgTooLong // the commit would refuse it together with everything else
		default:
			value := append([]byte{}, args.Values[i]...) // never nil
			h.setAttribute(full, value)
			known[full] = value
			total += len(full) + len(value) - had
		}
	}
	return r.ok(wire.AppendFattrResults(nil, results, false))
}
