package namespace

import (
	"slices"
	"time"

	"hemera/namespace/accounts"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// The rules of a content alone, which need no tree, are here; commit.go decides by the tree.

// checkCommit refuses what no open and no node can mean, before anything is looked up: Invalid.
func checkCommit(c *Commit) error {
	if c.ID == 0 || c.Gen == 0 || c.Parent == 0 || c.Size < 0 || c.Size > hemera.FileSizeMax {
		return refuse(errs.Invalid, "Commit", c.Name, "id %d, generation %d, parent %d, size %d do not make a file", c.ID, c.Gen, c.Parent, c.Size)
	}
	if err := c.Layout.Validate(); err != nil {
		return errs.As(err, errs.Invalid, "namespace.Commit", c.Name)
	}
	if len(c.Pieces) > int(c.Layout.Pieces) {
		return refuse(errs.Invalid, "Commit", c.Name, "%d pieces for layout %s", len(c.Pieces), c.Layout)
	}
	seen := make(map[uint8]bool) // indexes of pieces
	for _, p := range c.Pieces {
		if p.Disk == 0 || !fits(c.Layout, c.Size, p.Index) || seen[p.Index] {
			return refuse(errs.Invalid, "Commit", c.Name, "piece %d on disk %d does not fit layout %s", p.Index, p.Disk, c.Layout)
		}
		seen[p.Index] = true
	}
	if err := checkSums(c); err != nil {
		return err
	}
	if err := checkMode("Commit", c.Name, c.Mode); err != nil {
		return err
	}
	if !c.Mtime.IsZero() {
		if err := checkTime("Commit", c.Name, c.Mtime); err != nil {
			return err
		}
	}
	if err := checkName("Commit", c.Name, c.Name); err != nil {
		return err
	}
	return errs.As(hemera.CheckName(c.Name), errs.Invalid, "namespace.Commit", c.Name)
}

// checkSums refuses checksums that could be stored and not be read again.
func checkSums(c *Commit) error {
	seen := make(map[hemera.ChecksumKind]bool)
	for _, sum := range c.Sums {
		if !sum.Kind.Valid() || seen[sum.Kind] {
			return refuse(errs.Invalid, "Commit", c.Name, "checksum kind %d is not known, or there twice", sum.Kind)
		}
		seen[sum.Kind] = true
	}
	return nil
}

// made fails unless the content that has the commit's number is what it would make: then the request only came
// again. Another content has the number where a manager over an older copy of the store handed it out once more,
// and the right store came back.
func (c *Commit) made(now *hemera.Entry) error {
	same := now.Size == c.Size
	for _, sum := range c.Sums {
		is, ok := hemera.FindChecksum(now.Checksums, sum.Kind)
		same = same && (!ok || is == sum)
	}
	if !same {
		return conflict(c, "another content has this number")
	}
	return nil
}

// conflict makes the error of a commit that is refused for good.
func conflict(c *Commit, why string) *errs.Error {
	return refuse(errs.Conflict, "Commit", "fid:"+c.ID.String()+" "+c.Name, "%s", why)
}

// fill copies the content of a commit into the entry. Its slices are copied, because the entry is shared with
// readers from now on; pieces are stored in the order of their indexes.
func fill(e *hemera.Entry, c *Commit) {
	e.Mtime, e.Size, e.Gen, e.Layout, e.Space = c.Mtime.UTC().Round(0), c.Size, c.Gen, c.Layout, c.Space
	e.Checksums, e.Pieces = slices.Clone(c.Sums), slices.Clone(c.Pieces)
	slices.SortFunc(e.Pieces, func(a, b hemera.Piece) int { return int(a.Index) - int(b.Index) })
}

// converts reports whether the commit has the content of the entry, in whatever form: the same size, and the same
// checksum of each kind that is known of the entry. Without such a proof a fault of one node would replace a good file.
func converts(now *hemera.Entry, c *Commit) bool {
	// CRC32C is among them for every file, so there is always one to compare.
	for _, sum := range now.Checksums {
		if is, ok := hemera.FindChecksum(c.Sums, sum.Kind); !ok || is != sum {
			return false
		}
	}
	return c.Size == now.Size
}

// Commit is one content to make visible.
//
// ID, Gen, Parent, Name, Mode, UID and GID are those that the open prepared, as the capability carries them. The rest
// is what the head reports when all pieces are sealed.
type Commit struct {
	ID         hemera.FileID
	Gen        hemera.Generation // a write keeps its generation however often its commit is sent
	BaseGen    hemera.Generation // the generation this one replaces; zero: the file is new
	Replaces   hemera.FileID     // with BaseGen: the content is a new file's, which takes the place of this one
	Force      bool              // replace whatever generation is there, unless it was opened later
	Convert    bool              // the same content in another form: all else of the file stays as it is
	Parent     hemera.FileID     // the directory of a new file, found by id: it may have moved since the open
	Name       string            // of a new file; an existing one keeps its name
	Mode       uint32            // of a new file
	UID, GID   uint32            // of a new file
	Size       int64             // in bytes
	Layout     hemera.Layout
	Space      hemera.SpaceName  // whose policy the file was stored by
	Sums       []hemera.Checksum // one of each kind at most
	Pieces     []hemera.Piece    // that are sealed; fewer than the layout has make the file incomplete
	Mtime      time.Time         // zero: the time of the commit
	Xattrs     map[string][]byte // set in addition to those there
	XattrsGone []string          // attributes to remove; those that are not there are no error
	Who        string            // for the event log
	DiskSet    uint64            // the version of the disks that Pieces were decided on; see [Pieces.DiskSet]
	Again      bool              // a refusal is not for ever: the pieces stay, and it may be asked for again
	// Claim names what the write has claimed of limits. The commit turns it into usage, and no quota refuses what the claim promised.
	// A conversion names a claim that is not there. Zero: the content is not a user's, and no quota refuses it.
	Claim accounts.ClaimID
	// Promised is the size up to which no quota refuses the content if the claim is not known; -1 promises nothing.
	Promised int64
}

// number returns the number that the commit's write was given when it was prepared, and no other write ever: the new
// file's id, or the generation of the new content of a file that stays.
func (c *Commit) number() hemera.FileID {
	if c.BaseGen != 0 && c.Replaces == 0 {
		return hemera.FileID(c.Gen)
	}
	return c.ID
}
