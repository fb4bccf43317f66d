package daemon

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hemera/core/disk"
	"hemera/errs"
	"hemera/platform/vfs"
)

// UpShape is how a cluster in one process was started, and is started again when nothing else is said.
type UpShape struct {
	Nodes, Disks int
	Grace        time.Duration // see ManagerOptions.RepairGrace
}

// shapeFile is where DIR keeps it: JSON with a version. A directory from before has none.
const (
	shapeFile    = "up.json"
	shapeVersion = 1
)

type shapeRecord struct {
	Version      int
	Nodes, Disks int
	Grace        string
}

// LoadUpShape reads how the cluster in the directory was started last. Without a record, it counts the
// nodes and disks that are there; ok is false for a new directory, and Grace 0 where nothing is known.
func LoadUpShape(dir string) (s UpShape, ok bool, err error) {
	path := filepath.Join(dir, shapeFile)
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		s.Nodes, s.Disks = countNumbered(dir, "node"), countNumbered(dir, "disk")
		return s, s.Nodes > 0 && s.Disks >= s.Nodes, nil
	}
	if err != nil {
		return s, false, errs.Wrap(err, "hemera up", path)
	}
	var r shapeRecord
	if err = json.Unmarshal(text, &r); err == nil {
		s.Nodes, s.Disks = r.Nodes, r.Disks
		s.Grace, err = time.ParseDuration(r.Grace)
	}
	if err != nil || r.Version != shapeVersion || s.Nodes < 1 || s.Disks < s.Nodes || s.Grace <= 0 {
		return s, false, errs.New(errs.Invalid, "hemera up", path, "it does not say how the cluster was started").
			WithRemedy("remove the file, and start with --nodes, --disks and --repair-grace as it was")
	}
	return s, true, nil
}

// SaveUpShape keeps how the cluster is started, for the next time.
func SaveUpShape(dir string, s UpShape) error {
	text, err := json.Marshal(shapeRecord{shapeVersion, s.Nodes, s.Disks, s.Grace.String()})
	if err != nil {
		return errs.Wrap(err, "hemera up", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return errs.Wrap(err, "hemera up", dir)
	}
	path := filepath.Join(dir, shapeFile)
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return errs.Wrap(err, "hemera up", path)
	}
	return errs.Wrap(os.Rename(path+".new", path), "hemera up", path)
}

// CheckUpDisks refuses to start with fewer disks than the directory has: what the others hold would be
// out of reach.
func CheckUpDisks(dir string, disks int) error {
	for n := disks + 1; n <= disks+upDisksMax; n++ {
		path := filepath.Join(dir, fmt.Sprintf("disk%d", n))
		if _, err := os.Stat(path); err != nil {
			return nil
		}
		if _, err := disk.ReadLabel(vfs.OS{}, path); err == nil {
			return errs.New(errs.Invalid, "hemera up", path, fmt.Sprintf("--disks %d leaves this disk out, with the files it holds", disks)).
				WithRemedy("start with all disks; then empty the disk (hemera fs set ID drain), remove it (hemera fs rm ID) and delete its directory")
		}
	}
	return nil
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
