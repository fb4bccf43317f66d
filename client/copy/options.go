package copy

import (
	"hemera/client/direct"
	"hemera/rules/checksum"
)

// Verify says whether the checksum made while copying is compared with those of the servers.
type Verify int

// The ways to verify. VerifyPossible passes over servers that have no checksums.
const (
	VerifyPossible Verify = iota
	VerifyAlways
	VerifyNever
)

// Links says what to do about symbolic links that are found in a tree. Links that are sources themselves are followed.
type Links int

// The ways. With LinksFiles a link to a file is copied as that file, and others are failures. LinksGood follows the
// links that lead to a file or a directory, and skips all others.
const (
	LinksFiles Links = iota
	LinksFollow
	LinksSkip
	LinksGood
)

// TPC says whether copies between servers go directly from one to the other.
type TPC int

// The ways. TPCFirst streams through this process where a server cannot copy directly.
const (
	TPCFirst TPC = iota
	TPCOnly
	TPCOff
)

// Options say how to copy. The zero value copies single files and replaces none.
type Options struct {
	Recursive bool
	Force     bool // replace files
	// Continue skips files that are there with the same size and checksum, and goes on with parts
	// that an interrupted copy of the same source has left.
	Continue bool
	// Preserve keeps permission bits and times of files and directories, and the owner if root copies. Of
	// servers only Hemera can: Unsupported. Each directory is remembered until the end, about 300 bytes.
	Preserve bool
	Links    Links
	Persist  bool // have servers remove unfinished files
	Parallel int  // files at a time; 4
	Verify   Verify
	TPC      TPC
	// Direct says whether coded files of servers are read from the nodes of their pieces.
	Direct direct.Options
	// PartMin is the size in bytes from which files are written as parts to servers that show no file before its
	// close; smaller ones are written under their names. 16 MiB.
	PartMin int64
	// Progress is called several times a second, and once at the end.
	Progress func(Progress)
	// Report is called for each file when it is done or has failed, from several goroutines.
	Report func(from, to string, err error)
	// NewHasher makes the Adler-32 that runs along with a copy; nil for [checksum.NewAdler32].
	NewHasher func() checksum.Hasher
}

// withDefaults fills in what is zero.
func (o Options) withDefaults() Options {
	if o.Parallel <= 0 {
		o.Parallel = 4
	}
	if o.PartMin <= 0 {
		o.PartMin = 16 << 20
	}
	return o
}
