package linux

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"hemera/tape/device"
	"hemera/tape/device/scsi"
	"hemera/words/errs"
)

// ReadBlock implements device.Blocks.
func (t *Tape) ReadBlock(ctx context.Context, buf []byte) (int, error) {
	if err := t.acquire(ctx); err != nil {
		return 0, err
	}
	defer t.release()
	buf = buf[:min(len(buf), device.BlockMax)]
	target := buf
	if t.protection.read {
		target = t.protection.buffer(len(buf) + scsi.CRC32CLength)
	}
	// In variable mode one read is one block, one filemark, or an error.
	n, err := t.drive.dev.sys.Read(t.drive.dev.fd, target)
	t.warned, t.atEnd = false, false
	if err != nil || n == 0 {
		if n, err = t.unread(ctx, target, err); err != nil {
			return 0, err
		}
	}
	t.next++
	if t.protection.read {
		if n, err = t.protection.unseal(buf, target[:n]); err != nil {
			return 0, &errs.Error{Kind: errs.Corrupt, Op: "linux.ReadBlock", Subject: t.drive.dev.path, Text: fmt.Sprintf("object %d", t.next-1), Cause: err}
		}
	}
	t.count.BytesRead += int64(n)
	t.count.BlocksRead++
	return n, nil
}

// unread finds out what a read met that brought no block, or a number. Where the tape stands decides: see doc.go.
// After EIO without movement the block is read once more by SG_IO, because only then its sense is seen; the block may come.
func (t *Tape) unread(ctx context.Context, target []byte, number error) (int, error) {
	if number == unix.ENOSPC { // of a block that was written behind the back of the caller, see ioctl
		if err := t.settle(); err != nil {
			return 0, err
		}
		n, again := t.drive.dev.sys.Read(t.drive.dev.fd, target)
		if n > 0 && again == nil {
			return n, nil
		}
		number = again
	}
	if number != nil && number != unix.ENOMEM && number != unix.EIO {
		return 0, t.drive.dev.failed(number, "read")
	}
	// The drive counts objects, so its position says more than the number of the system.
	p, err := t.position(ctx)
	if err != nil {
		return 0, errors.Join(t.drive.dev.failed(number, "read"), err)
	}
	moved := p.Object - t.next
	t.next = p.Object
	switch {
	case moved == 1 && number == nil:
		return 0, device.ErrFileMark
	case moved == 1 && number == unix.ENOMEM: // st passes the block
		return 0, device.ErrBlockTooBig
	case number == nil && moved != 0:
		return 0, &errs.Error{Kind: errs.IO, Op: "linux.ReadBlock", Subject: t.drive.dev.path, Cause: device.ErrHardware,
			Text: fmt.Sprintf("the drive stands before object %d after a read of nothing", p.Object)}
	case moved != 0 || number == unix.ENOMEM: // a bad block was passed, or the kernel has no memory
		return 0, t.drive.dev.failed(number, "read")
	}
	// The driver forgets what it has seen, so that it asks the drive again.
	if err := t.settle(); err != nil {
		return 0, err
	}
	if number == nil {
		t.atEnd = true
		return 0, device.ErrEndOfData
	}
	return t.again(ctx, target)
}

// again reads the block by SG_IO.
func (t *Tape) again(ctx context.Context, target []byte) (int, error) {
	// A block that is shorter than the buffer has sense too: how many bytes are missing.
	answer, err := t.do(ctx, scsi.Read(len(target)))
	s, sensed := senseOf(err)
	shorter := sensed && s.WrongSize && s.Valid && s.Rest > 0 && s.Rest <= int64(len(target)) && !s.FileMark
	switch {
	case shorter && s.Key <= scsi.Recovered:
		n := copy(target, answer[:min(len(answer), len(target)-int(s.Rest))])
		return n, nil
	case err == nil:
		return copy(target, answer), nil
	}
	t.atEnd = errors.Is(err, device.ErrEndOfData)
	// The error may have moved the tape. If the drive does not tell, the next read does not fit and fails.
	if p, where := t.position(ctx); where == nil {
		t.next = p.Object
	}
	return 0, t.locked(ctx, err)
}

// WriteBlock implements device.Blocks.
func (t *Tape) WriteBlock(ctx context.Context, b []byte) error {
	if len(b) == 0 || len(b) > device.BlockMax {
		return errs.New(errs.Invalid, "linux.WriteBlock", t.drive.dev.path, fmt.Sprintf("a block of %d bytes, it has 1 to %d", len(b), device.BlockMax))
	}
	if err := t.acquire(ctx); err != nil {
		return err
	}
	defer t.release()
	if err := t.writable(); err != nil {
		return err
	}
	block := b
	if t.protection.write {
		block = t.protection.seal(b)
	}
	if err := t.write(block); err != nil {
		// A refused block left the tape where it was; any other failure may not have.
		if !errors.Is(err, device.ErrEndOfTape) && !errors.Is(err, device.ErrWriteProtected) {
			t.failedWrite = err
		}
		return err
	}
	// It is in the drive's buffer, and everything behind it is cut off.
	t.next++
	t.dirty, t.atEnd = true, true
	t.count.BytesWritten += int64(len(b))
	t.count.BlocksWritten++
	return nil
}

// write writes one block. Behind the early warning st refuses every other write, so that programs see it; the first
// refusal is told, later ones are repeated once, and only a second one in a row is the end of the tape.
func (t *Tape) write(block []byte) error {
	// The driver takes a block whole or refuses it.
	n, err := t.drive.dev.sys.Write(t.drive.dev.fd, block)
	if err == unix.ENOSPC && t.warned {
		n, err = t.drive.dev.sys.Write(t.drive.dev.fd, block)
	}
	if err == unix.ENOSPC {
		t.warned = true
	}
	if err != nil {
		return t.drive.dev.failed(err, "write")
	}
	if n != len(block) {
		return &errs.Error{Kind: errs.IO, Op: "linux.WriteBlock", Subject: t.drive.dev.path, Cause: device.ErrHardware,
			Text: fmt.Sprintf("%d bytes of a block of %d were written", n, len(block))}
	}
	return nil
}

// WriteMarks implements device.Blocks. The driver writes filemarks behind the early warning without a word.
func (t *Tape) WriteMarks(ctx context.Context, n int, immediate bool) error {
	if n < 0 || n > scsi.SpaceMax {
		return errs.New(errs.Invalid, "linux.WriteMarks", t.drive.dev.path, fmt.Sprintf("%d filemarks", n))
	}
	if n == 0 && immediate {
		return nil // without a mark MTWEOFI would still wait for the buffer
	}
	if err := t.acquire(ctx); err != nil {
		return err
	}
	defer t.release()
	// st forgets after either that it would have to write a filemark itself.
	op := int16(opMarks)
	if immediate {
		op = opMarksImmediate
	}
	if err := t.writable(); err != nil {
		return err
	}
	if err := t.drive.dev.operate(op, int32(n)); err != nil {
		t.failedWrite = err
		return err
	}
	t.next += uint64(n)
	// Without immediate the command was a flush as well.
	t.dirty = immediate
	t.atEnd = t.atEnd || n > 0
	return nil
}

// Flush implements device.Blocks: MTWEOF over zero filemarks.
func (t *Tape) Flush(ctx context.Context) error {
	if err := t.acquire(ctx); err != nil {
		return err
	}
	defer t.release()
	if err := t.writable(); err != nil {
		return err
	}
	return t.flush()
}
