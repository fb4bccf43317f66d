package daemon

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hemera/process/resources"
	"hemera/rules/condition"
	"hemera/words/hemera"
)

// owners reports root for the connection that root opened last, and a user for all others. Old connections are judged
// late, so it compares connections and not times.
type owners struct{ root atomic.Uint32 } // the port of root's connection

// Owner implements auth.Owners.
func (o *owners) Owner(client, server netip.AddrPort) (uint32, error) {
	if uint32(client.Port()) == o.root.Load() {
		return 0, nil
	}
	return 4711, nil
}

// dial opens a connection of root.
func (o *owners) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	// Record its port before the server can ask for it.
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
		err2 := c.Control(func(fd uintptr) {
			if err = unix.Bind(int(fd), &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
				return
			}
			var at unix.Sockaddr
			if at, err = unix.Getsockname(int(fd)); err == nil {
				o.root.Store(uint32(at.(*unix.SockaddrInet4).Port))
			}
		})
		return errors.Join(err, err2)
	}}
	return d.DialContext(ctx, network, addr)
}

// tellsOfLimits requires one reached limit in the status: nodes share the bounds of the manager's process.
func tellsOfLimits(t *testing.T, m *Manager) {
	t.Helper()
	status, err := m.Status.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	reached := 0
	for _, c := range status.Conditions {
		if c.Code == condition.LimitReached {
			reached++
			if c.Subject != "manager" || !strings.Contains(c.Text, "connections (") {
				t.Errorf("%+v", c)
			}
		}
	}
	if reached != 1 {
		t.Errorf("the status has %d limits that were reached, want 1", reached)
	}
}

// Any number of connections of every kind, to a process that may have few open files: the admin can connect, the disks
// work, and all resources are free again when they are closed.
func TestAFloodOfConnectionsKeepsNoAdminOut(t *testing.T) {
	who := &owners{}
	u, err := OpenUp(t.Context(), UpOptions{Nodes: 2, Disks: 2, Manager: ManagerOptions{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", Log: keptLog(t), Bounds: resources.NewBoundsOf(256, who),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer running(t, u)()

	var held []net.Conn
	flood := func(addr, hello string) {
		for range 300 {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, c)
			_, _ = io.WriteString(c, hello)
		}
	}
	for _, addr := range []string{u.Manager.Addr, u.Nodes[0].Addr, u.Nodes[1].Addr} {
		flood(addr, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		flood(addr, strings.Repeat("\x00", 12)+"\x00\x00\x00\x04\x00\x00\x07\xdc")
		flood(addr, "\x16")
		flood(addr, "")
	}
	get := func(path string, dial func(ctx context.Context, network, addr string) (net.Conn, error)) (string, error) {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}, Timeout: 20 * time.Second}
		answer, err := client.Get("http://" + u.Manager.Addr + path)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return string(text), err
	}
	text, err := get("/metrics", who.dial)
	if err != nil {
		t.Fatal("the admin does not get in: ", err)
	}
	for _, want := range []string{`hemera_limit_max{limit="connections"} 128`, `hemera_limit_share_max{limit="writes"} 16384`, `hemera_limit_refused_total{limit="connections",why="share"}`} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics do not have %s", want)
		}
	}
	tellsOfLimits(t, u.Manager)
	view, err := u.Manager.Admin.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range view.Disks {
		if d.Health != hemera.HealthOK {
			t.Errorf("disk %d is %v", d.ID, d.Health)
		}
	}
	for _, c := range held {
		c.Close()
	}
	for deadline := time.Now().Add(30 * time.Second); ; {
		if _, err = get("/healthz", nil); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nobody gets in after the flood: ", err)
		}
	}
}
