package disk

import (
	"errors"
	"io/fs"

	"hemera/platform/turn"
	"hemera/platform/vfs"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A disk is opened here, and its pieces are made, opened and removed. disk.go has the parts that this works on.

// Open opens the disk at path. NotFound if there is no label. It finishes what a crash interrupted,
// which reads the pieces that were sealed in the last seconds before it.
func Open(fsys vfs.FS, path string, o Options) (*Disk, error) {
	const op = "disk.Open"
	label, err := readLabel(fsys, path)
	if err != nil {
		return nil, err
	}
	d := &Disk{tree: tree{fsys, path}, uuid: label.uuid, opt: o.withDefaults(), writers: map[hemera.PieceID]*writer{}}
	for i := range d.turns {
		d.turns[i] = turn.New()
	}
	d.ahead = kernelAhead(fsys, path+"/"+labelName) < aheadKernel
	d.pending.init(fsys, d.pendingDir())
	d.open.init(d.opt.IdlePieces)
	d.tables.init(d.opt.TableBlocks)
	d.windows.init(d.opt.VerifiedBytes)
	d.changes.init(label.changes, d.opt.Now())
	d.condition.init(&d.tree, d.uuid, d.opt, &d.gauge)
	d.sealed.init(&d.tree, d.opt.Log, d.opt.Panics)
	if err := (recovery{d}).run(); err != nil {
		return nil, errs.Wrap(err, op, path)
	}
	d.condition.look()
	d.sealed.start()
	return d, nil
}

// Create begins a pending piece. Besides what [Store] says it fails with ReadOnly, NoSpace or
// Unavailable while the disk's health forbids writing. A Writer that is still open for the same
// piece fails with Conflict from now on.
func (d *Disk) Create(id hemera.PieceID, o CreateOptions) (Writer, error) {
	const op = "disk.Create"
	if err := d.admit(op, id, o); err != nil {
		return nil, err
	}
	// This is only to say Exists early: the seal looks again, in one step with the rename.
	if !o.Replace {
		if err := d.refuseSealed(op, id); err != nil {
			return nil, err
		}
	}
	w, err := d.begin(op, id, o)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// admit refuses what the disk cannot take.
func (d *Disk) admit(op string, id hemera.PieceID, o CreateOptions) error {
	// Contents that the footer cannot hold are refused now, and not at the seal.
	if len(o.Path) > hemera.PathMax || o.SizeHint < 0 || o.SizeHint > hemera.FileSizeMax {
		return errs.New(errs.Invalid, op, id.String(), "path too long, or size out of range")
	}
	return d.condition.admit(op, o.SizeHint)
}

// begin makes the file of a pending piece, and its Writer the only one.
func (d *Disk) begin(op string, id hemera.PieceID, o CreateOptions) (*writer, error) {
	mine := d.turn(id)
	mine.Wait()
	defer mine.Release()
	d.fence(id)
	w, err := newWriter(d, id, o)
	if err != nil {
		return nil, d.failed(err, op, id)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed { // meanwhile: the file expires after the next open
		_ = w.file.Close()
		d.gauge.writeOpens.Add(-1)
		return nil, errs.New(errs.Unavailable, op, d.path, "the disk is closed")
	}
	d.writers[id] = w
	return w, nil
}

// refuseSealed fails with Exists if the piece is sealed. It removes a file that has a sealed piece's name and no valid
// footer (written without sync, before a crash).
func (d *Disk) refuseSealed(op string, id hemera.PieceID) error {
	if _, err := d.fs.Stat(d.sealedPath(id)); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return d.failed(err, op, id)
	}
	// Something is there. Only its footer says whether that is a piece.
	p, err := d.acquire(id)
	if err == nil {
		d.release(p)
		return errs.New(errs.Exists, op, id.String(), "the piece is sealed")
	}
	if !errors.Is(err, errs.Corrupt) {
		return d.failed(err, op, id)
	}
	d.opt.Log.Warn("piece without a valid footer is replaced", "disk", d.path, "piece", id.String(), "error", err)
	return d.failed(d.removeInvalid(id), op, id)
}

// removeInvalid removes a sealed piece that has no valid footer. It looks again where no Writer can seal the
// piece: one may have been sealed in its place meanwhile.
func (d *Disk) removeInvalid(id hemera.PieceID) error {
	mine := d.turn(id)
	mine.Wait()
	defer mine.Release()
	p, err := d.acquire(id)
	if err == nil {
		d.release(p)
		return errs.New(errs.Exists, "disk.Create", id.String(), "the piece is sealed")
	}
	if !errors.Is(err, errs.Corrupt) {
		return ignoreMissing(err)
	}
	err = d.sealed.remove(id)
	d.bad.replaced(id)
	return err
}

// Open opens a sealed piece.
func (d *Disk) Open(id hemera.PieceID) (Reader, error) {
	p, err := d.acquire(id)
	if err != nil {
		return nil, d.failed(err, "disk.Open", id)
	}
	d.gauge.readOpens.Add(1)
	return &reader{piece: p}, nil
}

// OpenHeld implements [MemoryStore].
func (d *Disk) OpenHeld(id hemera.PieceID) (Reader, bool) {
	p, _ := d.open.take(id)
	if p == nil {
		return nil, false
	}
	d.gauge.readOpens.Add(1)
	return &reader{piece: p}, true
}

// Remove removes a piece, sealed or pending. It is not durable: after a crash the piece may be
// there again.
func (d *Disk) Remove(id hemera.PieceID) error {
	const op = "disk.Remove"
	mine := d.turn(id)
	mine.Wait()
	d.fence(id)
	err := d.removePending(id)
	mine.Release()
	if err != nil {
		return d.failed(err, op, id)
	}
	err = d.sealed.remove(id)
	d.open.forget(id)
	d.bad.replaced(id)
	d.changed()
	return d.failed(err, op, id)
}

// Close closes what is open. Writers that are still there lose their pieces' files, which expire; Readers stay usable.
func (d *Disk) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true // from now on begin makes no Writer
	writers := d.writers
	d.writers = map[hemera.PieceID]*writer{}
	d.mu.Unlock()
	for _, w := range writers { // their files stay open until they end
		w.fenced.Store(true)
	}
	d.sealed.stop()
	d.open.closeIdle()
	return nil
}
