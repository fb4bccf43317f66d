package daemon

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hemera/process/statedir"
	"hemera/words/errs"
)

// A taken port is the most frequent reason why a start fails; everything that was opened before is closed.
func TestATakenPortIsAnError(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	log := keptLog(t)
	if m, err := OpenManager(t.Context(), ManagerOptions{Dir: t.TempDir(), Listen: taken.Addr().String(), Log: log}); err == nil || m != nil {
		t.Errorf("manager %v, error %v", m, err)
	}
	if n, err := OpenNode(t.Context(), NodeOptions{Dir: t.TempDir(), Listen: taken.Addr().String(), Log: log}); err == nil || n != nil {
		t.Errorf("node %v, error %v", n, err)
	}
	if n, err := OpenNode(t.Context(), NodeOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0", Log: log}); err == nil || n != nil {
		t.Errorf("node without a manager or a token: %v, error %v", n, err)
	}
	u, err := OpenUp(t.Context(), UpOptions{Manager: ManagerOptions{Dir: t.TempDir(), Listen: taken.Addr().String(), Log: log}, Nodes: 1, Disks: 1})
	if err == nil || u != nil {
		t.Errorf("up %v, error %v", u, err)
	}
}

// A cluster without a usable disk does not start, and the error has the reason and the remedy. One usable disk is enough.
func TestUpNeedsADiskThatItMayUse(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"disk1", "disk2"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o777|os.ModeSticky)); err != nil {
			t.Fatal(err)
		}
	}
	open := func() (*Up, error) {
		return OpenUp(t.Context(), UpOptions{Manager: ManagerOptions{Dir: dir, Listen: "127.0.0.1:0", Log: keptLog(t)}, Nodes: 2, Disks: 2})
	}
	disk2 := filepath.Join(dir, "disk2")
	u, err := open()
	if u != nil || !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "everybody may write there") || !strings.Contains(errs.RemedyOf(err), "chmod o-w") {
		t.Fatalf("up %v, error %v, remedy %q", u, err, errs.RemedyOf(err))
	}
	if err := os.Chmod(disk2, 0o700); err != nil {
		t.Fatal(err)
	}
	if u, err = open(); err != nil {
		t.Fatal(err)
	}
	defer u.close()
	if there, refused := u.Disks(); there != 1 || len(refused) != 1 || refused[0].Path != filepath.Join(dir, "disk1") || refused[0].Remedy == "" {
		t.Errorf("%d disks, refused %+v", there, refused)
	}
}

// The ports of nodes follow the manager's: a user who chose a free port must learn about the others.
func TestATakenPortOfANodeNamesAllPorts(t *testing.T) {
	for range 50 {
		taken, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := splitPort(taken.Addr().String())
		first := net.JoinHostPort("127.0.0.1", strconv.Itoa(port-1))
		u, err := OpenUp(t.Context(), UpOptions{
			Manager: ManagerOptions{Dir: t.TempDir(), Listen: first, Log: keptLog(t)}, Nodes: 3, Disks: 3,
		})
		_ = taken.Close()
		if err != nil && strings.Contains(err.Error(), first) {
			continue // the port before is taken as well
		}
		if want := fmt.Sprintf("ports %d to %d", port-1, port+2); err == nil || u != nil || !strings.Contains(errs.RemedyOf(err), want) {
			t.Errorf("up %v, error %v, remedy %q", u, err, errs.RemedyOf(err))
		}
		return
	}
	t.Skip("no two neighbouring ports are free")
}

// A command with a directory of the other kind fails and makes no new, empty cluster in it.
func TestAStateDirectoryOfTheOtherKindIsRefused(t *testing.T) {
	log := keptLog(t)
	ofUp, ofManager := t.TempDir(), t.TempDir()
	u, err := OpenUp(t.Context(), UpOptions{Manager: ManagerOptions{Dir: ofUp, Listen: "127.0.0.1:0", Log: log}, Nodes: 1, Disks: 1})
	if err != nil {
		t.Fatal(err)
	}
	u.close()
	m, err := OpenManager(t.Context(), ManagerOptions{Dir: ofManager, Listen: "127.0.0.1:0", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	m.close()
	if m, err := OpenManager(t.Context(), ManagerOptions{Dir: ofUp, Listen: "127.0.0.1:0", Log: log}); err == nil || m != nil || !strings.Contains(errs.RemedyOf(err), "hemera up "+ofUp) {
		t.Errorf("manager on the directory of up: %v, %q", err, errs.RemedyOf(err))
	}
	if u, err := OpenUp(t.Context(), UpOptions{Manager: ManagerOptions{Dir: ofManager, Listen: "127.0.0.1:0", Log: log}, Nodes: 1, Disks: 1}); err == nil || u != nil || !strings.Contains(errs.RemedyOf(err), "--data "+ofManager) {
		t.Errorf("up on the directory of a manager: %v, %q", err, errs.RemedyOf(err))
	}
	if m, err = OpenManager(t.Context(), ManagerOptions{Dir: ofUp + "/" + statedir.UpManager, Listen: "127.0.0.1:0", Log: log}); err != nil {
		t.Fatal(err)
	}
	m.close()
}
