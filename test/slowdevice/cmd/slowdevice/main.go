// Command slowdevice shows a file as a device with latency and rate, until SIGINT or SIGTERM ends it.
//
//	slowdevice [-latency 5ms] [-rate 100000000] BACKING DIR
//	losetup --find --show --direct-io=on DIR/device
//
// It prints the path of the device when it can be used.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"hemera/test/slowdevice"
)

func main() {
	latency := flag.Duration("latency", 5*time.Millisecond, "of each request")
	rate := flag.Int64("rate", 100e6, "bytes a second of all requests together")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: slowdevice [-latency 5ms] [-rate 100000000] BACKING DIR")
		os.Exit(2)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	device, unmount, err := slowdevice.Mount(flag.Arg(1), flag.Arg(0), slowdevice.Timing{Latency: *latency, Rate: *rate})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(device)
	<-stop
	if err := unmount(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
