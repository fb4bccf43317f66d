package daemon

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hemera"
	"hemera/app/resources"
	"hemera/rules/condition"
)

// owners says of every socket that it is of the user set last.
type owners struct{ uid atomic.Uint32 }

func (o *owners) Owner(client, server netip.AddrPort) (uint32, error) { return o.uid.Load(), nil }

// Connections of every kind, as many as somebody likes, to a process that may have few files open: the admin
// gets in, the disks are well, and everything is there again when they are gone.
// tellsOfLimits wants one limit that was reached in the status: nodes share the bounds of the manager's process.
func tellsOfLimits(t *testing.T, m *Manager) {
	t.Helper()
	status, err := m.Status(t.Context())
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

func TestAFloodOfConnectionsKeepsNoAdminOut(t *testing.T) {
	who := &owners{}
	who.uid.Store(4711)
	u, err := OpenUp(t.Context(), UpOptions{Nodes: 2, Disks: 2, Manager: ManagerOptions{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler), Bounds: resources.NewBoundsOf(256, who),
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran, up := make(chan error, 1), make(chan struct{})
	go func() { ran <- u.Run(ctx, func() { close(up) }) }()
	defer func() {
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	}()
	<-up

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
	get := func(path string) (string, error) {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
		answer, err := client.Get("http://" + u.Manager.Addr + path)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return string(text), err
	}
	who.uid.Store(0)
	text, err := get("/metrics")
	if err != nil {
		t.Fatal("the admin does not get in: ", err)
	}
	for _, want := range []string{`hemera_limit_max{limit="connections"} 128`, `hemera_limit_share_max{limit="writes"} 16384`, `hemera_limit_refused_total{limit="connections",why="share"}`} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics do not have %s", want)
		}
	}
	tellsOfLimits(t, u.Manager)
	view, err := u.Manager.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range view.Disks {
		if d.Health != hemera.HealthOK {
			t.Errorf("disk %d is %v", d.ID, d.Health)
		}
	}
	who.uid.Store(4711)
	for _, c := range held {
		c.Close()
	}
	for deadline := time.Now().Add(30 * time.Second); ; {
		if _, err = get("/healthz"); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nobody gets in after the flood: ", err)
		}
	}
}
