package daemon

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestDirectoriesAtTheTapeAPI: each path that does not name a file has its own error, with the text of other doors, and
// the other paths are served. A slash at the end means a directory.
func TestDirectoriesAtTheTapeAPI(t *testing.T) {
	up := withTape(t, t.TempDir())
	m := up.Manager
	newClient(t, up).put("/a/f", nil)
	want := map[string]string{
		"/a": "Is a directory", "/a/": "Is a directory", "/": "Is a directory", "/a/f/": "Not a directory", "/a/f/g": "Not a directory",
		"/none": "No such file or directory", "/none/": "No such file or directory", "/none/f": "No such file or directory",
	}
	paths := []string{"/a", "/a/", "/", "/a/f/", "/a/f", "/a/f/g", "/none", "/none/", "/none/f"}
	body, err := json.Marshal(map[string][]string{"paths": paths})
	if err != nil {
		t.Fatal(err)
	}
	type answer struct {
		Path, Locality, Error string
		OnDisk                bool
	}
	check := func(call string, list []answer) {
		t.Helper()
		if len(list) != len(paths) {
			t.Fatalf("%s: %+v", call, list)
		}
		for i, a := range list {
			words := want[paths[i]]
			switch {
			case a.Path != paths[i]:
				t.Errorf("%s: %s in the place of %s", call, a.Path, paths[i])
			case words == "" && (a.Error != "" || a.Locality != "DISK" && !a.OnDisk):
				t.Errorf("%s: %+v", call, a)
			case words != "" && (!strings.HasSuffix(strings.ToLower(a.Error), strings.ToLower(words)) || a.Locality != "" || a.OnDisk):
				t.Errorf("%s: %+v, want %s", call, a, words)
			}
		}
	}
	var infos []answer
	if code := tapeAPI(t, m, "POST", "/api/v1/archiveinfo", string(body), &infos); code != http.StatusOK {
		t.Errorf("archiveinfo: %d", code)
	}
	check("archiveinfo", infos)
	var made struct{ RequestID string }
	if code := tapeAPI(t, m, "POST", "/api/v1/stage", string(body), &made); code != http.StatusCreated {
		t.Fatalf("stage: %d", code)
	}
	var request struct{ Files []answer }
	tapeAPI(t, m, "GET", "/api/v1/stage/"+made.RequestID, "", &request)
	check("stage", request.Files)

	// One bad path alone, and one after a good one: the answer has the error of the path.
	for path, words := range want {
		status := http.StatusBadRequest
		if strings.HasPrefix(path, "/none") {
			status = http.StatusNotFound
		}
		for _, list := range []string{`"` + path + `"`, `"/a/f","` + path + `"`} {
			var problem struct{ Detail string }
			code := tapeAPI(t, m, "POST", "/api/v1/release/"+made.RequestID, fmt.Sprintf(`{"paths":[%s]}`, list), &problem)
			if code != status || !strings.Contains(strings.ToLower(problem.Detail), strings.ToLower(words)) {
				t.Errorf("release of %s: %d %s, want %d %s", list, code, problem.Detail, status, words)
			}
		}
	}
}
