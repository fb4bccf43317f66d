package tapes

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"hemera"
	"hemera/core/namespace/record"
	"hemera/core/namespace/schema"
	"hemera/errs"
)

// Stage is a request to stage files, as it is remembered. What became of each file is in the files
// themselves: they carry the request's id until they are on disk.
type Stage struct {
	ID        string
	UID       uint32 // who made it
	Made      time.Time
	Files     []StagedFile
	Cancelled bool // all of it
}

// StagedFile is one file of a request.
type StagedFile struct {
	Path      string
	File      hemera.FileID `json:",omitempty"` // zero: there was none
	Activity  string        `json:",omitempty"`
	Error     string        `json:",omitempty"` // why it was not asked for
	Cancelled bool          `json:",omitempty"`
}

// stagePart is how many files one record has.
const stagePart = 1000

// stageKey is the key of a part of a request.
func stageKey(id string, part int) []byte {
	k := append(schema.TableKey(schema.TableStage), byte(len(id)))
	return binary.BigEndian.AppendUint32(append(k, id...), uint32(part))
}

// stageIDMax bounds the id of a request, which is a part of its key.
const stageIDMax = 200

// PutStage stores a request, or what is new of it. Invalid for an id that is too long.
func (c *Catalogue) PutStage(ctx context.Context, s Stage) error {
	if s.ID == "" || len(s.ID) > stageIDMax {
		return refuse(errs.Invalid, "PutStage", s.ID, "the id of a request has 1 to 200 bytes")
	}
	head := s
	head.Files = nil
	parts := [][]byte{schema.EncodeStage(head)}
	for files := range slices.Chunk(s.Files, stagePart) {
		parts = append(parts, schema.EncodeStage(files))
	}
	// The head comes last: a request that is not stored as a whole is not there.
	for i, raw := range slices.Backward(parts) {
		if err := c.update(ctx, func(t Txn) error {
			t.Set(stageKey(s.ID, i), record.Opaque{}, raw)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// Stage returns a request. NotFound.
func (c *Catalogue) Stage(ctx context.Context, id string) (s Stage, err error) {
	if id == "" || len(id) > stageIDMax {
		return s, refuse(errs.NotFound, "Stage", id, "there is no such request")
	}
	prefix := append(schema.TableKey(schema.TableStage), byte(len(id)))
	prefix = append(prefix, id...)
	found := false
	err = scan(ctx, c, prefix, schema.PrefixEnd(prefix), func(k, raw []byte) (bool, error) {
		if binary.BigEndian.Uint32(k[len(k)-4:]) == 0 {
			found = true
			return true, schema.DecodeStage(raw, &s)
		}
		var files []StagedFile
		err := schema.DecodeStage(raw, &files)
		s.Files = append(s.Files, files...)
		return true, err
	})
	if err == nil && !found {
		err = refuse(errs.NotFound, "Stage", id, "there is no such request")
	}
	return s, err
}

// RemoveStage forgets a request.
func (c *Catalogue) RemoveStage(ctx context.Context, s Stage) error {
	return c.update(ctx, func(t Txn) error {
		for part := range 1 + (len(s.Files)+stagePart-1)/stagePart {
			t.Remove(stageKey(s.ID, part))
		}
		return nil
	})
}

// OldStages lists the ids of requests that were made before a time, at most limit, and when the oldest of the others that it saw was made; zero:
// it saw none. It reads all requests, so it is not to be called often.
func (c *Catalogue) OldStages(ctx context.Context, before time.Time, limit int) (ids []string, oldest time.Time, err error) {
	prefix := schema.TableKey(schema.TableStage)
	err = scan(ctx, c, prefix, schema.PrefixEnd(prefix), func(k, raw []byte) (bool, error) {
		if binary.BigEndian.Uint32(k[len(k)-4:]) != 0 {
			return true, nil
		}
		var s Stage
		err := schema.DecodeStage(raw, &s)
		switch {
		case err != nil:
		case s.Made.Before(before):
			ids = append(ids, s.ID)
		case oldest.IsZero() || s.Made.Before(oldest):
			oldest = s.Made
		}
		return len(ids) < limit, err
	})
	return ids, oldest, err
}
