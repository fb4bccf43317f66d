package catalogue

import (
	"context"
	"encoding/binary"
	"time"

	"hemera/namespace/record"
	"hemera/namespace/schema"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Mount is the last work that a drive was given. It is stored before the drive hears of it, so that results of another mount are known as such in
// each life of the manager.
type Mount struct {
	ID    tapeapi.MountID
	Node  hemera.NodeID
	Drive string
	VID   hemera.VID
	Kind  tapeapi.MountKind
	Job   tapeapi.JobKind `json:",omitempty"`
	Begun time.Time
	Ended bool `json:",omitempty"` // and all that it did is recorded
}

// Writes reports whether the mount may have written files that nobody has heard of.
func (m Mount) Writes() bool {
	return m.Kind == tapeapi.MountWork && m.Job == tapeapi.Archive && !m.Ended
}

// PutMount stores a mount, and forgets those that its drive had before, in one change.
func (c *Catalogue) PutMount(ctx context.Context, m Mount, before ...tapeapi.MountID) error {
	raw, err := schema.EncodeMount(m)
	if err != nil {
		return err
	}
	return c.update(ctx, func(t Txn) error {
		for _, id := range before {
			t.Remove(mountKey(id))
		}
		t.Set(mountKey(m.ID), record.Opaque{}, raw)
		return nil
	})
}

// LeaveMount forgets a mount whose server does not come back. A tape that it may have written is not written again until a scan has read its
// end: its record says so with the reason. It may be called again with the same.
func (c *Catalogue) LeaveMount(ctx context.Context, m Mount, why string) error {
	return c.update(ctx, func(t Txn) error {
		t.Remove(mountKey(m.ID))
		tape, err := t.Tape(m.VID)
		if err != nil || tape == nil || !m.Writes() || tape.Doubt != "" {
			return err
		}
		unsure := *tape
		unsure.Doubt = why
		return t.putTape(&unsure)
	})
}

// Mounts lists what PutMount has stored, by id.
func (c *Catalogue) Mounts(ctx context.Context) (out []Mount, err error) {
	prefix := schema.TableKey(schema.TableMount)
	err = scan(ctx, c, prefix, schema.PrefixEnd(prefix), func(_, raw []byte) (bool, error) {
		var m Mount
		err := schema.DecodeMount(raw, &m)
		out = append(out, m)
		return true, err
	})
	return out, err
}

// mountKey returns the key of a mount.
func mountKey(id tapeapi.MountID) []byte {
	return binary.BigEndian.AppendUint64(schema.TableKey(schema.TableMount), uint64(id))
}
