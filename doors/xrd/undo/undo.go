// Package undo keeps what a checkpoint of a file needs to put it back: its size when the checkpoint began, and the bytes
// that were overwritten since, in memory.
//
// A [Log] belongs to one goroutine. Its memory is bounded for one checkpoint, and charged to a client's account.
// [Log.Save] and [Log.Rollback] read and write the file, and block as long as it does.
//
// It is a package of its own: it needs a file and an account of memory, and nothing of the protocol.
package undo

import (
	"hemera/rules/limits"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const (
	// BytesMax is how many overwritten bytes one checkpoint keeps.
	BytesMax = 10 << 20
	// rangeCost is what keeping a range takes beside its bytes, so that many short ones count too.
	rangeCost = 64
)

// Log is one checkpoint under way. C identifies the client whose account it is charged to.
type Log[C comparable] struct {
	size  int64        // of the file when the checkpoint began
	saved []savedRange // in the order in which they were overwritten
	used  int64        // bytes of data in saved

	account *limits.Account[C]
	charged int64 // bytes
}

// savedRange is what a range of the file held.
type savedRange struct {
	off  int64
	data []byte
}

// New begins a checkpoint of a file that has the size now.
func New[C comparable](size int64, account *limits.Account[C]) *Log[C] {
	return &Log[C]{size: size, account: account}
}

// Size returns the file's size when the checkpoint began.
func (l *Log[C]) Size() int64 { return l.size }

// Used returns how many overwritten bytes are kept.
func (l *Log[C]) Used() int64 { return l.used }

// Save keeps what the n bytes at off are, before they are overwritten or cut off. TooLarge if the checkpoint would keep
// more than BytesMax, Overloaded if the account has no room; the change must not be made then.
func (l *Log[C]) Save(f hemera.Handle, path string, off, n int64) error {
	n = min(n, l.size-off) // what is beyond needs no copy: rollback cuts it off
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
	if hemera.KeepsBuffers(err) { // the call that is stuck may write to p; once more, from another piece
		p = make([]byte, n)
		got, err = f.ReadPages(p, nil, off)
	}
	// The file may have been cut since the checkpoint began; then there is less to keep.
	if int64(got) < n && err != nil && got < int(min(n, max(0, f.Info().Size-off))) {
		return errs.Wrap(err, "undo.Save", path)
	}
	l.saved = append(l.saved, savedRange{off, p[:got]})
	l.used += int64(got)
	return nil
}

// Rollback puts the file back to where the checkpoint began, and ends the log. After an error the file is in between.
func (l *Log[C]) Rollback(f hemera.Handle, path string) error {
	defer l.Forget()
	for i := len(l.saved) - 1; i >= 0; i-- { // a range that was overwritten twice gets its first bytes last
		if err := f.WritePages(l.saved[i].data, nil, l.saved[i].off); err != nil {
			return errs.Wrap(err, "undo.Rollback", path)
		}
	}
	return errs.Wrap(f.Truncate(l.size), "undo.Rollback", path)
}

// Forget ends the log with the file as it is, and releases its memory.
func (l *Log[C]) Forget() {
	l.saved = nil
	l.account.Give(l.charged)
	l.account.Close()
}
