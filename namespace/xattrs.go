package namespace

import (
	"bytes"
	"maps"
	"strings"

	"hemera/rules/access"
	"hemera/rules/lifecycle"
	"hemera/rules/policy"
	"hemera/tape/catalogue"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Attributes are part of their entry's record, and entries are shared with readers: every change makes another map.

// withSetter returns who set which attributes, with one more. Entries are shared with readers, so the map is not changed.
func withSetter(setters map[string]hemera.Setter, name string, by hemera.Setter) map[string]hemera.Setter {
	out := make(map[string]hemera.Setter, len(setters)+1)
	maps.Copy(out, setters)
	out[name] = by
	return out
}

// mergeXattrs returns old with fresh set in addition. Entries are shared with readers, so neither map is changed.
func mergeXattrs(old, fresh map[string][]byte) map[string][]byte {
	if len(fresh) == 0 {
		return old
	}
	out := make(map[string][]byte, len(old)+len(fresh))
	maps.Copy(out, old)
	for name, value := range fresh {
		out[name] = bytes.Clone(value)
	}
	return out
}

// withoutXattrs returns all attributes but those in gone. The map itself stays as it is.
func withoutXattrs(all map[string][]byte, gone []string) map[string][]byte {
	if len(gone) == 0 {
		return all
	}
	out := maps.Clone(all)
	for _, name := range gone {
		delete(out, name)
	}
	if len(out) == 0 {
		return nil // as an entry that never had any
	}
	return out
}

// checkXattr refuses an attribute whose name is in no known group, or that is too large by itself.
func checkXattr(op, path, name string, value []byte) error {
	switch {
	case !strings.HasPrefix(name, "user.") && !strings.HasPrefix(name, "sys."):
		return refuse(errs.Invalid, op, path, "attribute %q must begin with user. or sys.", name)
	case len(name) > hemera.XattrNameMax:
		return refuse(errs.TooLarge, op, path, "an attribute's name has at most %d bytes, not %d", hemera.XattrNameMax, len(name))
	case len(value) > hemera.XattrValueMax:
		return refuse(errs.TooLarge, op, path, "an attribute has at most %d bytes, not %d", hemera.XattrValueMax, len(value))
	}
	return nil
}

// checkXattrs refuses attributes that are too many, or too large together: they are part of the entry's record,
// which is read with every lookup.
func checkXattrs(op, path string, all map[string][]byte) error {
	total := 0
	for name, value := range all {
		if err := checkXattr(op, path, name, value); err != nil {
			return err
		}
		total += len(name) + len(value)
	}
	if len(all) > hemera.XattrsMax {
		return refuse(errs.TooLarge, op, path, "an entry has at most %d attributes, not %d", hemera.XattrsMax, len(all))
	}
	if total > hemera.XattrsBytesMax {
		return refuse(errs.TooLarge, op, path, "an entry's attributes have at most %d bytes together, not %d", hemera.XattrsBytesMax, total)
	}
	return nil
}

// permitXattr decides who may set or remove an attribute of the entry. What steers (see package policy) is for the owner
// of the entry, and what an admin set for admins alone, as it holds for others below. Other names take the right to write,
// or ownership. Of files, some names are the system's.
func permitXattr(op, path string, who hemera.Identity, e *hemera.Entry, name string) error {
	switch {
	case !e.IsDir() && catalogue.Reserved(name):
		return refuse(errs.Denied, op, path, "attribute %s says what the system did with tapes, and only the system sets it", name)
	case !e.IsDir() && name == lifecycle.AttrAccess && !who.Admin:
		return refuse(errs.Denied, op, path, "attribute %s says when the file was read, and only the system and admins set it", name)
	case e.IsDir() && e.Setters[name].Admin && !who.Admin:
		return refuse(errs.Denied, op, path, "an admin set attribute %s, and it holds for all users below", name).
			WithRemedy("ask an admin, or set it in a directory of yours below: there it holds for your own files")
	}
	ownership := permit(op, path, who, e, access.ChangeAttributes)
	if ownership == nil || e.IsDir() && policy.Steers(name) || strings.HasPrefix(name, "sys.") {
		return ownership
	}
	return permit(op, path, who, e, access.Write)
}
