package daemon

import (
	"fmt"
	"strings"
	"testing"

	"hemera/client/xrootd"
	"hemera/words/hemera"
)

// TestCallsComeThroughTheXRootDPort: calls have the identity of the session. A client that logs in as nobody has a user's
// verbs, and no admin's, although its process is an admin's by HTTP.
func TestCallsComeThroughTheXRootDPort(t *testing.T) {
	u, err := OpenUp(t.Context(), UpOptions{Nodes: 1, Disks: 1, Manager: ManagerOptions{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", CacheBytes: 1 << 28, Log: keptLog(t),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer running(t, u)()
	if _, err := u.Manager.Names.Mkdir(t.Context(), hemera.SystemIdentity(), "/secret", 0o700, false); err != nil {
		t.Fatal(err)
	}
	nobody := xrootd.New(xrootd.Options{Anonymous: true})
	defer nobody.Close()
	at, err := xrootd.ParseURL("root://" + u.Manager.Addr)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(verb, body string) string {
		t.Helper()
		var answer strings.Builder
		message := fmt.Sprintf("POST /hemera.admin.v1.Admin/%s HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", verb, len(body), body)
		err := nobody.Call(t.Context(), at, []byte(message), func(b []byte) error { answer.Write(b); return nil })
		if err != nil {
			t.Errorf("%s: %v", verb, err)
		}
		return answer.String()
	}
	if got := ask("View", "{}"); !strings.HasPrefix(got, "HTTP/1.1 403 ") || !strings.Contains(got, "on the manager's host") {
		t.Errorf("an admin's verb: %s", got)
	}
	if got := ask("Stat", `{"Path":"/secret"}`); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
		t.Errorf("a user's verb: %s", got)
	}
	if got := ask("Mkdir", `{"Path":"/secret/mine","Mode":448}`); !strings.HasPrefix(got, "HTTP/1.1 403 ") {
		t.Errorf("nobody makes a directory: %s", got)
	}
}
