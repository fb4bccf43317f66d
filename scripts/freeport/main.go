// Freeport prints a port such that it and the next n-1 ports were free a moment ago.
// usage: go run ./scripts/freeport N
package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
)

// Below the range from which the kernel gives ports to clients.
const (
	lowest  = 20000
	highest = 32000
)

func main() {
	if len(os.Args) != 2 {
		usage()
	}
	n, err := strconv.Atoi(os.Args[1])
	if err != nil || n < 1 || n > highest-lowest {
		usage()
	}
	for range 1000 { // from a random place, so that two who ask at once get different answers
		if port := lowest + rand.IntN(highest-lowest-n+1); allFree(port, n) {
			fmt.Println(port)
			return
		}
	}
	fmt.Fprintln(os.Stderr, "freeport: no", n, "free ports in a row")
	os.Exit(1)
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: freeport N")
	os.Exit(2)
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
