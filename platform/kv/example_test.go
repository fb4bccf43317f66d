package kv_test

import (
	"context"
	"fmt"

	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
)

// A writer is acquired, a batch is enqueued and becomes durable. Readers need no writer.
func Example() {
	ctx := context.Background()
	store := memkv.New()
	defer store.Close()

	writer, err := store.Acquire(ctx, "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	batch := new(kv.Batch)
	batch.Put([]byte("disk/1"), []byte("online"))
	batch.Put([]byte("disk/2"), []byte("draining"))
	batch.Delete([]byte("disk/3"))
	ticket, err := writer.Enqueue(batch) // readable from here on
	if err == nil {
		err = ticket.Wait(ctx) // durable from here on
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = store.Scan(ctx, []byte("disk/"), []byte("disk0"), func(key, value []byte) bool {
		fmt.Printf("%s is %s\n", key, value)
		return true
	})

	// A later writer fences the earlier one.
	if _, err = store.Acquire(ctx, "another"); err == nil {
		_, err = writer.Enqueue(batch)
	}
	fmt.Println(err)
	// Output:
	// disk/1 is online
	// disk/2 is draining
	// kv.Enqueue: a newer writer has the store
}
