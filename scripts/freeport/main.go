// Freeport prints a port such that it and the next n-1 ports were free a moment ago.
// usage: go run ./scripts/freeport N
package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
)

func main() {
	n, err := strconv.Atoi(os.Args[1])
	if err != nil || n < 1 {
		fmt.Fprintln(os.Stderr, "usage: freeport N")
		os.Exit(2)
	}
	for port := 20000; port+n < 32000; port += n {
		if allFree(port, n) {
			fmt.Println(port)
			return
		}
	}
	os.Exit(1)
}

func allFree(first, n int) bool {
	for port := first; port < first+n; port++ {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return false
		}
		_ = l.Close()
	}
	return true
}
