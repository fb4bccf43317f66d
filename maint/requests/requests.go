// Package requests remembers what the background work has to do: conversions of files and trees, for which admins ask, and the
// directories whose attributes make lifecycle rules for the files below.
//
// Requests are few and small, one record each, however many files they are about: how far a request is, is a cursor in
// its record. What is not durable of them (which file is under way, what a node is doing) is found out again.
//
// All are in memory; a change is durable when the call that makes it returns. docs/formats/cluster.md has
// the records.
package requests

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"hemera/platform/kv"
	"hemera/platform/turn"
	"hemera/rules/lifecycle"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Prefix begins every key of this package; no other package writes below it.
const Prefix = "!requests/"

// conversionMax bounds the requests to convert that are remembered.
const conversionMax = 1000

// Store is the requests in memory, and durable. Methods may be called concurrently; changes are made one after the
// other, each with a sync of the store.
type Store struct {
	writer kv.Writer // used by the change that has the turn
	turn   turn.Turn // held while a change is made durable

	mu          sync.Mutex                       // guards what follows; never held while anything is waited for
	conversions map[uint64]adminapi.Conversion   // as they are durable, by id
	trees       map[hemera.FileID]lifecycle.Tree // the same, by directory
	treesOf     map[hemera.Setter]int            // how many trees and reservations are charged to each
	reserved    map[reservation]int              // calls that keep room for a tree
}

// Open loads the requests. The writer must be the one of everything else that writes to the store.
func Open(ctx context.Context, store kv.Reader, writer kv.Writer) (*Store, error) {
	s := empty()
	s.writer = writer
	var bad error
	// Requests are few, so all of them are read at once; "0" is what follows the slash at the end of the prefix.
	err := store.Scan(ctx, []byte(Prefix), []byte(Prefix[:len(Prefix)-1]+"0"), func(key, value []byte) bool {
		bad = s.load(string(key), value)
		return bad == nil
	})
	// A record that cannot be read keeps the manager from starting: to forget it would leave work undone in silence.
	if err == nil {
		err = bad
	}
	if err != nil {
		return nil, errs.Wrap(err, "requests.Open", "")
	}
	return s, nil
}

// empty returns a store without a record.
func empty() *Store {
	return &Store{
		turn: turn.New(), conversions: map[uint64]adminapi.Conversion{},
		trees: map[hemera.FileID]lifecycle.Tree{}, treesOf: map[hemera.Setter]int{}, reserved: map[reservation]int{},
	}
}

// load takes one record into memory. Records of a kind that this program does not know stay in the store.
func (s *Store) load(key string, value []byte) error {
	var r conversionRecord
	switch {
	case strings.HasPrefix(key, treePrefix):
		return s.loadTree(key, value)
	case !strings.HasPrefix(key, convertPrefix):
		return nil
	}
	if err := json.Unmarshal(value, &r); err != nil || conversionKey(r.ID) != key {
		return errs.New(errs.Corrupt, "requests.Open", key, "the record cannot be read")
	}
	s.conversions[r.ID] = r.conversion()
	return nil
}

// convertPrefix begins the keys of requests to convert.
const convertPrefix = Prefix + "convert/"

// conversionKey returns the key of a request to convert. Keys are in the order of ids.
func conversionKey(id uint64) string { return fmt.Sprintf("%s%016x", convertPrefix, id) }

// Conversions returns all requests to convert, by id.
func (s *Store) Conversions() []adminapi.Conversion {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.conversions), func(a, b adminapi.Conversion) int { return cmp.Compare(a.ID, b.ID) })
}

// AddConversion remembers a new request, and returns it with its id. Overloaded when too many are remembered.
func (s *Store) AddConversion(ctx context.Context, c adminapi.Conversion) (adminapi.Conversion, error) {
	if err := s.take(ctx); err != nil {
		return c, err
	}
	defer s.turn.Release()
	s.mu.Lock()
	full := len(s.conversions) >= conversionMax
	c.ID = 1
	// The newest request is never forgotten, so an id is not given twice.
	for id := range s.conversions {
		c.ID = max(c.ID, id+1)
	}
	s.mu.Unlock()
	// Those that ended count too, but they are forgotten by themselves.
	if full {
		return c, errs.New(errs.Overloaded, "requests.Add", c.Path, fmt.Sprintf("%d requests to convert are remembered already", conversionMax)).
			WithRemedy("wait until some are done, or end some with `hemera convert stop`; one request can be about a whole tree")
	}
	return c, s.put(ctx, c)
}

// PutConversion makes what is new of a request durable. One that was removed is made again.
func (s *Store) PutConversion(ctx context.Context, c adminapi.Conversion) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.turn.Release()
	return s.put(ctx, c)
}

// RemoveConversion forgets a request. A request that does not exist is not an error.
func (s *Store) RemoveConversion(ctx context.Context, id uint64) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.turn.Release()
	return s.remove(ctx, conversionKey(id), func() { delete(s.conversions, id) })
}

// put makes a request durable. The caller has the turn.
func (s *Store) put(ctx context.Context, c adminapi.Conversion) error {
	// A value, so that a change does not reach callers that have read it.
	return s.save(ctx, conversionKey(c.ID), recordOf(c), func() { s.conversions[c.ID] = c })
}

// save makes a record durable, then calls known, which takes it into memory, under the lock. The caller has the turn.
func (s *Store) save(ctx context.Context, key string, record any, known func()) error {
	// JSON, as the records of the cluster: a person can read it, and fields can be added.
	value, err := json.Marshal(record)
	if err != nil {
		return errs.As(err, errs.Internal, "requests.Save", key)
	}
	var b kv.Batch
	b.Put([]byte(key), value)
	return s.commit(ctx, &b, known)
}

// remove removes a record durably, then calls gone, which removes it from memory, under the lock. The caller has the turn.
func (s *Store) remove(ctx context.Context, key string, gone func()) error {
	var b kv.Batch
	b.Delete([]byte(key))
	return s.commit(ctx, &b, gone)
}

// commit stores a batch, waits for the sync, and has memory follow: after an error it is as before.
func (s *Store) commit(ctx context.Context, b *kv.Batch, follow func()) error {
	ticket, err := s.writer.Enqueue(b)
	if err != nil {
		return errs.Wrap(err, "requests.Commit", "")
	}
	// The batch is on its way whether the caller still waits or not, and memory must follow it.
	if err := ticket.Wait(context.WithoutCancel(ctx)); err != nil {
		return errs.Wrap(err, "requests.Commit", "")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	follow()
	return nil
}

// take waits until no other change is under way. The caller releases the turn when its change is durable.
func (s *Store) take(ctx context.Context) error {
	return errs.Wrap(s.turn.Acquire(ctx), "requests.Change", "")
}
