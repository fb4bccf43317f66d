package cluster

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hemera/client/admin"
	"hemera/client/xrootd"
	"hemera/process/daemon"
	"hemera/test/fixture/serving"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

func TestRestartKeepsFilesAndHidesHalfWrittenOnes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := start(t, dir, 2, 4)
	files := r.fill()
	f, err := r.client.Open(t.Context(), r.url("/half"), xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WriteAt(t.Context(), content("/half", 1<<20), 0); err != nil {
		t.Fatal(err)
	}
	r.stop()
	again := start(t, dir, 2, 4)
	again.whole(files)
	if _, err := again.client.Stat(t.Context(), again.url("/half")); !errors.Is(err, errs.NotFound) {
		t.Errorf("the half-written file: %v", err)
	}
	for i, d := range again.view().Disks {
		if d.ID != hemera.DiskID(i+1) || !d.Writable() {
			t.Errorf("disk %+v", d)
		}
	}
}

func TestUsedPortAndUsedDirectoryAreErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := start(t, dir, 1, 1)
	ctx := t.Context()
	if _, err := daemon.OpenUp(ctx, daemon.UpOptions{Manager: managerOptions(dir), Nodes: 1, Disks: 1}); errs.RemedyOf(err) == "" {
		t.Errorf("the same directory: %v", err)
	}
	o := managerOptions(t.TempDir())
	o.Listen = r.up.Manager.Addr
	if _, err := daemon.OpenUp(ctx, daemon.UpOptions{Manager: o, Nodes: 1, Disks: 1}); errs.RemedyOf(err) == "" {
		t.Errorf("the same port: %v", err)
	}
	_, err := daemon.OpenNode(ctx, daemon.NodeOptions{Dir: t.TempDir(), Listen: o.Listen, Log: o.Log})
	if errs.RemedyOf(err) == "" {
		t.Errorf("a node on the same port: %v", err)
	}
}

// joined runs a manager that nodes join over TLS.
type joined struct {
	t       *testing.T
	manager *daemon.Manager
	admin   *admin.Client
}

func startManager(t *testing.T) *joined {
	t.Helper()
	m, err := daemon.OpenManager(t.Context(), managerOptions(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	serving.Run(t, func(ctx context.Context, ready func()) error { ready(); return m.Run(ctx) })
	return &joined{t, m, dial(t, m.Addr)}
}

func dial(t *testing.T, addr string) *admin.Client {
	t.Helper()
	a, err := admin.Dial("root://" + addr)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (j *joined) token(lifetime time.Duration) string {
	j.t.Helper()
	token, err := j.admin.Trust.CreateToken(j.t.Context(), adminapi.TokenRequest{Lifetime: lifetime})
	if err != nil {
		j.t.Fatal(err)
	}
	return token
}

func (j *joined) open(dir, token string) (*daemon.Node, error) {
	return daemon.OpenNode(j.t.Context(), daemon.NodeOptions{
		Dir: dir, Listen: "127.0.0.1:0", Join: token, Log: slog.New(slog.DiscardHandler),
		Disks: []hemera.AttachDisk{{Path: filepath.Join(dir, "disk")}}, MakeDisks: true,
	})
}

func (j *joined) run(n *daemon.Node) (stop func()) {
	return serving.Run(j.t, func(ctx context.Context, ready func()) error {
		go func() {
			select {
			case <-n.Joined():
				ready()
			case <-ctx.Done():
			}
		}()
		return n.Run(ctx)
	})
}

func TestNodeJoinsByTokenOnce(t *testing.T) {
	t.Parallel()
	j := startManager(t)
	dir := t.TempDir()
	n, err := j.open(dir, j.token(0))
	if err != nil {
		t.Fatal(err)
	}
	stop := j.run(n)
	c := xrootd.New(xrootd.Options{})
	t.Cleanup(func() { _ = c.Close() })
	want := content("/joined", 70_000)
	write(t, c, urlAt(t, j.manager.Addr, "/joined"), want)
	stop()
	n, err = j.open(dir, "") // the certificate is enough from now on
	if err != nil {
		t.Fatal(err)
	}
	stop = j.run(n)
	read(t, c, urlAt(t, j.manager.Addr, "/joined"), want)
	id := n.ID()
	if err := j.admin.Cluster.RemoveNode(t.Context(), id); !errors.Is(err, errs.NotEmpty) {
		t.Errorf("a node with a disk: %v", err)
	}
	if err := j.admin.Cluster.RemoveDisk(t.Context(), 1, adminapi.Removal{Force: true, Lose: true}); err != nil {
		t.Error(err)
	}
	stop()
	if err := j.admin.Cluster.RemoveNode(t.Context(), id); err != nil {
		t.Error(err)
	}
	if v, err := j.admin.Cluster.View(t.Context()); err != nil || len(v.Nodes) != 0 {
		t.Errorf("%+v, %v", v.Nodes, err)
	}
}

func TestBadTokensAreRefusedAndNotRepeated(t *testing.T) {
	t.Parallel()
	j := startManager(t)
	expired := j.token(time.Nanosecond)
	wrong := j.token(time.Hour)
	cut := wrong[:len(wrong)-6]
	for what, token := range map[string]string{
		"none": "", "expired": expired, "cut": cut, "changed": changed(wrong), "of nobody": strings.Repeat("x", 40),
	} {
		dir := t.TempDir()
		if _, err := j.open(dir, token); errs.RemedyOf(err) == "" || token != "" && strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if v, err := j.admin.Cluster.View(t.Context()); err != nil || len(v.Nodes) != 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

// changed returns the token with one character in its middle replaced.
func changed(token string) string {
	b := []byte(token)
	i := len(b) - 10
	if b[i] == 'a' {
		b[i] = 'b'
	} else {
		b[i] = 'a'
	}
	return string(b)
}

func TestEveryPortTellsHowItIs(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), 1, 1)
	write(t, r.client, r.url("/f"), content("/f", 5000))
	for addr, want := range map[string]string{
		r.up.Manager.Addr: "hemera_namespace_files 1\n", r.up.Nodes[0].Addr: "hemera_node_commits_total 1\n",
	} {
		if text := get(t, "http://"+addr+"/metrics"); !strings.Contains(text, want) {
			t.Errorf("%s does not have %q", addr, want)
		}
		if text := get(t, "http://"+addr+"/healthz"); !strings.HasPrefix(text, "ok\n") {
			t.Errorf("%s says %q", addr, text)
		}
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
