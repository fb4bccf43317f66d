// Freeport prints a port such that it and the next n-1 ports are free, and holds them for the servers of its caller until nothing reads its output
// any more: no other process gets them meanwhile.
// usage, in a script of bash: exec {held}< <(go run ./scripts/freeport N); read -r port <&"$held"
//
// The ports are free again when the script and its children have ended, or with exec {held}<&-.
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"hemera/platform/link"
)

func main() {
	count := 0
	if len(os.Args) == 2 {
		count, _ = strconv.Atoi(os.Args[1])
	}
	if count < 1 {
		fmt.Fprintln(os.Stderr, "usage: freeport N")
		os.Exit(2)
	}
	if err := run(count); err != nil {
		fmt.Fprintln(os.Stderr, "freeport:", err)
		os.Exit(1)
	}
}

// run prints the port, and returns when its output has no reader.
func run(count int) error {
	held, err := link.Hold(count)
	if err != nil {
		return err
	}
	if _, err := fmt.Println(held.First); err != nil {
		return err
	}
	// A pipe without a reader is an error of its writer, whatever is waited for.
	for out := []unix.PollFd{{Fd: int32(os.Stdout.Fd())}}; out[0].Revents&unix.POLLERR == 0; {
		if _, err := unix.Poll(out, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	return held.Close()
}
