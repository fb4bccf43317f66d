// Package undo keeps in memory what is needed to undo the changes since a checkpoint of a file: its size at the
// checkpoint, and the bytes that were overwritten since.
//
// A [Log] belongs to one goroutine. Its memory is bounded for one checkpoint, and charged to a client's account.
// [Log.Save] and [Log.Rollback] read and write the file, and block as long as it does.
//
// It is a package of its own because it needs a file and an account of memory, and nothing of the protocol.
package undo

import (
	"hemera/rules/limits"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// BytesMax bounds the overwritten bytes of one checkpoint.
	BytesMax = 10 << 20
	// rangeCost is the charge of a range besides its bytes, so that many short ones count too.
	rangeCost = 64
)

// Log is one checkpoint. C identifies the client that is charged for it.
type Log[C comparable] struct {
	size  int64        // of the file at the checkpoint
	saved []savedRange // in the order in which they were overwritten
	used  int64        // bytes of data in saved

	account *limits.Account[C]
	charged int64 // bytes
}

// savedRange is the earlier content of a range of the file.
type savedRange struct {
	off  int64
	data []byte
}

// New begins a checkpoint of a file with the current size.
func New[C comparable](size int64, account *limits.Account[C]) *Log[C] {
	return &Log[C]{size: size, account: account}
}

// Size returns the file's size at the checkpoint.
func (l *Log[C]) Size() int64 { return l.size }

// Used returns the number of saved bytes.
func (l *Log[C]) Used() int64 { return l.used }

// Save saves the n bytes at off before they are overwritten or cut off. It fails with TooLarge if the checkpoint would
// exceed BytesMax, and with Overloaded if the account is full. After an error the change must not be made.
func (l *Log[C]) Save(f hemera.Handle, path string, off, n int64) error {
	n = min(n, l.size-off) // rollback cuts off what is beyond
	if n <= 0 || off < 0 {
		return nil
	}
	if l.used+n+rangeCost*int64(len(l.saved)) > BytesMax {
		return errs.New(errs.TooLarge, "undo.Save", path, "the checkpoint overwrites more than 10 MiB, or in too many places")
	}
	cost := n + rangeCost
	if verdict := l.account.Take(cost); verdict != limits.Fits {
		return errs.New(errs.Overloaded, "undo.Save", path, "no memory for another change under a checkpoint: "+verdict.String()).
			WithRemedy("commit or end other checkpoints first")
	}
	l.charged += cost
	p := make([]byte, n)
	got, err := f.ReadPages(p, nil, off)
	if hemera.KeepsBuffers(err) { // the stuck call may write to p; try another piece
		p = make([]byte, n)
		got, err = f.ReadPages(p, nil, off)
	}
	// The file may have been cut since the checkpoint; then there is less to save.
	if int64(got) < n && err != nil && got < int(min(n, max(0, f.Info().Size-off))) {
		return errs.Wrap(err, "undo.Save", path)
	}
	l.saved = append(l.saved, savedRange{off, p[:got]})
	l.used += int64(got)
	return nil
}

// Rollback restores the file to the checkpoint, and ends the log. After an error the file is partly restored.
func (l *Log[C]) Rollback(f hemera.Handle, path string) error {
	defer l.Forget()
	for i := len(l.saved) - 1; i >= 0; i-- { // a range that was overwritten twice gets its first bytes last
		if err := f.WritePages(l.saved[i].data, nil, l.saved[i].off); err != nil {
			return errs.Wrap(err, "undo.Rollback", path)
		}
	}
	return errs.Wrap(f.Truncate(l.size), "undo.Rollback", path)
}

// Forget ends the log, keeps the changes of the file, and releases the memory.
func (l *Log[C]) Forget() {
	l.saved = nil
	l.account.Give(l.charged)
	l.account.Close()
}
