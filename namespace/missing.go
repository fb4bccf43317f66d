package namespace

import "hemera/words/hemera"

// missingDir is the error of a change that needs a directory of the system: what it would be.
type missingDir struct {
	parent   hemera.FileID // 0: nothing is above it
	name     string
	mode     uint32
	uid, gid uint32
	xattrs   map[string][]byte
}

// Error implements error. No caller sees it.
func (m *missingDir) Error() string { return "the directory " + m.name + " is missing" }

// missingNames is the error of a change that needs the names in a directory as they are now.
type missingNames struct{ dir hemera.FileID }

// Error implements error. No caller sees it.
func (m *missingNames) Error() string { return "the names in fid:" + m.dir.String() + " are needed" }
