package recycle

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"hemera/words/hemera"
)

// The attributes that keep replaced contents as versions. The first holds for a whole tree, the second is the user's and
// holds for the files of its directory.
const (
	AttrVersions = "sys.versioning"
	UserVersions = "user.versioning"
)

// VersionsMax bounds the number of versions of a file, so that a change can touch all of them.
const VersionsMax = 100

// versionPrefix begins the names of directories of versions. It is EOS's.
const versionPrefix = ".sys.v#."

// ParseVersions reads the number of versions to keep, from 0 to [VersionsMax]. Invalid.
func ParseVersions(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > VersionsMax {
		return 0, invalid(AttrVersions, text, fmt.Sprintf("%q is not a whole number from 0 to %d", text, VersionsMax)).
			WithRemedy(fmt.Sprintf("write how many versions of a file to keep: 0 for none, %d at most", VersionsMax))
	}
	return n, nil
}

// VersionDir returns the name of the directory with the versions of a file, which is in the file's own directory; false
// if that name would be too long.
func VersionDir(name string) (string, bool) {
	dir := versionPrefix + name
	return dir, len(dir) <= hemera.NameMax
}

// FileOfVersions returns the name of the file whose versions a directory with the name holds; false if it is no such
// name.
func FileOfVersions(dir string) (string, bool) {
	name, ok := strings.CutPrefix(dir, versionPrefix)
	return name, ok && name != ""
}

// VersionName returns the name of a version: seconds of its modification since 1970, and its id in hexadecimal.
func VersionName(mtime time.Time, id hemera.FileID) string {
	return fmt.Sprintf("%d.%08x", max(0, mtime.Unix()), uint64(id))
}

// VersionOf reads a name that [VersionName] made: when the version was modified, and its id.
func VersionOf(name string) (mtime time.Time, id hemera.FileID, ok bool) {
	seconds, hex, _ := strings.Cut(name, ".")
	at, err1 := strconv.ParseInt(seconds, 10, 64)
	n, err2 := strconv.ParseUint(hex, 16, 64)
	if err1 != nil || err2 != nil || at < 0 {
		return time.Time{}, 0, false
	}
	return time.Unix(at, 0), hemera.FileID(n), true
}
