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

// headroomSetter is a disk that can be told how many bytes to keep free.
type headroomSetter interface{ SetHeadroom(bytes int64) }

// disks are those of one node: what it was given, and which of it is there. A call to a disk may take
// as long as package bounded lets it, so none is made while mu is held, and the lease waits for none.
type disks struct {
	open func(path string, fresh bool) (disk.Store, error)
	// folder reports whether a path is a directory of the filesystem above it; nil asks nobody.
	folder func(path string) bool
	marks  *seenFile // takes what disks that are opened have of the manager's marks
	log    *slog.Logger
	panics *contain.Panics

	mu      sync.RWMutex
	file    *stateFile                   // its list is the one of known disks
	there   map[string]disk.Store        // by path, those that are open
	why     map[string]string            // by path, why a disk is not there
	remedy  map[string]string            // by path, what to do about a why; missing if nobody knows
	byID    map[hemera.DiskID]disk.Store // the same, if the manager has named them
	opening map[string]chan struct{}     // by path, attempts to open a disk; closed when one has ended
	missed  map[string]time.Time         // since when looks do not find a disk that is there
	came    bool                         // a disk was opened since anybody asked
	closed  bool                         // the node ends: what is opened now is released
}

// newDisks has no disk open yet; load opens them.
func newDisks(file *stateFile, marks *seenFile, open func(string, bool) (disk.Store, error), log *slog.Logger) *disks {
	return &disks{open: open, log: log, file: file, marks: marks, there: map[string]disk.Store{}, why: map[string]string{}, remedy: map[string]string{},
		byID: map[hemera.DiskID]disk.Store{}, opening: map[string]chan struct{}{}, missed: map[string]time.Time{}}
}

// load opens every known disk and those configured.
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

// know adds a disk to the list, unless its path is in it. A wished one is an admin's and may be withdrawn; others are of the
// settings. The caller holds mu.
func (d *disks) know(a hemera.AttachDisk, wished bool) {
	if k := d.known(a.Path); k != nil {
		k.mount = k.mount && !a.Folder // a second wish may accept what the first did not
		return
	}
	d.file.Disks = append(d.file.Disks, knownDisk{Path: a.Path, Space: a.Space, wished: wished, mount: wished && !a.Folder})
}

// known finds a disk by its path; nil if it is not in the list. The caller holds mu.
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

// stalled reports whether the disk is known not to answer.
func (d *disks) stalled(id hemera.DiskID) bool {
	s, _ := d.find(id)
	return s != nil && disk.Stalled(s)
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
	list, stores := d.list()
	var looks sync.WaitGroup // which take a while at disks that hang
	for i, s := range stores {
		if s == nil {
			continue
		}
		d.panics.Go(&looks, "node.Report", list[i].Path, func() {
			st, r := s.Status(), &list[i]
			r.Health, r.Why, r.DiskStats, r.LastScrub, r.Changes = st.Health, st.Why, st.DiskStats, st.LastScrub, st.Changes
		})
	}
	looks.Wait() // no longer than a look may take, however many disks do not answer
	// A disk whose path lost its label is released.
	for i, s := range stores {
		d.seen(&list[i], s)
	}
	return list
}

// list is what is known of each disk without a look at it, and the disk where it is there.
func (d *disks) list() (list []hemera.NodeDisk, stores []disk.Store) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, k := range d.file.Disks {
		if k.UUID == "" {
			continue
		}
		r := hemera.NodeDisk{UUID: k.UUID, Path: k.Path, ID: k.ID, Space: k.Space}
		// A disk that is not there is reported all the same: the manager must know that it is missing.
		s := d.there[k.Path]
		if s == nil {
			r.Health, r.Why = hemera.HealthGone, cmp.Or(d.why[k.Path], "it is being opened")
		}
		list, stores = append(list, r), append(stores, s)
	}
	return list, stores
}

// unusable lists the paths that could never be opened.
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

// attach takes new disks into use and releases others; it reports whether anything changed.
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
	// What is not in the wishes any more was withdrawn before it could be opened.
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

// save makes the list of disks durable. It is called by one goroutine at a time.
func (d *disks) save() error {
	d.mu.RLock()
	text, err := d.file.text()
	d.mu.RUnlock()
	if err != nil {
		return err
	}
	return d.file.write(text)
}

// stopped notes that the node has ended in good order.
func (d *disks) stopped() {
	d.mu.Lock()
	d.file.Running = false
	d.mu.Unlock()
	if err := d.save(); err != nil {
		d.log.Error("that the node ends in good order is not saved", "error", err)
	}
}

// canceler is a disk whose calls can be ended before their time.
type canceler interface{ Cancel() }

// cancel ends the waiting for all disks: calls in progress fail, and so do those that follow.
func (d *disks) cancel() {
	for _, s := range d.stores() {
		if c, ok := s.(canceler); ok {
			c.Cancel()
		}
	}
}

// close closes every disk. One that does not answer is left behind.
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
