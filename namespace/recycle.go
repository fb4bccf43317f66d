package namespace

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"hemera/namespace/accounts"
	"hemera/namespace/schema"
	"hemera/namespace/tables"
	"hemera/rules/policy"
	"hemera/rules/recycle"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// What is removed or replaced below a directory with the attribute sys.recycle, or in a space with a rule of its own,
// goes to a recycle bin: the entry moves, with its id, its pieces and all that is known of it. A bin is a directory of
// ordinary entries, so drains, repairs and checks treat them as any others:
//
//	recycle:/<bin>/<uid of the owner>/<milliseconds of the removal>.<id>
//
// For example, /exp has id 2 and the rule 30d, and alice (1000) removes /exp/f, which is hers and has id 77. It becomes
// recycle:/d00000002/1000/1795415781123.0000004d, with the attribute sys.recycle.path=/exp/f. Thirty days later a step in
// the background finds it as the first of its directory, and unlinks it.
//
// The directory of all bins has no parent, so no path leads there; see schema.BinName. Its totals and those of each bin
// and owner say what is kept. What is in a bin counts in no quota. Attributes of an entry say where it was.

// Attributes that the system sets in bins.
const (
	attrRecycledPath = recycle.Attr + ".path"  // of an entry: where it was; of a bin: the directory that it is for
	attrRecycledWho  = recycle.Attr + ".who"   // of an entry: who removed it
	attrBinSpace     = recycle.Attr + ".space" // of a bin: the space that it is for
)

// recycledAttrs returns the attributes that an entry has in a bin only.
func recycledAttrs() []string { return []string{attrRecycledPath, attrRecycledWho} }

// binMode is the mode of directories of bins. Nobody reaches them by a path, so it says only what is meant.
const binMode = 0o700

// trash returns the bin that keeps nothing: the versions of a file that is removed for good go there, in the same change, and
// are purged by the next step in the background. Nobody sees it.
func trash() bin { return bin{name: trashName, rule: "1s"} }

// trashName is the name of the directory of [trash].
const trashName = "x"

// recycledAs returns the attributes of an entry in a bin.
func recycledAs(path, who string) map[string][]byte {
	return map[string][]byte{attrRecycledPath: []byte(hemera.PlainPath(path)), attrRecycledWho: []byte(who)}
}

// binTx is the recycle bins within one transaction, and the other directories that the system makes.
type binTx tx

// bin is the place of removed entries.
type bin struct {
	name  string // of its directory
	of    string // the directory that has the rule, or the space
	space bool   // it is for a space
	rule  string // as it is set
}

// binOf returns the bin for an entry in the last of dirs; false if it is not to be kept. The nearest directory with a rule
// that holds for the entry's owner decides, then the rule of a file's space.
func (t binTx) binOf(dirs []*hemera.Entry, e *hemera.Entry) (bin, bool) {
	if dirs[0].ID != hemera.RootID { // it is in a bin
		return bin{}, false
	}
	// From the nearest up: a directory that says off ends the search as one with a rule does.
	for s := range policy.Holding(dirs, e.UID, recycle.Attr) {
		if len(s.Value) == 0 || !mayKeep(s, dirs) {
			continue
		}
		rule, err := recycle.Parse(string(s.Value)) // a value that an earlier version let in keeps nothing
		return bin{name: "d" + dirs[s.Dir].ID.Hex(), of: max(pathBelow(dirs[:s.Dir+1]), "/"), rule: string(s.Value)}, err == nil && rule.On()
	}
	// A directory is in no space: below a rule of spaces alone, restores make directories again.
	if e.IsDir() {
		return bin{}, false
	}
	text := t.memory.spaces.rule(e.Space)
	// The view that the rule comes from is the newest; a change of it holds from the next removal on.
	rule, err := recycle.Parse(text)
	return bin{name: "s" + string(e.Space), of: string(e.Space), space: true, rule: text}, err == nil && rule.On()
}

// mayKeep reports whether the setting of a bin may be followed. What is in a bin counts in no quota, so below limits only an
// admin lets entries be kept: else a user would have as much room as the disks have.
func mayKeep(s policy.Setting, dirs []*hemera.Entry) bool {
	return s.By.Admin || string(s.Value) == recycle.Off || !accounts.Limited(dirs)
}

// pathBelow returns the path of the last of dirs below the first, "" for the first itself.
func pathBelow(dirs []*hemera.Entry) string {
	var b strings.Builder
	for _, dir := range dirs[1:] {
		b.WriteByte('/')
		b.WriteString(dir.Name)
	}
	return b.String()
}

// attributes returns the attributes of the bin's directory: they outlive the rule.
func (b bin) attributes() map[string][]byte {
	of := attrRecycledPath
	if b.space {
		of = attrBinSpace
	}
	return map[string][]byte{recycle.Attr: []byte(b.rule), of: []byte(b.of)}
}

// directories returns the directories from that of all bins to the one with an owner's entries. missingDir if one is not
// there yet.
func (b bin) directories(t binTx, uid uint32) ([]*hemera.Entry, error) {
	dirs := make([]*hemera.Entry, 0, 3)
	// From the top down: only the first that is missing can be made now, as the next needs its id.
	parent := hemera.FileID(0)
	for _, m := range [...]missingDir{{name: schema.BinName}, {name: b.name, xattrs: b.attributes()}, {name: ownerName(uid), uid: uid}} {
		dir, err := t.Entry(parent, m.name)
		if err != nil {
			return nil, err
		}
		if dir == nil {
			m.parent, m.mode = parent, binMode
			return nil, &m
		}
		dirs, parent = append(dirs, dir), dir.ID
	}
	// The rule was changed, or the directory was renamed, since something was put here.
	if now := dirs[1]; string(now.Xattrs[recycle.Attr]) != b.rule || !b.space && string(now.Xattrs[attrRecycledPath]) != b.of {
		changed := *now
		changed.Xattrs = b.attributes()
		t.PutEntry(&changed)
		dirs[1] = &changed
	}
	return dirs, nil
}

// ownerName returns the name of the directory with an owner's entries in a bin.
func ownerName(uid uint32) string { return strconv.FormatUint(uint64(uid), 10) }

// directoryOf reads the id of the directory that a bin is for from the bin's name; false if it is for a space.
func directoryOf(bin string) (hemera.FileID, bool) {
	hex, ok := strings.CutPrefix(bin, "d")
	id, err := strconv.ParseUint(hex, 16, 64)
	return hemera.FileID(id), ok && err == nil
}

// binnedName returns the name of an entry in its bin. Names are in the order of removals.
func binnedName(at time.Time, id hemera.FileID) string {
	return fmt.Sprintf("%013d.%s", max(0, at.UnixMilli()), id.Hex())
}

// binnedAt reads when an entry was removed from its name in a bin; the zero time if the name is damaged.
func binnedAt(name string) time.Time {
	text, _, _ := strings.Cut(name, ".")
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// recycle moves the found entry, a file or an empty directory, from the path to the bin. who is the user that removes it.
func (t binTx) recycle(b bin, who, path string, f found) error {
	dirs, err := b.directories(t, f.entry.UID)
	if err != nil {
		return err
	}
	// Readers have the entry as it was. Limits of attributes do not count for those of the system.
	kept := *f.entry
	kept.Xattrs = mergeXattrs(kept.Xattrs, recycledAs(path, who))
	f.entry = &kept
	return tx(t).move(f, found{dirs: dirs, name: binnedName(t.Now(), kept.ID)}, 0)
}

// inBin reports whether a directory is in a recycle bin, or is one.
func (t binTx) inBin(dir *hemera.Entry) (bool, error) {
	dirs, _, err := t.Above(dir)
	return err == nil && dirs[0].ID != hemera.RootID, err
}

// recycled returns what an entry in a bin was, by the directories above it there.
func recycled(dirs []*hemera.Entry, e *hemera.Entry) (adminapi.Recycled, bool) {
	if len(dirs) != 3 || dirs[0].ID == hemera.RootID || !tables.IsTop(dirs[0]) {
		return adminapi.Recycled{}, false
	}
	// What users get is the entry as it was, without the system's attributes.
	r := adminapi.Recycled{Entry: *e, Path: string(e.Xattrs[attrRecycledPath]), Who: string(e.Xattrs[attrRecycledWho]), Removed: binnedAt(e.Name), Bin: binLabel(dirs[1])}
	r.Entry.Xattrs = withoutXattrs(e.Xattrs, recycledAttrs())
	if rule, err := recycle.Parse(string(dirs[1].Xattrs[recycle.Attr])); err == nil {
		r.Expires = rule.Expires(r.Removed)
	}
	return r, true
}

// binLabel names a bin for people.
func binLabel(dir *hemera.Entry) string {
	if space := dir.Xattrs[attrBinSpace]; space != nil {
		return "space " + string(space)
	}
	return string(dir.Xattrs[attrRecycledPath])
}

// bins returns the recycle bins in the same transaction.
func (t tx) bins() binTx { return binTx(t) }
