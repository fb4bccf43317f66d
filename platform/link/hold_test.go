package link

import (
	"fmt"
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// TestHeldPorts: a server can listen on a held port, again and again, and nothing else gets it.
func TestHeldPorts(t *testing.T) {
	h, err := Hold(3)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for port := h.First; port < h.First+3; port++ {
		local := fmt.Sprintf("127.0.0.1:%d", port)
		for _, at := range []string{local, fmt.Sprintf(":%d", port), local} {
			if c, err := net.Dial("tcp", local); err == nil {
				c.Close()
				t.Fatalf("%s accepts connections without a server", local)
			}
			l, err := Listen(t.Context(), at, DefaultOptions())
			if err != nil {
				t.Fatalf("a server cannot listen on %s: %v", at, err)
			}
			if other, err := net.Listen("tcp", at); err == nil {
				other.Close()
				t.Errorf("two servers listen on %s", at)
			}
			c, err := net.Dial("tcp", local)
			if err != nil {
				t.Fatal(err)
			}
			c.Close()
			l.Close()
		}
		fd, err := bindAll(port)
		if err == nil {
			t.Errorf("port %d is held twice", port)
		}
		unix.Close(fd)
	}
	first := h.First
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	again := &Held{First: first + 1}
	if err := again.bind(1); err != nil {
		t.Errorf("a port that was released: %v", err)
	}
	again.Close()
	if _, err := Hold(0); err == nil {
		t.Error("no ports are held")
	}
}
