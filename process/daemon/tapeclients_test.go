package daemon

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"hemera/doors/taperest"
	"hemera/rules/wire"
	"hemera/words/hemera"
)

// tapeAPI calls the tape REST API of a manager as this process's user, and decodes the answer if there is one to decode.
func tapeAPI(t *testing.T, m *Manager, method, path, body string, answer any) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+m.Addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && answer != nil {
		err = json.Unmarshal(text, answer)
	}
	if err != nil {
		t.Fatalf("%s %s: %d %s: %v", method, path, res.StatusCode, text, err)
	}
	return res.StatusCode
}

// TestClientsOfTape follows the life of a file for clients of XRootD and of the tape REST API: archived, on tape only,
// requested, on disk, released.
func TestClientsOfTape(t *testing.T) {
	up := withTape(t, t.TempDir())
	m, who := up.Manager, hemera.SystemIdentity()
	if _, err := m.Names.Mkdir(t.Context(), who, "/a", 0o777, false); err != nil {
		t.Fatal(err)
	}
	if err := m.Attributes.SetXattr(t.Context(), who, "/a", hemera.AttrStorageClass, []byte("default"), false); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, up)
	c.put("/a/f", make([]byte, 300_000))
	u := c.at("/a/f")
	has := func(flags uint32) func() bool {
		return func() bool {
			i, err := c.Stat(t.Context(), u)
			if err != nil {
				t.Fatal(err)
			}
			return i.Flags&(wire.StatBkpExist|wire.StatOffline) == flags
		}
	}
	until(t, "the file is on tape", has(wire.StatBkpExist))
	// It stays on disk until the tape was read back.
	until(t, "the file is on tape only", func() bool {
		if code := tapeAPI(t, m, "POST", "/api/v1/release/none", `{"paths":["/a/f"]}`, nil); code != http.StatusOK {
			t.Fatalf("release: %d", code)
		}
		return has(wire.StatBkpExist | wire.StatOffline)()
	})

	var found struct{ Endpoints []struct{ URI string } }
	if code := tapeAPI(t, m, "GET", taperest.WellKnown, "", &found); code != http.StatusOK || len(found.Endpoints) != 1 || found.Endpoints[0].URI != "http://"+m.Addr+"/api/v1" {
		t.Errorf("%d %+v", code, found)
	}
	var made struct{ RequestID string }
	if code := tapeAPI(t, m, "POST", "/api/v1/stage", `{"files":[{"path":"/a/f"},{"path":"/a/none"},{"path":"/a/f/"},{"path":"/a/"}]}`, &made); code != http.StatusCreated {
		t.Fatalf("stage: %d", code)
	}
	var request struct {
		Files []struct {
			OnDisk bool
			Error  string
		}
	}
	until(t, "the file is on disk", func() bool {
		tapeAPI(t, m, "GET", "/api/v1/stage/"+made.RequestID, "", &request)
		return request.Files[0].OnDisk
	})
	// A path that ends in a slash does not name a file.
	if request.Files[0].Error != "" || request.Files[1].Error == "" || request.Files[2].Error == "" || request.Files[3].Error == "" {
		t.Errorf("%+v", request)
	}
	if !has(wire.StatBkpExist)() {
		t.Error("xrootd does not see what the REST API says")
	}
	var where []struct{ Locality, Error string }
	tapeAPI(t, m, "POST", "/api/v1/archiveinfo", `{"paths":["/a/f","/a/none","/a/f/"]}`, &where)
	if len(where) != 3 || where[0].Locality != "DISK_AND_TAPE" || where[1].Error == "" || where[2].Error == "" {
		t.Errorf("%+v", where)
	}
	if code := tapeAPI(t, m, "POST", "/api/v1/release/"+made.RequestID, `{"paths":["/a/f"]}`, nil); code != http.StatusOK {
		t.Errorf("release: %d", code)
	}
	if code := tapeAPI(t, m, "POST", "/api/v1/release/"+made.RequestID, `{"paths":["/a/f/"]}`, nil); code == http.StatusOK {
		t.Error("a release of a file's path with a slash is no error")
	}
	until(t, "the file is on tape only again", has(wire.StatBkpExist|wire.StatOffline))
	if code := tapeAPI(t, m, "DELETE", "/api/v1/stage/"+made.RequestID, "", nil); code != http.StatusOK {
		t.Errorf("delete: %d", code)
	}
	if code := tapeAPI(t, m, "GET", "/api/v1/stage/"+made.RequestID, "", nil); code != http.StatusNotFound {
		t.Errorf("after the removal: %d", code)
	}
}
