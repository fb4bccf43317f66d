package namespace

import (
	"encoding/binary"
	"time"

	"hemera"
	"hemera/errs"
)

const (
	// resendWindow is how long after a file was made its first commit may come again: a head asks
	// until it is answered, and a request may be late. Much longer than either takes.
	resendWindow = time.Hour
	// forgetAtOnce is how many old records of removed files each new one takes away.
	forgetAtOnce = 2
)

// bury remembers a removed file while its first commit may come again: it would make the file anew,
// without its pieces. Older files need no record, so their removal costs nothing.
func (t *tx) bury(e *hemera.Entry) error {
	if t.now.Sub(e.Birth) > resendWindow {
		return nil
	}
	t.set(idKey(tabRemoved, e.ID), mark{}, binary.BigEndian.AppendUint64(nil, uint64(t.now.Add(resendWindow).Unix())))
	return t.exhume()
}

// exhume forgets the oldest files that were removed long enough ago. Ids are in the order of births,
// so that looking ends at the first that is not.
func (t *tx) exhume() error {
	left := forgetAtOnce
	err := t.n.store.Scan(t.ctx, idKey(tabRemoved, t.n.removedFrom), after(key(tabRemoved)), func(k, until []byte) bool {
		if left == 0 || int64(number(until, 0)) > t.now.Unix() {
			return false
		}
		left--
		t.remove(append([]byte(nil), k...))
		t.n.removedFrom = hemera.FileID(number(k, 2)) + 1
		return true
	})
	return errs.Wrap(err, "namespace", "")
}

// wasRemoved reports whether the file was there, and was removed not long after.
func (t *tx) wasRemoved(id hemera.FileID) (bool, error) {
	k := idKey(tabRemoved, id)
	if c, ok := t.changed(k); ok {
		return c.value != nil, nil
	}
	raw, err := t.n.store.GetMany(t.ctx, [][]byte{k})
	if err != nil {
		return false, errs.Wrap(err, "namespace", "")
	}
	return raw[0] != nil, nil
}
