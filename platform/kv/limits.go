package kv

import (
	"fmt"

	"hemera/words/errs"
)

// Limits of all engines, which [Check] enforces.
const (
	KeyMax      = 1 << 10
	ValueMax    = 1 << 20
	BatchOps    = 4096
	BatchBytes  = 1 << 20
	EngineSpace = 0x00 // keys that begin with this byte are the engine's own
)

// Check returns an error if a batch exceeds a limit: Invalid for a key that is empty or the engine's, TooLarge for the
// rest. Engines call it before they change anything.
func Check(b *Batch) error {
	if len(b.Ops) > BatchOps {
		return errs.New(errs.TooLarge, "kv.Enqueue", "", fmt.Sprintf("a batch has at most %d operations, not %d", BatchOps, len(b.Ops)))
	}
	total := 0
	for _, op := range b.Ops {
		if err := CheckPair(op.Key, op.Value); err != nil {
			return err
		}
		total += len(op.Key) + len(op.Value)
	}
	if total > BatchBytes {
		return errs.New(errs.TooLarge, "kv.Enqueue", "", fmt.Sprintf("a batch has at most %d bytes, not %d", BatchBytes, total))
	}
	return nil
}

// CheckPair does the same as [Check] for one pair.
func CheckPair(key, value []byte) error {
	switch {
	case len(key) == 0 || key[0] == EngineSpace:
		return errs.New(errs.Invalid, "kv.Enqueue", fmt.Sprintf("%x", key), "a key must not be empty or begin with a zero byte")
	case len(key) > KeyMax:
		return errs.New(errs.TooLarge, "kv.Enqueue", "", fmt.Sprintf("a key has at most %d bytes, not %d", KeyMax, len(key)))
	case len(value) > ValueMax:
		return errs.New(errs.TooLarge, "kv.Enqueue", "", fmt.Sprintf("a value has at most %d bytes, not %d", ValueMax, len(value)))
	}
	return nil
}
