package recycle

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"hemera/words/hemera"
)

// The attributes that keep replaced contents as versions. The first applies to a whole tree. The second is the user's and
// applies to the files of its directory.
const (
	AttrVersions = "sys.versioning"
	UserVersions = "user.versioning"
)

// VersionsMax is the largest number of versions of a file, so that a change can touch all of them.
const VersionsMax = 100

// versionPrefix begins the names of directories of versions, as in EOS.
const versionPrefix = ".sys.v#."

// ParseVersions reads the number of versions to keep, from 0 to [VersionsMax]. It fails with Invalid.
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

// FileOfVersions returns the name of the file whose versions are in a directory with that name; false if the name does
// not have this form.
func FileOfVersions(dir string) (string, bool) {
	name, ok := strings.CutPrefix(dir, versionPrefix)
	return name, ok && name != ""
}

// VersionName returns the name of a version: seconds of its modification since 1970, and its id in hexadecimal.
func VersionName(mtime time.Time, id hemera.FileID) string {
	return fmt.Sprintf("%d.%08x", max(0, mtime.Unix()), uint64(id))
}

// VersionOf reads a name that [VersionName] made. It returns the time of the version's modification, and its id.
func VersionOf(name string) (mtime time.Time, id hemera.FileID, ok bool) {
	seconds, hex, _ := strings.Cut(name, ".")
	at, err1 := strconv.ParseInt(seconds, 10, 64)
	n, err2 := strconv.ParseUint(hex, 16, 64)
	if err1 != nil || err2 != nil || at < 0 {
		return time.Time{}, 0, false
	}
	return time.Unix(at, 0), hemera.FileID(n), true
}
