package copy

import (
	"hemera/client/direct"
	"hemera/rules/checksum"
)

// Verify says whether to compare the checksum of a copy with those of the servers.
type Verify int

// The ways to verify. VerifyPossible skips servers without checksums.
const (
	VerifyPossible Verify = iota
	VerifyAlways
	VerifyNever
)

// Links says how to handle symbolic links in a tree. Links that are sources themselves are followed.
type Links int

// The ways to handle links. With LinksFiles a link to a file is copied as that file, and others are failures. LinksGood
// follows the links that lead to a file or a directory, and skips all others.
const (
	LinksFiles Links = iota
	LinksFollow
	LinksSkip
	LinksGood
)

// TPC says whether copies between servers go directly from one to the other.
type TPC int

// The ways. TPCFirst copies through this process if a server cannot copy directly.
const (
	TPCFirst TPC = iota
	TPCOnly
	TPCOff
)

// Options says how to copy. The zero value copies single files and replaces none.
type Options struct {
	Recursive bool
	Force     bool // replace files
	// Continue skips existing files with the same size and checksum, and continues parts that an interrupted copy of the
	// same source has left.
	Continue bool
	// Preserve keeps permission bits and times of files and directories, and the owner if root copies. Of servers only
	// Hemera supports it; others fail with Unsupported. Each directory is remembered until the end, in about 300 bytes.
	Preserve bool
	Links    Links
	Persist  bool // servers remove unfinished files
	Parallel int  // files at a time; the default is 4
	Verify   Verify
	TPC      TPC
	// Direct says whether to read coded files of servers from the nodes of their pieces.
	Direct direct.Options
	// PartMin is the size in bytes from which files are written as parts to servers that show no file before its close;
	// smaller ones are written under their names. The default is 16 MiB.
	PartMin int64
	// Progress is called several times a second, and once at the end.
	Progress func(Progress)
	// Report is called for each file that is done or has failed, from several goroutines.
	Report func(from, to string, err error)
	// NewHasher makes the Adler-32 of a copy; nil for [checksum.NewAdler32].
	NewHasher func() checksum.Hasher
}

// withDefaults replaces zero values by defaults.
func (o Options) withDefaults() Options {
	if o.Parallel <= 0 {
		o.Parallel = 4
	}
	if o.PartMin <= 0 {
		o.PartMin = 16 << 20
	}
	return o
}
