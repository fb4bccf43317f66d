package cluster

import (
	"encoding/json"

	"hemera/platform/kv"
	"hemera/words/errs"
)

// Prefix begins every key of this package; no other package writes below it.
const Prefix = "!cluster/"

// record is one value of the store. Its key is below [Prefix]; docs/formats/cluster.md has them all. Each kind has a file, with the table
// that has its records in memory.
type record interface{ key() string }

// change is a set of records to make durable together.
type change struct {
	puts    []record // stored first, in their order: ids go before what has them
	deletes []record // then removed
}

// empty reports whether there is nothing to store.
func (ch *change) empty() bool { return len(ch.puts)+len(ch.deletes) == 0 }

func (ch *change) put(r record) { ch.puts = append(ch.puts, r) }

func (ch *change) delete(r record) { ch.deletes = append(ch.deletes, r) }

// step is one record of a change as the store takes it.
type step struct {
	op  kv.Op  // for the store
	rec record // for memory, once the batch is durable
}

// steps returns the writes of a change, in their order: records that are put, then keys that are deleted.
func (ch *change) steps() ([]step, error) {
	list := make([]step, 0, len(ch.puts)+len(ch.deletes))
	for _, r := range ch.puts {
		// JSON, as records are few and are read by people when something is wrong; fields are added without a new format.
		text, err := json.Marshal(r)
		if err != nil {
			return nil, errs.Wrap(err, "cluster.Commit", r.key())
		}
		list = append(list, step{kv.Op{Key: []byte(Prefix + r.key()), Value: text}, r})
	}
	for _, r := range ch.deletes {
		list = append(list, step{kv.Op{Key: []byte(Prefix + r.key()), Delete: true}, r})
	}
	return list, nil
}

// fitting returns the number of steps that one batch takes, at least one.
func fitting(steps []step) (n int) {
	bytes := 0
	for n < len(steps) && n < kv.BatchOps {
		bytes += len(steps[n].op.Key) + len(steps[n].op.Value)
		// A record that is too large by itself goes alone, and the store says what is wrong with it.
		if n > 0 && bytes > kv.BatchBytes {
			break
		}
		n++
	}
	return n
}
