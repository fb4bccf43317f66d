package tape

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hemera/test/fixture/rig"
)

// upPorts are those of `hemera up`: of the manager and six nodes.
const upPorts = 7

// ups are clusters of `hemera up` with a tape library, at the same ports one after the other.
type ups struct {
	*rig.Cluster
	process *rig.Server
	dir     string // of the one that runs
}

// newUps has nothing that runs.
func newUps(t *testing.T) *ups {
	t.Helper()
	needClients(t)
	return &ups{Cluster: rig.New(t, *program, upPorts)}
}

// start starts a cluster in a directory, and returns when it answers and knows its tapes. Another one has to be stopped first.
func (u *ups) start(name string) {
	u.T.Helper()
	u.dir = u.Path(name)
	u.process = u.Add(0, name, "up", u.dir, "--tape", "--tape-speed", "0", "--port", u.Port(0))
	u.process.Start()
	u.Await(name+" knows its tapes", func() bool {
		out, _ := u.Admin("tape", "tape", "ls")
		return strings.Contains(out, "V00016")
	})
}

// crash kills the manager, all nodes and the tape server at once, and starts them again.
func (u *ups) crash() {
	u.T.Helper()
	u.process.Kill()
	u.process.Start()
	u.Await("the cluster answers again", u.Answers)
}

// content writes a local file with a random content.
func (u *ups) content(name string, size int) []byte {
	u.T.Helper()
	content := make([]byte, size)
	_, _ = rand.Read(content)
	u.local(name, content)
	return content
}

// local writes a local file, and returns its name.
func (u *ups) local(name string, content []byte) string {
	u.T.Helper()
	path := u.Path("clients", name)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		u.T.Fatal(err)
	}
	return path
}

// put writes a file with xrdcp.
func (u *ups) put(local, path string) {
	u.T.Helper()
	mustStock(u.T, "xrdcp", "-f", "--nopbar", u.Path("clients", local), u.URL+"/"+path)
}

// same reads a file with xrdcp, and checks its content.
func (u *ups) same(path string, content []byte) {
	u.T.Helper()
	back := u.Path("clients", "back")
	mustStock(u.T, "xrdcp", "-f", "--nopbar", u.URL+"/"+path, back)
	if got, err := os.ReadFile(back); err != nil || !bytes.Equal(got, content) {
		u.T.Fatalf("%s came back with another content, of %d bytes and not %d, %v", path, len(got), len(content), err)
	}
}

// hasFlag reports whether stock xrdfs shows a flag of a file.
func (u *ups) hasFlag(path, flag string) bool {
	out, _ := stock("xrdfs", u.Host(), "stat", path)
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "Flags:") && strings.Contains(line, flag) {
			return true
		}
	}
	return false
}

// backed reports whether a file has its copy on tape.
func (u *ups) backed(path string) bool { return u.hasFlag(path, "BackUpExists") }

// offline reports whether a file is not on disk.
func (u *ups) offline(path string) bool { return u.hasFlag(path, "Offline") }

// awaitBacked waits for the copy on tape; if it does not come, the log has what the file waits for.
func (u *ups) awaitBacked(path string) {
	u.T.Helper()
	u.Await("a copy on tape of "+path, func() bool { return u.backed(path) })
}

// evict drops the disk copies, as soon as that is allowed.
func (u *ups) evict(path string) {
	u.T.Helper()
	u.Await("the disk copies of "+path+" are dropped", func() bool {
		_, err := u.Admin("tape", "evict", path)
		return err == nil
	})
}

// prepare asks for a file to be on disk, as soon as a manager takes that.
func (u *ups) prepare(paths ...string) (request string) {
	u.T.Helper()
	u.Await("a request for "+paths[0], func() bool {
		var err error
		request, err = prepare(u.Host(), paths...)
		return err == nil
	})
	return request
}

// refused checks that a command fails, and that its error has some words.
func (u *ups) refused(words string, command ...string) {
	u.T.Helper()
	out, err := u.Admin(command...)
	if err == nil || !strings.Contains(out+err.Error(), words) {
		u.T.Fatalf("%v: %v, without %q: %s", command, err, words, out)
	}
}
