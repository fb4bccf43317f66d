package node

import (
	"slices"
	"time"

	"hemera/disk"
	"hemera/disk/bounded"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// openWait is how long a node that starts waits for its disks, retryWait how long one that
	// serves waits for a disk that comes back.
	openWait  = 10 * time.Second
	retryWait = time.Second
	// missedTime is how long looks must miss a disk before it is released.
	missedTime = time.Second
)

// retry tries to open known disks that are not there, all at once, and waits for that no longer than
// the given time.
func (d *disks) retry(wait time.Duration) {
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	for _, attempt := range d.attempts() {
		select {
		case <-attempt:
		case <-deadline.C:
			return
		}
	}
}

// attempts begins to open known disks that are not there. Each channel is closed when its attempt has ended. An open
// may last: it verifies what was written before a crash, and it may be stuck at the device. Then it goes on beside, and
// the disk is used when it ends.
func (d *disks) attempts() (list []<-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range d.file.Disks {
		if d.there[k.Path] != nil || d.opening[k.Path] != nil {
			continue
		}
		ended := make(chan struct{})
		d.opening[k.Path] = ended
		list = append(list, ended)
		d.panics.Go(nil, "node.OpenDisk", k.Path, func() {
			defer close(ended)
			d.try(k.Path, k.UUID == "", k.mount)
		})
	}
	return list
}

// try makes one attempt to open a disk.
func (d *disks) try(path string, fresh, mount bool) {
	var store disk.Store
	var err error
	if fresh && mount && d.folder != nil && d.folder(path) {
		err = errs.New(errs.Invalid, "node.OpenDisk", path, "it is a folder of the filesystem above it, not a mount point: what is written there fills that").
			WithRemedy("mount the disk first; if a folder is meant, add it with hemera fs add --folder")
	} else {
		err = d.panics.Do("node.OpenDisk", path, func() (err error) {
			store, err = d.open(path, fresh)
			return err
		})
	}
	if err == nil {
		store = bounded.New(store, d.log, d.panics)
		// The label says which disk it is; it may be one that was known at another path.
		uuid := store.Status().UUID
		// Before the disk is there: the registration that tells of it shows them.
		if note, unread := disk.Noted(store); unread == nil {
			d.marks.found(note)
		}
		if err = d.leave(uuid, path); err == nil {
			err = d.opened(path, uuid, store)
		} else {
			d.release(path, store)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.opening, path)
	switch {
	case d.known(path) == nil: // withdrawn meanwhile: why is of no interest
	case err == nil:
		delete(d.why, path)
	case d.why[path] != errs.Reason(err, path):
		d.why[path], d.remedy[path] = errs.Reason(err, path), errs.RemedyOf(err)
		d.log.Error("disk cannot be used", "path", path, "error", err, "remedy", errs.RemedyOf(err))
	}
}

// leave takes a disk that was found at a path from the one it was known at, so that it is reported once. A
// disk that is still there stays: what was found is a copy of it.
func (d *disks) leave(uuid, path string) error {
	d.mu.Lock()
	k := d.known(path)
	i := slices.IndexFunc(d.file.Disks, func(k knownDisk) bool { return k.UUID == uuid && k.Path != path })
	if i < 0 || k == nil || k.UUID != "" && k.UUID != uuid {
		d.mu.Unlock()
		return nil // or another disk is expected here
	}
	old := d.file.Disks[i]
	store, attempt := d.there[old.Path], d.opening[old.Path]
	d.mu.Unlock()       // for the look at the disk
	if attempt != nil { // most likely it finds nothing there
		select {
		case <-attempt:
		case <-time.After(retryWait):
		}
		d.mu.Lock()
		store, attempt = d.there[old.Path], d.opening[old.Path]
		d.mu.Unlock()
	}
	if attempt != nil || store != nil && store.Status().Health != hemera.HealthGone {
		return errs.New(errs.Conflict, "node.OpenDisk", path, "it has the label of the disk at "+old.Path+", as a copy has").
			WithRemedy("one of both can be used: take the other from the node; a copy that is to be a disk of its own must be emptied first")
	}
	// The list may have changed while nobody held mu.
	d.mu.Lock()
	defer d.mu.Unlock()
	if k = d.known(path); k == nil || d.known(old.Path) == nil || d.there[old.Path] != store {
		return errs.New(errs.Conflict, "node.OpenDisk", path, "the disk at "+old.Path+" has changed meanwhile")
	}
	k.ID = old.ID
	if store != nil {
		d.releaseLater(old.Path, store)
		delete(d.there, old.Path)
	}
	delete(d.why, old.Path)
	d.file.Disks = slices.DeleteFunc(d.file.Disks, func(k knownDisk) bool { return k.Path == old.Path })
	d.log.Info("the disk is at another path now", "disk", old.ID, "was", old.Path, "path", path)
	return nil
}

// opened takes a disk into use. One with another identity than that known at the path is refused: it was
// mounted there by mistake.
func (d *disks) opened(path, uuid string, store disk.Store) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.known(path)
	if d.closed || k == nil {
		d.releaseLater(path, store)
		return nil
	}
	if k.UUID != "" && k.UUID != uuid {
		d.releaseLater(path, store)
		return errs.New(errs.Conflict, "node.OpenDisk", path, "another disk is there: "+uuid+" instead of "+k.UUID)
	}
	k.UUID = uuid
	d.there[path] = store
	if k.ID != 0 {
		d.byID[k.ID] = store
	}
	d.came = true // the manager must name it, or hear of it
	id := "new"
	if k.ID != 0 {
		id = k.ID.String()
	}
	d.log.Info("disk opened", "path", path, "uuid", uuid, "disk", id)
	return nil
}

// seen releases a disk that is not at its path any more, once nothing is written to it: an admin can
// unmount and check its filesystem only when nobody has files open there, and what was open before is of
// no use when it comes back. Then it is opened like after a start, which finishes what was cut short.
func (d *disks) seen(r *hemera.NodeDisk, s disk.Store) {
	d.mu.Lock()
	defer d.mu.Unlock()
	// While something is written the disk stays: the writes fail by themselves, and end.
	if s == nil || d.there[r.Path] != s || r.Health != hemera.HealthGone || r.Load.WriteOpens > 0 {
		delete(d.missed, r.Path)
		return
	}
	if since, ok := d.missed[r.Path]; !ok {
		d.missed[r.Path] = time.Now()
		return
	} else if time.Since(since) < missedTime {
		return
	}
	delete(d.missed, r.Path)
	delete(d.there, r.Path)
	delete(d.byID, r.ID)
	d.why[r.Path] = r.Why
	d.releaseLater(r.Path, s)
}

// releaseLater is release for a caller that holds mu.
func (d *disks) releaseLater(path string, store disk.Store) {
	d.panics.Go(nil, "node.CloseDisk", path, func() { d.release(path, store) })
}

// release closes a disk that is not in use any more.
func (d *disks) release(path string, store disk.Store) {
	if err := store.Close(); err != nil {
		d.log.Warn("disk not closed in good order", "path", path, "error", err)
	}
}

// newcomers reports whether a disk was opened since it was last asked.
func (d *disks) newcomers() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	came := d.came
	d.came = false
	return came
}
