package statedir

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hemera/disk"
	"hemera/platform/vfs"
	"hemera/words/errs"
)

// UpShape has the parameters of the last start of hemera up. The next start uses them if its command line leaves them
// out.
type UpShape struct {
	Nodes, Disks int           // as --nodes and --disks
	Grace        time.Duration // repair.grace
}

// shapeFile has the shape, below the directory of hemera up: JSON with a version.
const (
	shapeFile    = "up.json"
	shapeVersion = 1
)

// shapeRecord is the content of shapeFile.
type shapeRecord struct {
	Version      int
	Nodes, Disks int
	Grace        string // as time.Duration prints it
}

// LoadUpShape reads the parameters of the last start of hemera up in a directory. Without a record it counts the existing
// nodes and disks, and Grace is 0, which means unknown. ok is false for a new directory.
func LoadUpShape(dir string) (s UpShape, ok bool, err error) {
	path := filepath.Join(dir, shapeFile)
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		s.Nodes, s.Disks = countNumbered(dir, "node"), countNumbered(dir, "disk")
		return s, s.Nodes > 0 && s.Disks >= s.Nodes, nil
	}
	if err != nil {
		return s, false, errs.Wrap(err, "statedir.LoadUpShape", path)
	}
	var r shapeRecord
	if err = json.Unmarshal(text, &r); err == nil {
		s.Nodes, s.Disks = r.Nodes, r.Disks
		s.Grace, err = time.ParseDuration(r.Grace)
	}
	if err != nil || r.Version != shapeVersion || s.Nodes < 1 || s.Disks < s.Nodes || s.Grace <= 0 {
		return s, false, errs.New(errs.Invalid, "statedir.LoadUpShape", path, "it does not say how the cluster was started").
			WithRemedy("remove the file, and start with --nodes, --disks and --repair-grace as it was")
	}
	return s, true, nil
}

// SaveUpShape records the parameters of a start. A rename replaces the record, so that it is never half written.
func SaveUpShape(dir string, s UpShape) error {
	text, err := json.Marshal(shapeRecord{shapeVersion, s.Nodes, s.Disks, s.Grace.String()})
	if err != nil {
		return errs.Wrap(err, "statedir.SaveUpShape", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return errs.Wrap(err, "statedir.SaveUpShape", dir)
	}
	path := filepath.Join(dir, shapeFile)
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return errs.Wrap(err, "statedir.SaveUpShape", path)
	}
	return errs.Wrap(os.Rename(path+".new", path), "statedir.SaveUpShape", path)
}

// CheckUpDisks fails with Invalid if the directory has more disks than the cluster is started with: the files on the
// others would be out of reach. It ignores directories after a gap in the numbers.
func CheckUpDisks(dir string, disks int) error {
	for n := disks + 1; n <= disks+upDisksMax; n++ {
		path := filepath.Join(dir, fmt.Sprintf("disk%d", n))
		if _, err := os.Stat(path); err != nil {
			return nil
		}
		if _, err := disk.ReadLabel(vfs.OS{}, path); err == nil {
			return errs.New(errs.Invalid, "statedir.CheckUpDisks", path, fmt.Sprintf("--disks %d leaves this disk out, with the files it holds", disks)).
				WithRemedy("start with all disks; then empty the disk (hemera fs set ID drain), remove it (hemera fs rm ID) and delete its directory")
		}
	}
	return nil
}

// CheckUpManager fails with Corrupt if the directory has disks of a cluster and no manager's store. Disks are made after
// the store, so the store is lost, or its filesystem is not mounted; for clients of a new, empty store their files would
// not exist.
func CheckUpManager(dir string) error {
	manager, first := filepath.Join(dir, UpManager), filepath.Join(dir, "disk1")
	if HasStore(manager) {
		return nil
	}
	if _, err := disk.ReadLabel(vfs.OS{}, first); err != nil {
		return nil // a new directory
	}
	return errs.New(errs.Corrupt, "statedir.CheckUpManager", manager, "the namespace is missing, and "+first+" beside it says that there was one").
		WithRemedy("mount or put back the directory; if it is lost, restore the newest backup into it with `hemera ns restore FILE " + manager +
			"`, or make the namespace again from the disks: `hemera ns rebuild prepare --help`")
}

// upDisksMax is the largest number of disks that settings allow.
const upDisksMax = 1024

// countNumbered counts the directories name1, name2, … up to the first that is missing.
func countNumbered(dir, name string) (n int) {
	for n < upDisksMax {
		if info, err := os.Stat(filepath.Join(dir, fmt.Sprintf("%s%d", name, n+1))); err != nil || !info.IsDir() {
			break
		}
		n++
	}
	return n
}
