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
	// openWait bounds the wait of a starting node for its disks, retryWait that of a serving node for a disk that
	// returns.
	openWait  = 10 * time.Second
	retryWait = time.Second
	// missedTime is the time for which a disk must be missing before it is released.
	missedTime = time.Second
)

// retry tries to open all known disks that are not open, concurrently, and waits for at most the given time.
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

// attempts starts to open known disks that are not open. Each channel is closed when its attempt has ended. An open may
// take long: it verifies what was written before a crash, and it may hang at the device. It then continues in the
// background, and the disk is used when it ends.
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
		// The label identifies the disk, which may have been known at another path.
		uuid := store.Status().UUID
		// Before the disk counts as open, because the registration that reports it sends the marks.
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
	case d.known(path) == nil: // withdrawn meanwhile, so the reason does not matter
	case err == nil:
		delete(d.why, path)
	case d.why[path] != errs.Reason(err, path):
		d.why[path], d.remedy[path] = errs.Reason(err, path), errs.RemedyOf(err)
		d.log.Error("disk cannot be used", "path", path, "error", err, "remedy", errs.RemedyOf(err))
	}
}

// leave removes the old path of a disk that was found at a new path, so that it is reported once. If the disk is still at
// the old path, leave fails: the new one is a copy.
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
	d.mu.Unlock()       // for the call to the disk
	if attempt != nil { // most likely it fails
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
	// The list may have changed while mu was not held.
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

// opened starts to use a disk. It refuses a disk with another UUID than the one known at the path, which was mounted
// there by mistake.
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
	d.came = true // the manager must name it, or know of it
	id := "new"
	if k.ID != 0 {
		id = k.ID.String()
	}
	d.log.Info("disk opened", "path", path, "uuid", uuid, "disk", id)
	return nil
}

// seen releases a disk that is not at its path any more, unless it is being written to: an admin can unmount and check
// its filesystem only if no process has files open there. When it returns, it is opened as at a start, which completes
// interrupted work.
func (d *disks) seen(r *hemera.NodeDisk, s disk.Store) {
	d.mu.Lock()
	defer d.mu.Unlock()
	// While something is written the disk stays open: the writes fail by themselves.
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

// releaseLater releases a disk for a caller that holds mu.
func (d *disks) releaseLater(path string, store disk.Store) {
	d.panics.Go(nil, "node.CloseDisk", path, func() { d.release(path, store) })
}

// release closes a disk that is not used any more.
func (d *disks) release(path string, store disk.Store) {
	if err := store.Close(); err != nil {
		d.log.Warn("disk not closed in good order", "path", path, "error", err)
	}
}

// newcomers reports whether a disk was opened since the last call.
func (d *disks) newcomers() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	came := d.came
	d.came = false
	return came
}
