package node

import (
	"cmp"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"hemera/disk"
	"hemera/platform/contain"
	"hemera/words/hemera"
)

// headroomSetter is a disk with a settable number of bytes to keep free.
type headroomSetter interface{ SetHeadroom(bytes int64) }

// disks has the disks that a node was given, open or not. A call to a disk may take as long as package bounded allows, so
// mu is never held over a call, and the lease does not depend on one.
type disks struct {
	open func(path string, fresh bool) (disk.Store, error)
	// folder reports whether a path is a directory of the filesystem above it; nil skips this check.
	folder func(path string) bool
	marks  *seenFile // gets the manager's marks from disks that are opened
	log    *slog.Logger
	panics *contain.Panics

	mu      sync.RWMutex
	file    *stateFile                   // has the list of known disks
	there   map[string]disk.Store        // open disks by path
	why     map[string]string            // by path, the reason why a disk is not open
	remedy  map[string]string            // by path, the remedy for the reason; missing if unknown
	byID    map[hemera.DiskID]disk.Store // open disks that the manager has named
	opening map[string]chan struct{}     // by path, attempts to open a disk; closed when one has ended
	missed  map[string]time.Time         // time since when a disk was not found at its path
	came    bool                         // a disk was opened since the last call of newcomers
	closed  bool                         // the node ends: disks that are opened now are released
}

// newDisks makes the value without open disks; load opens them.
func newDisks(file *stateFile, marks *seenFile, open func(string, bool) (disk.Store, error), log *slog.Logger) *disks {
	return &disks{open: open, log: log, file: file, marks: marks, there: map[string]disk.Store{}, why: map[string]string{}, remedy: map[string]string{},
		byID: map[hemera.DiskID]disk.Store{}, opening: map[string]chan struct{}{}, missed: map[string]time.Time{}}
}

// load opens all known and configured disks.
func (d *disks) load(configured []hemera.AttachDisk) error {
	d.mu.Lock()
	for _, c := range configured {
		c.Path = filepath.Clean(c.Path) // "/disk1/" is "/disk1"
		d.know(c, false)
	}
	d.mu.Unlock()
	d.retry(openWait)
	return d.save()
}

// know adds a disk to the list, unless its path is in it. wished marks the wish of an admin, which may be withdrawn;
// other disks come from the settings. The caller holds mu.
func (d *disks) know(a hemera.AttachDisk, wished bool) {
	if k := d.known(a.Path); k != nil {
		k.mount = k.mount && !a.Folder // a second wish may accept what the first did not
		return
	}
	d.file.Disks = append(d.file.Disks, knownDisk{Path: a.Path, Space: a.Space, wished: wished, mount: wished && !a.Folder})
}

// known returns the disk with the path, or nil. The caller holds mu.
func (d *disks) known(path string) *knownDisk {
	for i := range d.file.Disks {
		if d.file.Disks[i].Path == path {
			return &d.file.Disks[i]
		}
	}
	return nil
}

// find returns the disk with the id, if it is open.
func (d *disks) find(id hemera.DiskID) (disk.Store, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	s, ok := d.byID[id]
	return s, ok
}

// stalled reports whether the disk does not answer at present.
func (d *disks) stalled(id hemera.DiskID) bool {
	s, _ := d.find(id)
	return s != nil && disk.Stalled(s)
}

// stores returns all open disks.
func (d *disks) stores() []disk.Store {
	d.mu.RLock()
	defer d.mu.RUnlock()
	list := make([]disk.Store, 0, len(d.there))
	for _, s := range d.there {
		list = append(list, s)
	}
	return list
}

// report describes every disk that was ever open, in the order in which the node got them.
func (d *disks) report() []hemera.NodeDisk {
	list, stores := d.list()
	var looks sync.WaitGroup // calls that take a while at disks that hang
	for i, s := range stores {
		if s == nil {
			continue
		}
		d.panics.Go(&looks, "node.Report", list[i].Path, func() {
			st, r := s.Status(), &list[i]
			r.Health, r.Why, r.DiskStats, r.LastScrub, r.Changes = st.Health, st.Why, st.DiskStats, st.LastScrub, st.Changes
		})
	}
	looks.Wait() // at most as long as one call may take, however many disks do not answer
	// A disk whose path has lost its label is released.
	for i, s := range stores {
		d.seen(&list[i], s)
	}
	return list
}

// list returns the state of each disk without a call to it, and the stores of the open ones.
func (d *disks) list() (list []hemera.NodeDisk, stores []disk.Store) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, k := range d.file.Disks {
		if k.UUID == "" {
			continue
		}
		r := hemera.NodeDisk{UUID: k.UUID, Path: k.Path, ID: k.ID, Space: k.Space}
		// A disk that is not open is reported too, so that the manager knows that it is missing.
		s := d.there[k.Path]
		if s == nil {
			r.Health, r.Why = hemera.HealthGone, cmp.Or(d.why[k.Path], "it is being opened")
		}
		list, stores = append(list, r), append(stores, s)
	}
	return list, stores
}

// unusable returns the paths that could never be opened.
func (d *disks) unusable() (list []hemera.UnusableDisk) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, k := range d.file.Disks {
		if why := d.why[k.Path]; k.UUID == "" && why != "" {
			list = append(list, hemera.UnusableDisk{Path: k.Path, Why: why, Remedy: d.remedy[k.Path]})
		}
	}
	return list
}

// forget removes paths that could never be opened and that are not wished for any more.
func (d *disks) forget(wishes []hemera.AttachDisk) {
	d.file.Disks = slices.DeleteFunc(d.file.Disks, func(k knownDisk) bool {
		gone := k.UUID == "" && k.wished && !slices.ContainsFunc(wishes, func(a hemera.AttachDisk) bool { return a.Path == k.Path })
		if gone {
			delete(d.why, k.Path)
		}
		return gone
	})
}

// named records the node's id and the ids that the manager gave to disks, by UUID.
func (d *disks) named(node hemera.NodeID, ids map[string]hemera.DiskID) error {
	d.mu.Lock()
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
	d.mu.Unlock()
	return d.save()
}

// headroom sets the number of bytes that each disk keeps free.
func (d *disks) headroom(bytes map[hemera.DiskID]int64) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for id, n := range bytes {
		if s, ok := d.byID[id].(headroomSetter); ok {
			s.SetHeadroom(n)
		}
	}
}

// attach adds new disks and releases others. It reports whether anything changed.
func (d *disks) attach(add []hemera.AttachDisk, remove []hemera.DiskID) (changed bool, err error) {
	d.mu.Lock()
	for _, id := range remove {
		for i, k := range d.file.Disks {
			if k.ID != id || id == 0 {
				continue
			}
			if s := d.there[k.Path]; s != nil {
				d.releaseLater(k.Path, s)
			}
			delete(d.there, k.Path)
			delete(d.why, k.Path)
			delete(d.byID, id)
			d.file.Disks = append(d.file.Disks[:i], d.file.Disks[i+1:]...)
			d.log.Info("disk detached", "path", k.Path, "disk", id)
			changed = true
			break
		}
	}
	// A wish that is missing was withdrawn before its disk could be opened.
	d.forget(add)
	for _, a := range add {
		d.know(a, true)
	}
	d.mu.Unlock()
	if len(add) > 0 {
		d.retry(retryWait)
	}
	if changed = d.newcomers() || changed; !changed {
		return false, nil
	}
	return true, d.save()
}

// save makes the list of disks durable. One goroutine at a time may call it.
func (d *disks) save() error {
	d.mu.RLock()
	text, err := d.file.text()
	d.mu.RUnlock()
	if err != nil {
		return err
	}
	return d.file.write(text)
}

// stopped records that the node has ended cleanly.
func (d *disks) stopped() {
	d.mu.Lock()
	d.file.Running = false
	d.mu.Unlock()
	if err := d.save(); err != nil {
		d.log.Error("that the node ends in good order is not saved", "error", err)
	}
}

// canceler is a disk whose calls can be cancelled.
type canceler interface{ Cancel() }

// cancel cancels all calls to disks: those in progress and later ones fail.
func (d *disks) cancel() {
	for _, s := range d.stores() {
		if c, ok := s.(canceler); ok {
			c.Cancel()
		}
	}
}

// close closes every disk. It does not wait for one that does not answer.
func (d *disks) close() {
	var closing sync.WaitGroup
	d.mu.Lock()
	d.closed = true
	for path, s := range d.there {
		d.panics.Go(&closing, "node.CloseDisk", path, func() { d.release(path, s) })
	}
	clear(d.there)
	clear(d.byID)
	d.mu.Unlock()
	closing.Wait()
}
