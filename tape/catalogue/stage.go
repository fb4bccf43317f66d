package catalogue

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"time"

	"hemera/namespace/record"
	"hemera/namespace/schema"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Stage is a request to stage files, as it is remembered. What became of each file is in the files
// themselves: they carry the request's id until they are on disk.
type Stage struct {
	ID        string
	UID       uint32 // who made it
	Made      time.Time
	Files     []StagedFile
	Cancelled bool // all of it
	// Count is the number of files, and Idle says that none of them could be staged. They are of the head, which is read without the files.
	Count int  `json:",omitempty"`
	Idle  bool `json:",omitempty"`
}

// StagedFile is one file of a request.
type StagedFile struct {
	Path      string
	File      hemera.FileID `json:",omitempty"` // zero: there was none
	Activity  string        `json:",omitempty"`
	Error     string        `json:",omitempty"` // why it was not asked for
	Cancelled bool          `json:",omitempty"`
}

// stagePart bounds the files of one record, and stagePartBytes the bytes of their paths, unless it is one file.
const stagePart, stagePartBytes = 1000, 256 << 10

// partsOf divides files into those of one record each. Only what never changes decides.
func partsOf(files []StagedFile) (parts [][]StagedFile) {
	begin, size := 0, 0
	for i := range files {
		own := len(files[i].Path) + len(files[i].Activity)
		if i > begin && (i-begin == stagePart || size+own > stagePartBytes) {
			parts, begin, size = append(parts, files[begin:i]), i, 0
		}
		size += own
	}
	if begin < len(files) {
		parts = append(parts, files[begin:])
	}
	return parts
}

// stageKey returns the key of a part of a request.
func stageKey(id string, part int) []byte {
	k := append(schema.TableKey(schema.TableStage), byte(len(id)))
	return binary.BigEndian.AppendUint32(append(k, id...), uint32(part))
}

// stageIDMax bounds the id of a request, which is a part of its key.
const stageIDMax = 200

// PutStage stores a request, or what is new of it. Invalid for an id that is too long.
func (c *Catalogue) PutStage(ctx context.Context, s Stage) error {
	if s.ID == "" || len(s.ID) > stageIDMax {
		return refuse(errs.Invalid, "PutStage", s.ID, "the id of a request has 1 to 200 bytes").WithRemedy("give it a shorter name")
	}
	head := s
	head.Files, head.Count = nil, len(s.Files)
	records := []any{head}
	for _, files := range partsOf(s.Files) {
		records = append(records, files)
	}
	parts := make([][]byte, len(records))
	for i, r := range records {
		raw, err := schema.EncodeStage(r)
		if err != nil {
			return err
		}
		parts[i] = raw
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

// noRequest returns the error about an id that no request has.
func noRequest(id string) error {
	return refuse(errs.NotFound, "Stage", id, "there is no such request").
		WithRemedy("`hemera tape stage ls` lists them; a request is forgotten some time after its end")
}

// Stage returns a request. NotFound.
func (c *Catalogue) Stage(ctx context.Context, id string) (s Stage, err error) {
	if id == "" || len(id) > stageIDMax {
		return s, noRequest(id)
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
		err = noRequest(id)
	}
	return s, err
}

// RemoveStage forgets a request.
func (c *Catalogue) RemoveStage(ctx context.Context, s Stage) error {
	return c.update(ctx, func(t Txn) error {
		for part := range 1 + len(partsOf(s.Files)) {
			t.Remove(stageKey(s.ID, part))
		}
		return nil
	})
}

// StoredStage is a request without its files, and what its records take in the store, in bytes.
type StoredStage struct {
	Stage
	Bytes int64
}

// Stages lists all requests without their files. It reads all of them, so it is called once in the life of a manager.
func (c *Catalogue) Stages(ctx context.Context) (out []StoredStage, err error) {
	prefix := schema.TableKey(schema.TableStage)
	err = scan(ctx, c, prefix, schema.PrefixEnd(prefix), func(k, raw []byte) (bool, error) {
		// The head of a request has the first of its keys. Files without a head are those of a request that was never stored as a whole.
		if binary.BigEndian.Uint32(k[len(k)-4:]) == 0 {
			var s Stage
			err := schema.DecodeStage(raw, &s)
			out = append(out, StoredStage{s, int64(len(raw))})
			return true, err
		}
		if last := len(out) - 1; last >= 0 && bytes.HasPrefix(k, stageKey(out[last].ID, 0)[:len(k)-4]) {
			out[last].Bytes += int64(len(raw))
		}
		return true, nil
	})
	return out, err
}
