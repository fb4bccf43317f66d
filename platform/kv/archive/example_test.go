package archive_test

import (
	"bytes"
	"context"
	"fmt"

	"hemera/platform/kv"
	"hemera/platform/kv/archive"
	"hemera/platform/kv/memkv"
)

// A store is written to a stream and read back. The content is valid once Read has returned nil.
func Example() {
	ctx := context.Background()
	store := memkv.New()
	writer, _ := store.Acquire(ctx, "example")
	batch := new(kv.Batch)
	batch.Put([]byte("a"), []byte("1"))
	batch.Put([]byte("b"), []byte("2"))
	if _, err := writer.Enqueue(batch); err != nil {
		fmt.Println(err)
		return
	}

	var stream bytes.Buffer
	wrote, err := archive.Write(ctx, &stream, store, archive.Header{Program: "example 1.0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	read, err := archive.Read(&stream, archive.Visitor{
		Header: func(h archive.Header) error { fmt.Println("by", h.Program); return nil },
		Pair:   func(key, value []byte) error { fmt.Printf("%s=%s\n", key, value); return nil },
	})
	fmt.Println(read.Pairs, "pairs, complete:", err == nil && read == wrote)
	// Output:
	// by example 1.0
	// a=1
	// b=2
	// 2 pairs, complete: true
}
