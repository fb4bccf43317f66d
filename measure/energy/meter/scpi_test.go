package meter

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"hemera/words/errs"
)

// bench is a meter of a laboratory: it answers each line by answer, and ends the connection where that is "".
func bench(t *testing.T, answer func(command string) string) (addr string, connections *atomic.Int32) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	connections = &atomic.Int32{}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			go serve(conn, answer)
		}
	}()
	return l.Addr().String(), connections
}

// serve answers one connection.
func serve(conn net.Conn, answer func(string) string) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		text := answer(lines.Text())
		if text == "" {
			return
		}
		fmt.Fprint(conn, text)
	}
}

func TestSCPIOverTCP(t *testing.T) {
	addr, connections := bench(t, func(command string) string {
		return map[string]string{"MEAS:POW?": "+5.636E+01\r\n", ":NUM:VAL? 1,2": "40.9,41\n"}[command]
	})
	gives(t, "scpi:"+addr, Options{}, 56.36)
	gives(t, "scpi:"+addr+",:NUM:VAL? 1,2", Options{}, 40.9)
	if n := connections.Load(); n != 2 {
		t.Errorf("%d connections for two meters", n)
	}
}

func TestSCPIConnectsAgain(t *testing.T) {
	var asked atomic.Int32
	addr, _ := bench(t, func(string) string {
		if asked.Add(1) == 1 {
			return "" // the first command ends the connection
		}
		return "12\n"
	})
	m, err := Open("scpi:"+addr, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer Close(m)
	if _, err := m.Read(t.Context()); !errors.Is(err, errs.Unavailable) {
		t.Errorf("the lost connection: %v", err)
	}
	if p, err := m.Read(t.Context()); err != nil || p.Value != 12 {
		t.Errorf("%v, %v", p, err)
	}
}

func TestSCPIWaitEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	addr, _ := bench(t, func(string) string {
		cancel() // the command has arrived, and gets no answer
		<-hold
		return ""
	})
	m, err := Open("scpi:"+addr, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer Close(m)
	if _, err := m.Read(ctx); err == nil {
		t.Error("it answered")
	}
}
