package replkv

import (
	"encoding/binary"

	"hemera/platform/kv"
	"hemera/words/errs"
)

// A batch in the journal is a version, and for each operation a kind, the length of the key, the key, and for a put the length of the value and
// the value. Lengths are of variable size.
const (
	batchVersion = 1
	opPut        = 1
	opDelete     = 2
)

// encode returns the bytes of a batch, which share nothing with it.
func encode(b *kv.Batch) []byte {
	size := 1
	for _, op := range b.Ops {
		size += 1 + 2*binary.MaxVarintLen32 + len(op.Key) + len(op.Value)
	}
	out := append(make([]byte, 0, size), batchVersion)
	for _, op := range b.Ops {
		if op.Delete {
			out = appendBytes(append(out, opDelete), op.Key)
		} else {
			out = appendBytes(appendBytes(append(out, opPut), op.Key), op.Value)
		}
	}
	return out
}

// appendBytes appends a length and bytes.
func appendBytes(to, b []byte) []byte {
	return append(binary.AppendUvarint(to, uint64(len(b))), b...)
}

// decode returns the batch of some bytes; its keys and values are parts of them. Corrupt if the bytes are not a batch, or one that exceeds a limit of
// package kv; Unsupported for a later format.
func decode(raw []byte) (*kv.Batch, error) {
	const op = "replkv.Apply"
	wrong := errs.New(errs.Corrupt, op, "", "an entry of the journal is not a batch")
	switch {
	case len(raw) == 0:
		return nil, wrong
	case raw[0] != batchVersion:
		return nil, errs.New(errs.Unsupported, op, "", "a later version of Hemera wrote a batch of the journal").
			WithRemedy("install the version of the other managers here")
	}
	b, rest := new(kv.Batch), raw[1:]
	var ok bool
	for len(rest) > 0 {
		kind := rest[0]
		change := kv.Op{Delete: kind == opDelete}
		if kind != opPut && kind != opDelete || len(b.Ops) == kv.BatchOps {
			return nil, wrong
		}
		if change.Key, rest, ok = cutBytes(rest[1:]); !ok {
			return nil, wrong
		}
		if kind == opPut {
			if change.Value, rest, ok = cutBytes(rest); !ok {
				return nil, wrong
			}
		}
		b.Ops = append(b.Ops, change)
	}
	if err := kv.Check(b); err != nil {
		return nil, errs.As(err, errs.Corrupt, op, "")
	}
	return b, nil
}

// cutBytes cuts what appendBytes appended from the front.
func cutBytes(from []byte) (b, rest []byte, ok bool) {
	length, n := binary.Uvarint(from)
	if n <= 0 || length > uint64(len(from)-n) {
		return nil, nil, false
	}
	from = from[n:]
	return from[:length:length], from[length:], true
}
