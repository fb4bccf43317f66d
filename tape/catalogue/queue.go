package catalogue

import (
	"hemera/namespace/record"
	"hemera/namespace/schema"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// A job is three records: itself by its file, its place in the order of its queue, and its part in
// the sums of the queue, which are by user and mount policy. Jobs that are not tried again are in an order and in sums of their own.

// Job returns a job, nil when there is none. Only changes may call it.
func (t Txn) Job(k tapeapi.JobKey) (*tapeapi.Job, error) {
	return record.GetUncached(t.Txn.Txn, schema.JobKey(k), schema.DecodeJob)
}

// enqueue adds a job, unless there is one for the same copy: that one stays as it is.
func (t Txn) enqueue(j tapeapi.Job) error {
	// Asking twice is no error: clients repeat what they did not hear an answer to.
	now, err := t.Job(j.JobKey)
	if err != nil || now != nil {
		return err
	}
	return t.putJob(&j)
}

// putJob stores a job that is not there.
func (t Txn) putJob(j *tapeapi.Job) error {
	// The order has no value: the job is read by its file.
	raw, err := schema.EncodeJob(j)
	if err != nil {
		return err
	}
	t.Set(schema.JobKey(j.JobKey), j, raw)
	t.Mark(schema.OrderKey(j))
	return t.countJob(j, 1)
}

// dequeue removes a job.
func (t Txn) dequeue(j *tapeapi.Job) error {
	t.Remove(schema.JobKey(j.JobKey))
	t.Remove(schema.OrderKey(j))
	return t.countJob(j, -1)
}

// countJob adds a job to the sums of its queue, or takes it out.
func (t Txn) countJob(j *tapeapi.Job, by int64) error {
	k := schema.SumKey(j)
	was, err := record.Get(t.Txn.Txn, k, schema.DecodeQueueSum)
	if err != nil {
		return err
	}
	sum := schema.QueueSum{Files: by, Bytes: by * j.Size}
	if was != nil {
		sum.Files, sum.Bytes = sum.Files+was.Files, sum.Bytes+was.Bytes
	}
	// An empty queue has no record, so that the list of queues is as long as there are queues.
	if sum.Files == 0 {
		t.Remove(k)
		return nil
	}
	// Encoded once for a group of changes: commits of one user into one pool all meet here.
	t.SetTotal(k, &sum, schema.PairBytes)
	return nil
}

// dequeueAll removes all jobs of a file of the kinds.
func (t Txn) dequeueAll(file hemera.FileID, kinds ...tapeapi.JobKind) error {
	// Which jobs a file has is not recorded apart: there are few, and a lookup of what is not there is
	// cheap.
	for _, kind := range kinds {
		for number := range uint8(hemera.TapeCopiesMax) {
			j, err := t.Job(tapeapi.JobKey{File: file, Kind: kind, Copy: number + 1})
			if err != nil {
				return err
			}
			if j == nil {
				continue
			}
			if err := t.dequeue(j); err != nil {
				return err
			}
		}
	}
	return nil
}
