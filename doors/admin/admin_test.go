package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hemera/client/admin"
	admindoor "hemera/doors/admin"
	"hemera/test/fixture"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// serve starts a door over the fixture for one identity, and returns it with a client.
func serve(t *testing.T, who hemera.Identity) (*fixture.Cluster, *httptest.Server, *admin.Client) {
	t.Helper()
	cluster := fixture.NewCluster()
	s := admindoor.Services{
		Cluster: cluster, Tokens: cluster, Trust: cluster, Maint: cluster, Observe: cluster, Quota: cluster, Status: cluster, Tape: fixture.Tapes{}, Sessions: fixture.Tapes{}, Names: cluster.Tree, Directories: cluster.Tree, Attributes: cluster.Tree,
		Config:  func() []adminapi.Setting { return []adminapi.Setting{{Key: "port", Value: "1094", Source: "default"}} },
		Version: adminapi.VersionInfo{Version: "1.0.0", Role: "up"},
	}
	server := httptest.NewServer(admindoor.NewHandler(s, func(*http.Request) (hemera.Identity, error) { return who, nil }))
	client, err := admin.Dial("root://" + server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return cluster, server, client
}

var root = hemera.Identity{Name: "root", Admin: true}

// TestRemoteIsLocal calls every reading verb both ways.
func TestRemoteIsLocal(t *testing.T) {
	local, _, remote := serve(t, root)
	ctx := context.Background()
	type verbs struct {
		adminapi.ClusterAdmin
		adminapi.TokenAdmin
		adminapi.TrustAdmin
		adminapi.MaintAdmin
		adminapi.Observer
		adminapi.QuotaAdmin
		adminapi.StatusAdmin
		adminapi.TapeSessions
	}
	questions := map[string]func(verbs) (any, error){
		"View":           func(v verbs) (any, error) { return v.View(ctx) },
		"CreateToken":    func(v verbs) (any, error) { return v.CreateToken(ctx, adminapi.TokenRequest{Lifetime: time.Hour}) },
		"Tokens":         func(v verbs) (any, error) { return v.Tokens(ctx) },
		"RotateKeys":     func(v verbs) (any, error) { return nil, v.RotateKeys(ctx, true) },
		"RemoveToken":    func(v verbs) (any, error) { return nil, v.RemoveToken(ctx, "0123456789ab") },
		"Jobs":           func(v verbs) (any, error) { return v.Jobs(ctx) },
		"FileInfo":       func(v verbs) (any, error) { return v.FileInfo(ctx, hemera.SystemIdentity(), "/exp/data.root") },
		"FileInfo fxid":  func(v verbs) (any, error) { return v.FileInfo(ctx, hemera.SystemIdentity(), "fxid:00000010") },
		"CheckFile":      func(v verbs) (any, error) { return v.CheckFile(ctx, "/exp/data.root", false) },
		"Repair":         func(v verbs) (any, error) { return v.CheckFile(ctx, "/exp/data.root", true) },
		"Fsck":           func(v verbs) (any, error) { return v.Fsck(ctx, true) },
		"Operations":     func(v verbs) (any, error) { return v.Operations(ctx) },
		"Sessions":       func(v verbs) (any, error) { return v.Sessions(ctx) },
		"NamespaceStats": func(v verbs) (any, error) { return v.NamespaceStats(ctx) },
		"DiskFiles":      func(v verbs) (any, error) { return v.DiskFiles(ctx, 1, 0, 2) },
		"OpenFiles":      func(v verbs) (any, error) { return v.OpenFiles(ctx) },
		"Measure":        func(v verbs) (any, error) { return v.Measure(ctx, 1, []string{"bench", "disk"}) },
		"Status":         func(v verbs) (any, error) { return v.Status(ctx) },
		"Impact":         func(v verbs) (any, error) { return v.Impact(ctx, []hemera.DiskID{1, 5}) },
		"Why":            func(v verbs) (any, error) { return v.Why(ctx, hemera.SystemIdentity(), adminapi.WhyDisk, "4") },
		"Quotas":         func(v verbs) (any, error) { return v.Quotas(ctx, "") },
		"TapeSession":    func(v verbs) (any, error) { return v.TapeSession(ctx, 7) },
		"Events":         func(v verbs) (any, error) { return v.Events(ctx, 1, 1) },
	}
	for name, ask := range questions {
		want, err := ask(verbs{local, local, local, local, local, local, local, fixture.Tapes{}})
		if err != nil {
			t.Fatal(name, err)
		}
		got, err := ask(verbs{remote.Cluster, remote.Trust, remote.Trust, remote.Maint, remote.Observe, remote.Quota, remote.Status, remote.Tape})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s differs:\n%s", name, d)
		}
	}
}

// TestChangesArrive calls every changing verb remotely and checks the fixture itself.
func TestChangesArrive(t *testing.T) {
	local, _, remote := serve(t, root)
	ctx := context.Background()
	old := time.Date(2001, 2, 3, 4, 5, 6, 7, time.UTC)
	_, mkdirErr := remote.Names.Mkdir(ctx, root, "/a/b", 0o750, true)
	for i, err := range []error{
		mkdirErr,
		remote.Cluster.AddDisk(ctx, 2, hemera.AttachDisk{Path: "/data07", Space: "default"}),
		remote.Cluster.SetDisk(ctx, 1, "configstatus", "ro"),
		remote.Cluster.RemoveDisk(ctx, 6, adminapi.Removal{Force: true}),
		remote.Cluster.SetNode(ctx, 2, "status", "off"),
		remote.Cluster.RemoveNode(ctx, 3),
		remote.Cluster.SetSpace(ctx, "default", "policy.sync", "off"),
		remote.Quota.SetQuota(ctx, hemera.QuotaKey{Path: "/a", Kind: hemera.QuotaGroup, ID: 7}, hemera.QuotaAmount{Files: 3, Bytes: adminapi.QuotaKeep}),
		remote.Quota.RemoveQuota(ctx, hemera.QuotaKey{Path: "/exp"}),
		remote.Names.Rename(ctx, root, "/a/b", "/a/c"),
		remote.Attributes.SetMode(ctx, root, "/a/c", 0o700),
		remote.Attributes.SetOwner(ctx, root, "/a/c", 5, -1),
		remote.Attributes.SetXattr(ctx, root, "/a/c", "user.bin", []byte{0, 255, '\n'}, true),
		remote.Attributes.SetTimes(ctx, root, "/a/c", old),
		remote.Attributes.RemoveXattr(ctx, root, "/exp", "sys.forced.layout"),
		remote.Names.Remove(ctx, root, "/tmp/empty", hemera.KindDirectory),
	} {
		if err != nil {
			t.Errorf("change %d: %v", i, err)
		}
	}
	v, _ := local.View(ctx)
	if len(v.Disks) != 6 || v.Disks[5].ID != 7 || v.Disks[0].Config != hemera.ConfigRO || v.Nodes[1].Enabled || v.Spaces[0].Policy.Sync {
		t.Errorf("the cluster is %+v", v)
	}
	if q, _ := local.Quotas(ctx, ""); len(q) != 1 || q[0].Path != "/a" || q[0].ID != 7 || q[0].Limits != (hemera.QuotaAmount{Files: 3}) {
		t.Errorf("the quotas are %+v", q)
	}
	e, err := local.Tree.Stat(ctx, root, "/a/c")
	if err != nil || e.Mode != 0o700 || e.UID != 5 || string(e.Xattrs["user.bin"]) != "\x00\xff\n" || !e.Mtime.Equal(old) {
		t.Errorf("/a/c is %+v, %v", e, err)
	}
	if e, _ := local.Tree.Stat(ctx, root, "/exp"); e.Xattrs["sys.forced.layout"] != nil {
		t.Error("the attribute is still there")
	}
	if _, err := remote.Names.Stat(ctx, root, "/tmp/empty"); !errors.Is(err, errs.NotFound) {
		t.Errorf("the removed directory: %v", err)
	}
}

func TestErrorsKeepKindRemedyAndTrace(t *testing.T) {
	_, _, remote := serve(t, root)
	ctx := hemera.WithTrace(context.Background(), "0123456789abcdef")
	err := remote.Cluster.RemoveDisk(ctx, 2, adminapi.Removal{})
	var e *errs.Error
	if !errors.As(err, &e) || e.Kind != errs.NotEmpty || e.Op != "fixture.FsRm" || e.Subject != "disk 2" {
		t.Fatalf("error is %#v", err)
	}
	if want := "fs rm disk 2: it still holds 2000 pieces"; err.Error() != want {
		t.Errorf("text is %q, not %q", err, want)
	}
	if want := "empty it first: hemera fs set 2 drain"; errs.RemedyOf(err) != want {
		t.Errorf("remedy is %q", errs.RemedyOf(err))
	}
	if admin.TraceOf(err) != "0123456789abcdef" {
		t.Errorf("trace is %q", admin.TraceOf(err))
	}
	// A stream's error follows its messages.
	err = remote.Names.List(ctx, root, "/nowhere", func(hemera.Entry) error { return nil })
	if !errors.Is(err, errs.NotFound) || admin.TraceOf(err) != "0123456789abcdef" {
		t.Errorf("listing: %v", err)
	}
	// Bytes that are not UTF-8 must not change the kind of the error.
	if _, err = remote.Names.Stat(ctx, root, "/bad\xff"); !errors.Is(err, errs.NotFound) {
		t.Errorf("a path of any bytes: %v", err)
	}
}

// A node's port also speaks HTTP, but has no admin API.
func TestWhoTakesANodeForTheManagerIsTold(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	c, err := admin.Dial("root://" + s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Cluster.View(context.Background())
	if !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "no manager") || !strings.Contains(errs.RemedyOf(err), "not a node's") {
		t.Errorf("error is %v (%s)", err, errs.RemedyOf(err))
	}
}

func TestUnreachableServerHasARemedy(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	addr := s.Listener.Addr().String()
	s.Close()
	c, err := admin.Dial("root://" + addr)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Cluster.View(context.Background())
	if !errors.Is(err, errs.Unavailable) || !strings.Contains(errs.RemedyOf(err), "HEMERA_URL") || admin.TraceOf(err) != "" {
		t.Errorf("error is %v (%s), trace %q", err, errs.RemedyOf(err), admin.TraceOf(err))
	}
	for _, url := range []string{"ftp://x", "unix://x", "unix:x", "unix:///" + strings.Repeat("x", 200)} {
		if _, err := admin.Dial(url); !errors.Is(err, errs.Invalid) || errs.RemedyOf(err) == "" {
			t.Errorf("%s: %v", url, err)
		}
	}
	// A path may have any characters, written plainly or escaped.
	for _, url := range []string{"unix:///run/100%/admin.sock", "unix:///run/a%20b/admin.sock", admin.SocketURL("/run/100% sure/admin.sock")} {
		if _, err := admin.Dial(url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestWhoMayAsk(t *testing.T) {
	ctx := context.Background()
	_, server, user := serve(t, hemera.Identity{Name: "alice", UID: 1001})
	if _, err := user.Cluster.View(ctx); !errors.Is(err, errs.Denied) || errs.RemedyOf(err) == "" {
		t.Errorf("a user may see the cluster: %v", err)
	}
	if _, err := user.Names.Stat(ctx, hemera.Identity{}, "/exp"); err != nil {
		t.Errorf("a user may not stat: %v", err)
	}
	_, _, nobody := serve(t, hemera.Identity{Name: "nobody", UID: hemera.NobodyID})
	if _, err := nobody.Names.Stat(ctx, root, "/exp"); !errors.Is(err, errs.Denied) {
		t.Errorf("the identity in the argument was believed: %v", err)
	}
	for header, value := range map[string]string{"Origin": server.URL, "Sec-Fetch-Site": "cross-site"} {
		r, _ := http.NewRequest("POST", server.URL+"/hemera.admin.v1.Admin/Stat", strings.NewReader(`{"Path":"/exp"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(header, value)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("a web page's request (%s) was answered %s", header, res.Status)
		}
	}
}

func TestUnauthenticatedIs401(t *testing.T) {
	refuse := errs.New(errs.Unauthenticated, "auth", "192.0.2.1", "who are you").WithRemedy("use loopback")
	h := admindoor.NewHandler(admindoor.Services{}, func(*http.Request) (hemera.Identity, error) { return hemera.Identity{}, refuse })
	w := post(h, "/hemera.admin.v1.Admin/View", `{}`)
	if w.Code != 401 || !strings.Contains(w.Body.String(), "use loopback") {
		t.Errorf("answer %d %s", w.Code, w.Body)
	}
	for _, open := range []string{"/healthz", "/metrics", "/"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", open, nil))
		if w.Code != 200 {
			t.Errorf("%s answers %d", open, w.Code)
		}
	}
}

func post(h http.Handler, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestPlainJSON checks plain JSON requests, as curl sends them.
func TestPlainJSON(t *testing.T) {
	cluster := fixture.NewCluster()
	h := admindoor.NewHandler(admindoor.Services{Cluster: cluster, Names: cluster.Tree}, func(*http.Request) (hemera.Identity, error) { return root, nil })
	w := post(h, "/hemera.admin.v1.Admin/View", `{}`)
	var v hemera.View
	if err := json.Unmarshal(w.Body.Bytes(), &v); w.Code != 200 || err != nil || len(v.Disks) != 6 {
		t.Errorf("View: %d %v %s", w.Code, err, w.Body)
	}
	if len(w.Header().Get(adminapi.TraceHeader)) != 16 {
		t.Errorf("no trace id in %v", w.Header())
	}
	w = post(h, "/hemera.admin.v1.Admin/Stat", `{"Path":"/exp/data.root"}`)
	if !strings.Contains(w.Body.String(), `"adler32:0062a180"`) {
		t.Errorf("checksums are not readable in %s", w.Body)
	}
	for body, want := range map[string]int{
		`{"Pfad":"/exp"}`:       400, // a misspelt field is not ignored
		`{"Path":"/exp"} {}`:    400,
		`{"Path":`:              400,
		`{"Path":"/nowhere"}`:   404,
		``:                      404,
		`"` + long(2<<20) + `"`: 429, // over the limit: the rest is not read
	} {
		if w := post(h, "/hemera.admin.v1.Admin/Stat", body); w.Code != want {
			t.Errorf("%.30s: %d %.200s", body, w.Code, w.Body)
		}
	}
	if w := post(h, "/hemera.admin.v1.Admin/Jobs", `{}`); w.Code != 501 {
		t.Errorf("a part that is not there: %d %s", w.Code, w.Body)
	}
}

func long(n int) string { return strings.Repeat("x", n) }

func TestWalk(t *testing.T) {
	_, _, c := serve(t, root)
	day := fixture.Now.Add(-24 * time.Hour)
	zero := int64(0)
	for _, test := range []struct {
		r    adminapi.WalkRequest
		want string
	}{
		{adminapi.WalkRequest{Path: "/exp"}, "/exp /exp/data.root /exp/notes.txt /exp/run1 /exp/run1/a.dat /exp/run1/b.dat"},
		{adminapi.WalkRequest{Path: "/exp", Depth: 1}, "/exp /exp/data.root /exp/notes.txt /exp/run1"},
		{adminapi.WalkRequest{Path: "/exp", Depth: -1}, "/exp"},
		{adminapi.WalkRequest{Path: "/", Kind: hemera.KindDirectory}, "/ /exp /exp/run1 /tmp /tmp/empty"},
		{adminapi.WalkRequest{Path: "/", Name: "*.dat"}, "/exp/run1/a.dat /exp/run1/b.dat"},
		{adminapi.WalkRequest{Path: "/", Kind: hemera.KindFile, SizeMin: 1000}, "/exp/data.root /exp/notes.txt"},
		{adminapi.WalkRequest{Path: "/", Kind: hemera.KindFile, SizeMax: &zero}, "/exp/run1/b.dat"},
		{adminapi.WalkRequest{Path: "/", Kind: hemera.KindFile, Older: &day}, "/exp/run1/b.dat"},
		{adminapi.WalkRequest{Path: "/", Kind: hemera.KindFile, Newer: &day}, "/exp/data.root /exp/run1/a.dat"},
		{adminapi.WalkRequest{Path: "/exp/notes.txt"}, "/exp/notes.txt"},
	} {
		var got []string
		_, err := c.Names.Walk(context.Background(), test.r, func(f adminapi.Found) error { got = append(got, f.Path); return nil })
		if s := strings.Join(got, " "); err != nil || s != test.want {
			t.Errorf("%+v: %s, %v\nwant %s", test.r, s, err, test.want)
		}
	}
	if _, err := c.Names.Walk(context.Background(), adminapi.WalkRequest{Path: "/", Name: "[a"}, nil); !errors.Is(err, errs.Invalid) {
		t.Errorf("a bad pattern: %v", err)
	}
	enough := errors.New("enough")
	if _, err := c.Names.Walk(context.Background(), adminapi.WalkRequest{Path: "/"}, func(adminapi.Found) error { return enough }); err != enough {
		t.Errorf("visit's error: %v", err)
	}
}

// TestListStreams checks that entries arrive before the server has finished listing.
func TestListStreams(t *testing.T) {
	seen := make(chan struct{})
	n := endless{seen}
	s := httptest.NewServer(admindoor.NewHandler(admindoor.Services{Names: n}, func(*http.Request) (hemera.Identity, error) { return root, nil }))
	defer s.Close()
	c, _ := admin.Dial(s.URL)
	defer c.Close()
	count := 0
	err := c.Names.List(context.Background(), root, "/", func(hemera.Entry) error {
		if count++; count == 1 {
			close(seen)
		}
		return nil
	})
	if err != nil || count != 1000 {
		t.Errorf("%d entries, %v", count, err)
	}
}

// endless lists only one message until the client has seen its first entry.
type endless struct{ seen chan struct{} }

func (n endless) List(ctx context.Context, _ hemera.Identity, _ string, visit func(hemera.Entry) error) error {
	for i := range 1000 {
		if i == 300 {
			select {
			case <-n.seen:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := visit(hemera.Entry{ID: hemera.FileID(i)}); err != nil {
			return err
		}
	}
	return nil
}

func (endless) Stat(context.Context, hemera.Identity, string) (hemera.Entry, error) {
	panic("a door must survive this")
}
func (endless) Mkdir(context.Context, hemera.Identity, string, uint32, bool) (e hemera.Entry, err error) {
	return
}
func (endless) Rename(context.Context, hemera.Identity, string, string) error           { return nil }
func (endless) Publish(context.Context, hemera.Identity, hemera.Publication) error      { return nil }
func (endless) Remove(context.Context, hemera.Identity, string, hemera.EntryKind) error { return nil }

func TestPanicIsAnInternalError(t *testing.T) {
	h := admindoor.NewHandler(admindoor.Services{Names: endless{}}, func(*http.Request) (hemera.Identity, error) { return root, nil })
	if w := post(h, "/hemera.admin.v1.Admin/Stat", `{}`); w.Code != 500 {
		t.Errorf("answer %d %s", w.Code, w.Body)
	}
}

func TestMetrics(t *testing.T) {
	_, server, _ := serve(t, root)
	res, err := http.Get(server.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	for _, line := range []string{
		`hemera_operations_total{op="stat"} 52000`,
		`hemera_operation_latency_seconds_bucket{op="commit",le="0.0005"} 0`,
		`hemera_operation_latency_seconds_bucket{op="commit",le="0.001"} 1000`,
		`hemera_operation_latency_seconds_sum{op="commit"} 0.9`,
		`hemera_disk_latency_seconds_bucket{call="read",disk="1",host="node1.example.org",path="/data01",le="0.0025"} 1000`,
		`hemera_disk_used_bytes{disk="2",host="node1.example.org",node="1",path="/data02",space="default"} 1e+12`,
		`hemera_disk_health{configstatus="rw",disk="3",health="failing",host="node1.example.org",path="/data03"} 1`,
		`hemera_disk_writable{disk="4",host="node2.example.org",node="2",path="/data04",space="default"} 0`,
		`hemera_node_up{addr="node2.example.org:1095",node="2"} 1`,
		`hemera_namespace_files 4`,
		`hemera_job_left_bytes{disk="4",host="node2.example.org",kind="drain",path="/data04",state="running"} 1e+12`,
		`hemera_part_up{part="observe"} 1`,
		`go_goroutines `,
	} {
		if !strings.Contains(string(body), "\n"+line) {
			t.Errorf("no %s", line)
		}
	}
}
