package xrd

import (
	"maps"
	"slices"
	"strings"

	"hemera"
	"hemera/errs"
	"hemera/rules/access"
	"hemera/rules/wire"
)

// userPrefix is the part of the attributes' namespace that clients name without prefix.
const userPrefix = "user."

// attributeName is the stored name of a client's: "x" is "user.x", "sys.x" is itself.
func attributeName(name string) string {
	if strings.HasPrefix(name, "sys.") {
		return name
	}
	return userPrefix + name
}

// usersOwn reports whether a client's name is of an attribute that only readers of the entry may see.
func usersOwn(name string) bool { return strings.HasPrefix(attributeName(name), userPrefix) }

// shownAttributes lists attributes under the names clients use for them. Of files only the users'
// own are shown, so that a copy of all of them can be made by anyone.
func shownAttributes(all map[string][]byte, system bool) []wire.FattrResult {
	var list []wire.FattrResult
	for _, name := range slices.Sorted(maps.Keys(all)) {
		short, ok := strings.CutPrefix(name, userPrefix)
		if ok || system && strings.HasPrefix(name, "sys.") {
			list = append(list, wire.FattrResult{Name: short, Value: all[name]})
		}
	}
	return list
}

// lookupAttributes answers a get from a set of attributes.
func lookupAttributes(all map[string][]byte, names []string) []wire.FattrResult {
	results := make([]wire.FattrResult, len(names))
	for i, name := range names {
		value, ok := all[attributeName(name)]
		results[i] = wire.FattrResult{Name: name, Value: value}
		if !ok {
			results[i].Code = wire.AttrNotFound
		}
	}
	return results
}

// fattrPath answers kXR_fattr of a path, at a manager.
func (c *conn) fattrPath(r *request) error {
	q := wire.DecodeFattr(r.Body)
	args, err := wire.ParseFattrArgs(q, r.payload)
	if err != nil {
		return err
	}
	if args.Path == "" {
		return errBadHandle
	}
	raw, _ := wire.SplitPath([]byte(args.Path))
	path, err := wire.CleanPath(raw)
	if err != nil {
		return err
	}
	e, err := c.srv.o.Names.Stat(c.ctx, c.who(), path)
	if err != nil {
		return err
	}
	switch q.Subcode {
	case wire.FattrList:
		values := q.Options&wire.FattrData != 0
		return c.ok(r, wire.AppendFattrList(nil, shownAttributes(e.Xattrs, e.IsDir()), values))
	case wire.FattrGet:
		if d := access.Decide(c.who(), access.Of(e), access.Read); !d.Allowed && slices.ContainsFunc(args.Names, usersOwn) {
			return errs.New(errs.Denied, "xrd.ReadAttributes", path, "permission denied: "+d.Rule)
		}
		return c.ok(r, wire.AppendFattrResults(nil, lookupAttributes(e.Xattrs, args.Names), true))
	}
	c.lend()
	results := make([]wire.FattrResult, len(args.Names))
	for i, name := range args.Names {
		results[i].Name = name
		var err error
		if q.Subcode == wire.FattrSet {
			err = c.srv.o.Attributes.SetXattr(c.ctx, c.who(), path, attributeName(name), slices.Clone(args.Values[i]), q.Options&wire.FattrIsNew != 0)
		} else {
			err = c.srv.o.Attributes.RemoveXattr(c.ctx, c.who(), path, attributeName(name))
		}
		if err != nil {
			results[i].Code = codeOfError(err)
		}
	}
	return c.ok(r, wire.AppendFattrResults(nil, results, false))
}

// fattrHandle answers kXR_fattr at a node: of an open file. What is set is kept with the handle and
// committed with the content; paths are the manager's.
func (c *conn) fattrHandle(r *request) error {
	q := wire.DecodeFattr(r.Body)
	if r.byPath() {
		return c.toManager(r)
	}
	h, err := c.session.handle(q.Handle)
	if err != nil {
		return err
	}
	args, err := wire.ParseFattrArgs(q, r.payload)
	if err != nil {
		return err
	}
	switch q.Subcode {
	case wire.FattrSet, wire.FattrDel:
		return c.changeAttributes(r, h, q, args)
	}
	known, err := c.attributesOf(h)
	if err != nil {
		return err
	}
	if q.Subcode == wire.FattrList {
		return c.ok(r, wire.AppendFattrList(nil, shownAttributes(known, false), q.Options&wire.FattrData != 0))
	}
	return c.ok(r, wire.AppendFattrResults(nil, lookupAttributes(known, args.Names), true))
}

// attributesOf is what an open file has: committed, and set since.
func (c *conn) attributesOf(h *handle) (map[string][]byte, error) {
	known, err := c.attributesBelow(h)
	if err == nil {
		applyAttributes(known, h.attributes)
	}
	return known, err
}

// attributesBelow is what an open file has without what this handle changed.
func (c *conn) attributesBelow(h *handle) (map[string][]byte, error) {
	known := map[string][]byte{}
	if c.srv.o.Resolve != nil {
		e, _, err := c.srv.o.Resolve(c.ctx, h.file.Info().ID)
		if err != nil && errs.KindOf(err) != errs.NotFound {
			return nil, err
		}
		if info := h.file.Info(); info.Writable {
			// The right to write is none to read. What the handle itself sets is shown below.
			maps.Copy(known, access.Attributes(hemera.Identity{UID: info.UID, GID: info.GID}, &e))
		} else {
			maps.Copy(known, e.Xattrs)
		}
	}
	if pending, ok := h.file.(hemera.XattrSetter); ok {
		applyAttributes(known, pending.Xattrs())
	}
	return known, nil
}

// applyAttributes makes changes to a set of attributes; a nil value removes one.
func applyAttributes(known, changes map[string][]byte) {
	for name, value := range changes {
		if value == nil {
			delete(known, name)
		} else {
			known[name] = value
		}
	}
}

// changeAttributes sets or removes attributes of a file being written.
func (c *conn) changeAttributes(r *request, h *handle, q wire.Fattr, args wire.FattrArgs) error {
	if err := h.forWriting(); err != nil {
		return err
	}
	if _, ok := h.file.(hemera.XattrSetter); !ok {
		return refuse(wire.Unsupported, "attributes of this open file cannot be changed; close it first")
	}
	below, err := c.attributesBelow(h)
	if err != nil {
		return err
	}
	known := maps.Clone(below)
	applyAttributes(known, h.attributes)
	total := 0
	for name, value := range known {
		total += len(name) + len(value)
	}
	results := make([]wire.FattrResult, len(args.Names))
	for i, name := range args.Names {
		full := attributeName(name)
		old, exists := known[full]
		had := 0
		if exists {
			had = len(full) + len(old)
		}
		_, ours := h.attributes[full]
		results[i].Name = name
		switch {
		case !strings.HasPrefix(full, userPrefix):
			results[i].Code = wire.NotAuthorized
		case q.Subcode == wire.FattrDel && !exists:
			results[i].Code = wire.AttrNotFound
		case q.Subcode == wire.FattrDel:
			if _, stored := below[full]; stored {
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
			results[i].Code = wire.ArgTooLong // the commit would refuse it, with all else
		default:
			value := append([]byte{}, args.Values[i]...) // never nil
			h.setAttribute(full, value)
			known[full] = value
			total += len(full) + len(value) - had
		}
	}
	return c.ok(r, wire.AppendFattrResults(nil, results, false))
}

func (h *handle) setAttribute(name string, value []byte) {
	if h.attributes == nil {
		h.attributes = map[string][]byte{}
	}
	h.attributes[name] = value
}

// handAttributes gives the file what was set through the handle, so that it is committed with it.
func (h *handle) handAttributes() {
	if pending, ok := h.file.(hemera.XattrSetter); ok {
		for name, value := range h.attributes {
			pending.SetXattr(name, value)
		}
	}
}
