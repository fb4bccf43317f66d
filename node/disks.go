package node

import (
	"log/slog"
	"slices"
	"sync"

	"hemera"
	"hemera/disk"
	"hemera/errs"
)

// headroomSetter is a disk that can be told how many bytes to keep free.
type headroomSetter interface{ SetHeadroom(bytes int64) }

// disks are those of one node: what it was given, and which of it is there.
type disks struct {
	open func(path string, fresh bool) (disk.Store, error)
	log  *slog.Logger

	mu    sync.RWMutex
	file  *stateFile // its list is the one of known disks
	there map[string]disk.Store
	why   map[string]string // by path, why a disk is not there
	byID  map[hemera.DiskID]disk.Store
}

func newDisks(file *stateFile, open func(string, bool) (disk.Store, error), log *slog.Logger) *disks {
	return &disks{open: open, log: log, file: file,
		there: map[string]disk.Store{}, why: map[string]string{}, byID: map[hemera.DiskID]disk.Store{}}
}

// load opens every known disk and those configured.
func (d *disks) load(configured []hemera.AttachDisk) error {
	d.mu.Lock()
	for _, c := range configured {
		d.know(c, false)
	}
	d.mu.Unlock()
	d.retry()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.file.save()
}

func (d *disks) know(a hemera.AttachDisk, wished bool) {
	for _, k := range d.file.Disks {
		if k.Path == a.Path {
			return
		}
	}
	d.file.Disks = append(d.file.Disks, knownDisk{Path: a.Path, Space: a.Space, wished: wished})
}

// retry opens known disks that are not there, and reports whether any came.
func (d *disks) retry() bool {
	d.mu.RLock()
	var missing []knownDisk
	for _, k := range d.file.Disks {
		if d.there[k.Path] == nil {
			missing = append(missing, k)
		}
	}
	d.mu.RUnlock()
	came := false
	for _, k := range missing {
		store, err := d.open(k.Path, k.UUID == "")
		came = d.opened(k.Path, store, err) || came
	}
	return came
}

// opened takes note of an attempt to open a disk. A disk with another identity than the one known
// at the path is refused: it was mounted there by mistake.
func (d *disks) opened(path string, store disk.Store, err error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.known(path)
	if err == nil && (k == nil || d.there[path] != nil) {
		_ = store.Close()
		return false
	}
	if err == nil && k.UUID != "" && k.UUID != store.Status().UUID {
		err = errs.New(errs.Conflict, "node.OpenDisk", path, "another disk is there: "+store.Status().UUID+" instead of "+k.UUID)
		_ = store.Close()
	}
	if err != nil {
		if why := err.Error(); d.why[path] != why {
			d.why[path] = why
			d.log.Error("disk cannot be used", "path", path, "err", err)
		}
		return false
	}
	k.UUID = store.Status().UUID
	d.there[path] = store
	delete(d.why, path)
	if k.ID != 0 {
		d.byID[k.ID] = store
	}
	d.log.Info("disk opened", "path", path, "uuid", k.UUID, "disk", k.ID)
	return true
}

func (d *disks) known(path string) *knownDisk {
	for i := range d.file.Disks {
		if d.file.Disks[i].Path == path {
			return &d.file.Disks[i]
		}
	}
	return nil
}

// find returns the disk with the id, if it is there.
func (d *disks) find(id hemera.DiskID) (disk.Store, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	s, ok := d.byID[id]
	return s, ok
}

// stores are all disks that are there.
func (d *disks) stores() []disk.Store {
	d.mu.RLock()
	defer d.mu.RUnlock()
	list := make([]disk.Store, 0, len(d.there))
	for _, s := range d.there {
		list = append(list, s)
	}
	return list
}

// report describes every disk that has ever been there, in the order the node was given them.
func (d *disks) report() []hemera.NodeDisk {
	d.mu.RLock()
	defer d.mu.RUnlock()
	list := make([]hemera.NodeDisk, 0, len(d.file.Disks))
	for _, k := range d.file.Disks {
		if k.UUID == "" {
			continue
		}
		r := hemera.NodeDisk{UUID: k.UUID, Path: k.Path, ID: k.ID, Space: k.Space}
		if s := d.there[k.Path]; s != nil {
			st := s.Status()
			r.Health, r.Why, r.Load = st.Health, st.Why, st.Load
			r.Filesystem, r.Capacity, r.Used, r.Free, r.Pieces = st.Filesystem, st.Capacity, st.Used, st.Free, st.Pieces
		} else {
			r.Health, r.Why = hemera.HealthGone, d.why[k.Path]
		}
		list = append(list, r)
	}
	return list
}

// unusable lists the paths that could never be opened.
func (d *disks) unusable() (list []hemera.UnusableDisk) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, k := range d.file.Disks {
		if k.UUID == "" {
			list = append(list, hemera.UnusableDisk{Path: k.Path, Why: d.why[k.Path]})
		}
	}
	return list
}

// forget drops paths that could never be opened and are not wished for any more.
func (d *disks) forget(wishes []hemera.AttachDisk) {
	d.file.Disks = slices.DeleteFunc(d.file.Disks, func(k knownDisk) bool {
		gone := k.UUID == "" && k.wished && !slices.ContainsFunc(wishes, func(a hemera.AttachDisk) bool { return a.Path == k.Path })
		if gone {
			delete(d.why, k.Path)
		}
		return gone
	})
}

// named takes the ids that the manager gave to disks, by UUID, and the node its own.
func (d *disks) named(node hemera.NodeID, ids map[string]hemera.DiskID) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.file.ID = node
	clear(d.byID)
	for i := range d.file.Disks {
		k := &d.file.Disks[i]
		if id, ok := ids[k.UUID]; ok && k.UUID != "" {
			k.ID = id
		}
		if s := d.there[k.Path]; s != nil && k.ID != 0 {
			d.byID[k.ID] = s
		}
	}
	return d.file.save()
}

// headroom passes on how much to keep free.
func (d *disks) headroom(bytes map[hemera.DiskID]int64) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for id, n := range bytes {
		if s, ok := d.byID[id].(headroomSetter); ok {
			s.SetHeadroom(n)
		}
	}
}

// attach takes new disks into use and lets go of others; it reports whether anything changed.
func (d *disks) attach(add []hemera.AttachDisk, remove []hemera.DiskID) (changed bool, err error) {
	d.mu.Lock()
	for _, id := range remove {
		for i, k := range d.file.Disks {
			if k.ID != id || id == 0 {
				continue
			}
			if s := d.there[k.Path]; s != nil {
				err = s.Close()
			}
			delete(d.there, k.Path)
			delete(d.why, k.Path)
			delete(d.byID, id)
			d.file.Disks = append(d.file.Disks[:i], d.file.Disks[i+1:]...)
			d.log.Info("disk detached", "path", k.Path, "disk", id, "err", err)
			changed = true
			break
		}
	}
	d.forget(add)
	for _, a := range add {
		d.know(a, true)
	}
	d.mu.Unlock()
	if len(add) > 0 {
		changed = d.retry() || changed
	}
	if !changed {
		return false, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return true, d.file.save()
}

// close closes every disk.
func (d *disks) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for path, s := range d.there {
		if err := s.Close(); err != nil {
			d.log.Warn("disk not closed in good order", "path", path, "err", err)
		}
	}
	clear(d.there)
	clear(d.byID)
}
