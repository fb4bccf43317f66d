package xrd

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hemera/client/xrootd"
	"hemera/doors/xrd/prepare"
	"hemera/rules/wire"
	"hemera/test/fixture"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// tapePair starts a pair with tape. /a and /b are on tape only, /both also on disk, /disk on disk only.
func tapePair(t *testing.T) (*pair, *fixture.Staging) {
	t.Helper()
	var tape *fixture.Staging
	p := newPair(t, func(o *Options) {
		if o.Manager != nil {
			m := o.Manager.Names.(*memory)
			tape = fixture.NewStaging(m.Tree, time.Now)
			o.Manager.Staging, o.Manager.Files = tape, evictedFiles{memoryFiles{m}, tape, new(atomic.Int64)}
		}
	})
	for _, path := range []string{"/a", "/b", "/both", "/disk"} {
		p.put(path, "content of "+path)
	}
	tape.Evicted("/a")
	tape.Evicted("/b")
	tape.OnTape("/both")
	return p, tape
}

// evictedFiles answers opens of evicted files like a manager that recalls them: the first open begins the recall, and
// open number opensOfRecall finds the file on disk.
type evictedFiles struct {
	memoryFiles
	tape  *fixture.Staging
	opens *atomic.Int64 // of evicted files
}

const opensOfRecall = 3

// Open implements hemera.Files.
func (f evictedFiles) Open(ctx context.Context, who hemera.Identity, r hemera.OpenRequest) (hemera.Grant, error) {
	e, err := f.Stat(ctx, who, r.Path)
	if err != nil || !e.Evicted() {
		return f.memoryFiles.Open(ctx, who, r)
	}
	switch f.opens.Add(1) {
	case 1:
		if _, err := f.tape.Stage(ctx, who, tapeapi.StageRequest{Files: []tapeapi.StageFile{{Path: r.Path}}}); err != nil {
			return hemera.Grant{}, err
		}
	case opensOfRecall:
		f.tape.Recall(r.Path)
		return f.memoryFiles.Open(ctx, who, r)
	}
	return hemera.Grant{}, errs.New(errs.Unavailable, "manager.Open", r.Path, "the file is being recalled from tape")
}

func TestStatFlagsOfTape(t *testing.T) {
	p, _ := tapePair(t)
	c := dial(t, p.managerAddr)
	const tape = wire.StatOffline | wire.StatBkpExist
	want := map[string]uint32{"/a": tape, "/both": wire.StatBkpExist, "/disk": 0}
	for path, flags := range want {
		s, err := wire.ParseStat(c.must(t, wire.Stat{}, path))
		if err != nil || s.Flags&tape != flags {
			t.Errorf("%s: flags %x, %v", path, s.Flags, err)
		}
	}
	if got := c.must(t, wire.Statx{}, "/a\n/both\n/disk"); string(got) != "\x88\x80\x00" {
		t.Errorf("statx %q", got)
	}
	entries, err := wire.ParseDirlist(c.must(t, wire.Dirlist{Options: wire.DirlistStat}, "/"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if flags, ok := want["/"+e.Name]; ok && e.Stat.Flags&tape != flags {
			t.Errorf("listing: %s has flags %x", e.Name, e.Stat.Flags)
		}
	}
}

// text returns an answer without its trailing NUL.
func text(body []byte) string { return strings.TrimRight(string(body), "\x00") }

// states queries the paths of a request.
func states(t *testing.T, c *rawConn, id string, paths ...string) []prepare.State {
	t.Helper()
	var answer struct {
		ID        string          `json:"request_id"`
		Responses []prepare.State `json:"responses"`
	}
	lines := strings.Join(append([]string{id}, paths...), "\n")
	if err := json.Unmarshal([]byte(text(c.must(t, wire.Query{Kind: wire.QueryPrepare}, lines))), &answer); err != nil || answer.ID != id {
		t.Fatalf("%+v, %v", answer, err)
	}
	for i := range answer.Responses { // times depend on the test
		if s := &answer.Responses[i]; s.ReqTime != "" {
			s.ReqTime = "T"
		}
	}
	return answer.Responses
}

// TestPrepareOfTape runs through the life of a request: staged, queried, done, released.
func TestPrepareOfTape(t *testing.T) {
	p, tape := tapePair(t)
	c := dial(t, p.managerAddr)
	stage, cancel, evict := wire.Prepare{Options: wire.PrepareStage, Priority: 1}, wire.Prepare{Options: wire.PrepareCancel}, wire.Prepare{OptionX: wire.PrepareEvict}

	id := text(c.must(t, stage, "/a?activity=reco\n/disk\n/none"))
	waits := prepare.State{Path: "/a", Exists: true, OnTape: true, Requested: true, HasReqID: true, ReqTime: "T", Why: "waits for a drive"}
	want := []prepare.State{
		waits,
		{Path: "/disk", Exists: true, Online: true, HasReqID: true},
		{Path: "/none", HasReqID: true, Error: "not found"},
		{Path: "/b", Exists: true, OnTape: true},
		{Path: "relative", Error: "path \"relative\" is not absolute"},
	}
	got := states(t, c, id, "/a", "/disk", "/none", "/b", "relative")
	if got[4].Error == "" { // the decoder's words
		t.Error("a path that is none has no error")
	}
	got[4].Error = want[4].Error
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := states(t, c, id); !reflect.DeepEqual(got, want[:3]) { // the whole request
		t.Errorf("without paths: %+v", got)
	}
	// Two requests wait for one file. Cancelling one does not affect the other.
	second := text(c.must(t, stage, "/a\n/b"))
	c.must(t, cancel, second+"\n/a")
	if n := tape.Recall("/a"); n != 1 {
		t.Errorf("%d requests waited", n)
	}
	if got := states(t, c, id, "/a"); !got[0].Online || got[0].Requested || !got[0].OnTape {
		t.Errorf("after the recall: %+v", got)
	}
	c.must(t, evict, "/a")
	if got := states(t, c, id, "/a"); got[0].Online {
		t.Errorf("after the release: %+v", got)
	}
	tape.Fail("/b", "the tape is broken")
	if got := states(t, c, second, "/b"); got[0].Error != "the tape is broken" || got[0].Requested {
		t.Errorf("after a failure: %+v", got)
	}
	c.must(t, cancel, second)
}

// TestPrepareOfTapeRefused checks the errors that fail the whole request.
func TestPrepareOfTapeRefused(t *testing.T) {
	p, _ := tapePair(t)
	c := dial(t, p.managerAddr)
	stage, cancel, evict := wire.Prepare{Options: wire.PrepareStage}, wire.Prepare{Options: wire.PrepareCancel}, wire.Prepare{OptionX: wire.PrepareEvict}
	id := text(c.must(t, stage, "/a"))
	for _, r := range []struct {
		request wire.Request
		payload string
		code    wire.Code
	}{
		{stage, "", wire.ArgMissing},
		{stage, "/none\n/none2", wire.NotFound}, // nothing to stage
		{stage, "/a\n../b", wire.NotAuthorized},
		{cancel, "unknown", wire.ArgInvalid},
		{cancel, id + "\n/b", wire.ArgInvalid}, // not in the request
		{evict, "/disk\n/none", wire.NotFound},
		{evict, "/none", wire.NotFound},
		{wire.Prepare{}, "/none", wire.NotFound}, // a check
		{wire.Query{Kind: wire.QueryPrepare}, "unknown", wire.NotFound},
	} {
		c.refused(t, r.request, r.payload, r.code)
	}
	lenient := wire.PrepareNoErrs
	c.must(t, wire.Prepare{Options: wire.PrepareStage | lenient}, "/none")
	c.must(t, wire.Prepare{Options: lenient, OptionX: wire.PrepareEvict}, "/none")
	c.must(t, wire.Prepare{}, "/a")
	c.must(t, evict, "/disk") // not on tape, so it stays
	if s, err := wire.ParseStat(c.must(t, wire.Stat{}, "/disk")); err != nil || s.Flags&wire.StatOffline != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestOpenOfAnEvictedFileWaits checks that an open waits for the recall, unless the client wants an answer at once.
func TestOpenOfAnEvictedFileWaits(t *testing.T) {
	p, tape := tapePair(t)
	tape.Takes(time.Hour)
	c := dial(t, p.managerAddr)
	c.refused(t, wire.Open{Options: wire.OpenRead | wire.OpenNoWait}, "/a", wire.NoServer)
	status, body, err := c.call(wire.Open{Options: wire.OpenRead}, []byte("/a"))
	w, bad := wire.ParseWait(body)
	if err != nil || bad != nil || status != wire.StatusWait || w.Seconds != 10 || !strings.Contains(w.Text, "recalled") {
		t.Errorf("status %d, %+v, %v, %v", status, w, err, bad)
	}
	if status, _, err := c.call(wire.Open{Options: wire.OpenRead}, []byte("/a")); err != nil || status != wire.StatusRedirect {
		t.Errorf("after the recall: status %d, %v", status, err)
	}
}

// TestOpenOfAnEvictedFileIsHeld checks that an open that waits for nodes is no recall, whatever file it is of.
func TestOpenOfAnEvictedFileIsHeld(t *testing.T) {
	p, files := newReturningPair(t, func(o *Options) {
		if o.Manager != nil {
			o.Manager.Staging = fixture.NewStaging(o.Manager.Names.(*memory).Tree, time.Now)
		}
	})
	p.manager.o.Manager.Staging.(*fixture.Staging).Evicted("/f")
	c := dial(t, p.managerAddr)
	id := c.hold(t, wire.Open{Options: wire.OpenRead}, "/f")
	files.happen(nil)
	if status, body := c.late(t, id); status != wire.StatusRedirect {
		t.Errorf("status %d, %q", status, body)
	}
}

// TestUsersHearWhatTheyWaitFor checks that our own client reports the server's text once.
func TestUsersHearWhatTheyWaitFor(t *testing.T) {
	p, tape := tapePair(t)
	tape.Takes(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	told := 0
	c := xrootd.New(xrootd.Options{Trying: func(cause error, atMost time.Duration) {
		if told++; !strings.Contains(cause.Error(), "recalled from tape") || atMost != 30*time.Minute {
			t.Errorf("told %v, at most %v", cause, atMost)
		}
		cancel()
	}})
	defer c.Close()
	u, err := xrootd.ParseURL("root://" + p.managerAddr + "//a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Open(ctx, u, xrootd.OpenOptions{}); !errors.Is(err, errs.Cancelled) || told != 1 {
		t.Errorf("%v, told %d times", err, told)
	}
}

// TestStockClientsOfTape runs the commands of CTA's users.
func TestStockClientsOfTape(t *testing.T) {
	p, tape := tapePair(t)
	tape.Takes(2 * time.Second) // a client waits for half of it
	url := "root://" + p.managerAddr
	if got := stock(t, "xrdfs", url, "stat", "/a"); !strings.Contains(got, "Offline") || !strings.Contains(got, "BackUpExists") {
		t.Errorf("stat: %s", got)
	}
	id := strings.TrimSpace(text([]byte(stock(t, "xrdfs", url, "prepare", "-s", "-p", "2", "-f", "-c", "/b", "/none"))))
	for _, want := range []string{`"request_id":"` + id + `"`, `"path":"/b","path_exists":true,"on_tape":true,"online":false,"requested":true,"has_reqid":true`, `"error_text":"not found"`} {
		if got := stock(t, "xrdfs", url, "query", "prepare", id, "/b", "/none"); !strings.Contains(got, want) {
			t.Errorf("query prepare: %s lacks %s", got, want)
		}
	}
	stock(t, "xrdfs", url, "prepare", "-a", id, "/b")
	stock(t, "xrdfs", url, "prepare", "-w", "/both")
	stock(t, "xrdfs", url, "prepare", "-e", "/both")
	if got := stock(t, "xrdfs", url, "stat", "/both"); !strings.Contains(got, "Offline") {
		t.Errorf("stat after evict: %s", got)
	}
	out := filepath.Join(t.TempDir(), "out")
	stock(t, "xrdcp", "--nopbar", url+"//a", out) // waits for the recall
	if got, err := os.ReadFile(out); err != nil || string(got) != "content of /a" {
		t.Errorf("%q, %v", got, err)
	}
}
