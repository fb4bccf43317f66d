package daemon_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"hemera/client/xrootd"
	"hemera/process/daemon"
)

// A whole cluster in one process: a manager, three nodes with a disk each. A client writes a file with two replicas, and
// reads it.
func ExampleOpenUp() {
	dir, err := os.MkdirTemp("", "cluster")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, stop := context.WithCancel(context.Background())
	up, err := daemon.OpenUp(ctx, daemon.UpOptions{Nodes: 3, Disks: 3, Manager: daemon.ManagerOptions{
		Dir: dir, Listen: "127.0.0.1:0", CacheBytes: 8 << 20, RepairGrace: time.Minute, TokenLifetime: time.Hour, Log: slog.New(slog.DiscardHandler),
	}})
	if err != nil {
		log.Fatal(err)
	}
	ready, ended := make(chan struct{}), make(chan error)
	go func() { ended <- up.Run(ctx, func() { close(ready) }) }()
	<-ready

	client := xrootd.New(xrootd.Options{})
	url, err := xrootd.ParseURL("root://" + up.Manager.Addr + "//exp/run1.data")
	if err != nil {
		log.Fatal(err)
	}
	f, err := client.Open(ctx, url, xrootd.OpenOptions{Write: true, Create: true, Parents: true})
	if err == nil {
		err = f.WriteAt(ctx, []byte("the first event"), 0)
	}
	if err == nil {
		err = f.Close(ctx)
	}
	if err != nil {
		log.Fatal(err)
	}
	info, err := client.Stat(ctx, url)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(info.Size, "bytes")
	client.Close()
	stop()
	fmt.Println(<-ended)
	// Output:
	// 15 bytes
	// <nil>
}
