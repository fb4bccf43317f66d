package adminapi

import (
	"context"
	"strings"
	"time"

	"hemera/words/hemera"
)

// RecycleBin has the entries that were removed or replaced and are kept: in bins for a while, and as versions beside
// their file. Users see, restore and purge what they own, admins everything. Calls block for the namespace's store. A
// change is durable at return; disks remove pieces later.
type RecycleBin interface {
	// Erase is Names.Remove for good, past the bin. Denied unless who is an admin.
	Erase(ctx context.Context, who hemera.Identity, path string, kind hemera.EntryKind) error
	// ListRecycled calls visit for each entry that matches, with bounded memory: bin after bin and owner after owner, oldest
	// first. It ends with visit's error, if any.
	ListRecycled(ctx context.Context, who hemera.Identity, q RecycleQuery, visit func(Recycled) error) error
	// Restore moves an entry back to the tree, and returns its path. NotFound: nothing that who may see has the id. Exists:
	// the path is taken. OverQuota, Denied.
	Restore(ctx context.Context, who hemera.Identity, r RestoreRequest) (path string, err error)
	// Purge removes an entry of a bin for good. NotFound.
	Purge(ctx context.Context, who hemera.Identity, id hemera.FileID) error
	// RestoreVersion makes an earlier content of a file, by the name of its version, the content now; that becomes a version.
	// The name keeps its mode and attributes. NotFound, Denied.
	RestoreVersion(ctx context.Context, who hemera.Identity, path, version string) error
	// ListBins lists all bins. Denied unless who is an admin.
	ListBins(ctx context.Context, who hemera.Identity) ([]Bin, error)
}

// Recycled is an entry in a recycle bin.
type Recycled struct {
	Entry   hemera.Entry // as it is there; its name is the bin's
	Path    string       // where it was
	Who     string       // who removed or replaced it
	Removed time.Time
	Expires time.Time // zero: not for its age
	Bin     string    // the directory that the bin is for, or "space" and a name
}

// RecycleQuery says what to list.
type RecycleQuery struct {
	All   bool   // of all owners; users get their own in any case
	User  uint32 // without All
	Below string // what was at this path or below it; "" for everything
}

// Matches reports whether an entry was where the query asks for.
func (q RecycleQuery) Matches(r Recycled) bool {
	return q.Below == "" || q.Below == "/" || r.Path == q.Below || strings.HasPrefix(r.Path, q.Below+"/")
}

// RestoreRequest says what to restore, and where to.
type RestoreRequest struct {
	ID      hemera.FileID
	To      string // "" for where it was
	Parents bool   // make missing directories on the way
}

// Bin is one recycle bin.
type Bin struct {
	Of     string            // the directory that it is for, or "space" and a name
	Rule   string            // what it keeps
	Tree   hemera.TreeTotals // what is in it
	Owners int64             // of entries
	Oldest time.Time         // when its oldest entry was removed; zero: it is empty
}
