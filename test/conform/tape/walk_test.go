package tape

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// archivePollTime bounds one poll of gfal.
const archivePollTime = time.Minute

// TestWalk takes files to tape and back, one by one: xrdcp in, the flag of the backup, evict, offline, prepare, query until online, xrdcp out. Some
// walks kill the whole cluster at a point; HEMERA_TAPE_WALKS=all has one for each of six points.
func TestWalk(t *testing.T) {
	t.Parallel()
	u := newUps(t)
	u.start("up")
	archive(u.Cluster, "/walk", "default")
	points := []string{"not killed", "killed before the archive", "killed before the recall"}
	if allWalks() {
		points = append(points, "killed after the archive", "killed after the evict", "killed after the recall", "killed while a client waits")
	}
	steps := map[string]func(u *ups){"encrypted": encrypted, "all disk copies bad": spoiled, "library put down": putDown}
	for _, name := range points {
		steps[name] = func(u *ups) { walkThrough(u, name) }
	}
	for _, name := range append(points, "encrypted", "all disk copies bad", "library put down") {
		passed := t.Run(name, func(t *testing.T) {
			part := *u
			part.Cluster = u.For(t)
			defer func() {
				if t.Failed() {
					part.explain()
				}
			}()
			steps[name](&part)
		})
		if !passed {
			return
		}
	}
	if failed := failedRequests(u.Cluster); failed != "" {
		t.Errorf("requests failed: %s", failed)
	}
	if err := healthy(u.Cluster); err != nil {
		t.Error(err)
	}
}

// explain logs what the cluster says of its tapes.
func (u *ups) explain() {
	for _, command := range [][]string{{"tape", "status"}, {"tape", "why", "V00001"}, {"tape", "session", "ls"}, {"tape", "request", "ls"}} {
		out, err := u.Admin(command...)
		u.T.Logf("%v: %v\n%s", command, err, out)
	}
}

// walkThrough takes a file to tape and back; the cluster is killed at the point.
func walkThrough(u *ups, point string) {
	path := "/walk/" + strings.ReplaceAll(point, " ", "-")
	at := func(name string) {
		if name == point {
			u.crash()
		}
	}
	content := u.content("in", 1+mathrand.IntN(3_000_000))
	u.put("in", path)
	at("killed before the archive")
	u.awaitBacked(path)
	archivePolled(u, path)
	at("killed after the archive")
	u.evict(path)
	at("killed after the evict")
	u.Await("offline", func() bool { return u.offline(path) })
	request := u.prepare(path)
	at("killed before the recall")
	u.Await("online", func() bool { return online(u.Host(), request, path) })
	at("killed after the recall")
	if point == "killed while a client waits" {
		u.evict(path)
		read := make(chan error, 1)
		back := u.Path("clients", "waited")
		go func() {
			_, err := stock("xrdcp", "-f", "--nopbar", u.URL+"/"+path, back)
			read <- err
		}()
		u.crash()
		if err := <-read; err != nil {
			u.T.Fatal(err)
		}
		if got, err := os.ReadFile(back); err != nil || !bytes.Equal(got, content) {
			u.T.Fatalf("the reader that waited has another content, of %d bytes, %v", len(got), err)
		}
		return
	}
	u.same(path, content)
}

// archivePolled waits until gfal, and so FTS, takes the file for archived. It does nothing where gfal is not installed.
func archivePolled(u *ups, path string) {
	u.T.Helper()
	const tool = "gfal-archivepoll"
	if _, err := exec.LookPath(tool); err != nil {
		return
	}
	u.Await(tool+" takes the file for archived", func() bool {
		ctx, cancel := context.WithTimeout(u.T.Context(), archivePollTime)
		defer cancel()
		cmd := exec.CommandContext(ctx, tool, u.URL+"/"+path)
		cmd.Env = append(os.Environ(), "GFAL_PYTHONBIN=/usr/bin/python3")
		out, _ := cmd.Output()
		return strings.HasSuffix(strings.TrimSpace(string(out)), "READY")
	})
}

// encrypted takes a file to a tape of a pool with a key, and back. In between the key is missing, and another one.
func encrypted(u *ups) {
	const path, clear = "/sealed/f", "this stands nowhere on tape "
	key := filepath.Join(u.dir, "manager", "tape-keys", "walk.key")
	u.Must("tape", "key", "add", "walk")
	u.Must("tape", "pool", "add", "sealed", "encryptionKeyName=walk")
	u.Must("tape", "class", "add", "sealed")
	u.Must("tape", "route", "add", "sealed/1", "tapepool=sealed")
	u.Must("tape", "tape", "set", "V00016", "tapepool=sealed")
	archive(u.Cluster, "/sealed", "sealed")
	content := []byte(strings.Repeat(clear, 40_000))
	u.local("in", content)
	u.put("in", path)
	u.awaitBacked(path)
	u.evict(path)
	tape, err := os.ReadFile(filepath.Join(u.dir, "tape", "cartridges", "V00016L9.data"))
	if err != nil || !bytes.HasPrefix(tape, []byte("VOL1V00016")) {
		u.T.Fatalf("the label of the tape cannot be read: %v", err)
	}
	for _, text := range []string{clear, path, "UHL10000"} {
		if bytes.Contains(tape, []byte(text)) {
			u.T.Errorf("the cartridge has %q in clear", text)
		}
	}
	keyIsSecret(u, key)
	away := u.Path("walk.key")
	if err := os.Rename(key, away); err != nil {
		u.T.Fatal(err)
	}
	request := u.prepare(path)
	u.Await("the missing key is reported", func() bool { return keyReported(u, path, "missing") })
	other := make([]byte, 32)
	_, _ = rand.Read(other)
	if err := os.WriteFile(key, []byte(hex.EncodeToString(other)), 0o600); err != nil {
		u.T.Fatal(err)
	}
	u.Await("another key is reported", func() bool { return keyReported(u, path, "another key") })
	u.refused("", "tape", "key", "add", "walk", "--from", key)
	if err := os.Remove(key); err != nil {
		u.T.Fatal(err)
	}
	u.Must("tape", "key", "add", "walk", "--from", away)
	u.Await("online", func() bool { return online(u.Host(), request, path) })
	u.same(path, content)
}

// keyIsSecret checks that nothing but its file has the key, and that only its owner reads that.
func keyIsSecret(u *ups, key string) {
	u.T.Helper()
	info, err := os.Stat(key)
	if err != nil || info.Mode().Perm() != 0o600 {
		u.T.Fatalf("%s is open to others: %v, %v", key, info, err)
	}
	secret, err := os.ReadFile(key)
	if secret = bytes.TrimSpace(secret); err != nil || len(secret) < 32 {
		u.T.Fatalf("%s has no key: %v", key, err)
	}
	if strings.Contains(u.process.Log(), string(secret)) {
		u.T.Error("the log has the secret")
	}
	err = filepath.WalkDir(filepath.Join(u.dir, "manager", "namespace"), func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // the store removes files at any time
		}
		text, _ := os.ReadFile(name)
		if bytes.Contains(text, secret) {
			return fmt.Errorf("%s has the secret", name)
		}
		return nil
	})
	if err != nil {
		u.T.Error(err)
	}
}

// keyReported reports whether the status says what is wrong with the key, with its remedy, and the file says which key it needs.
func keyReported(u *ups, path, wrong string) bool {
	status, _ := u.Admin("tape", "status")
	for line := range strings.Lines(status) {
		rest, ok := strings.CutPrefix(line, "key walk  ")
		if _, remedy, said := strings.Cut(rest, wrong); ok && said && strings.Contains(remedy, "hemera tape key add walk --from FILE") {
			why, err := u.Admin("tape", "why", path)
			return err == nil && strings.Contains(why, "encrypted with key walk")
		}
	}
	return false
}

// spoiled has a page in the middle of all disk copies turn bad unnoticed. The first read finds that in the middle of its answer, and waits for the tape copy.
func spoiled(u *ups) {
	const path, at = "/walk/spoiled", 15_000_000
	content := u.content("in", 20_000_000)
	u.put("in", path)
	u.awaitBacked(path)
	info := rows[infoRow](u.Cluster, "file", "info", path)
	if len(info) == 0 {
		u.T.Fatal("the manager does not say where the file is")
	}
	pieces, _ := filepath.Glob(filepath.Join(u.dir, "disk*", "*", info[0].FXID+".*"))
	if len(pieces) != 2 {
		u.T.Fatalf("the pieces are %v", pieces)
	}
	for _, piece := range pieces {
		f, err := os.OpenFile(piece, os.O_RDWR, 0)
		if err == nil {
			_, err = f.WriteAt([]byte{content[at] ^ 4}, at)
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			u.T.Fatal(err)
		}
	}
	u.same(path, content)
}

// putDown has an admin put the library down. A file waits and says so, and goes to tape when the library is up again.
func putDown(u *ups) {
	const path = "/walk/disabled"
	u.refused("", "tape", "library", "down", "tape") // without a reason
	u.Must("tape", "library", "down", "tape", "--reason", "moved to another room")
	u.content("in", 1000)
	u.put("in", path)
	u.Await("the file says what it waits for", func() bool {
		why, _ := u.Admin("tape", "why", path)
		for line := range strings.Lines(why) {
			if strings.Contains(line, "moved to another room") && strings.Contains(line, "hemera tape library up tape") {
				return true
			}
		}
		return false
	})
	u.Await("its request is shown", func() bool {
		list := rows[requestRow](u.Cluster, "tape", "request", "show", path)
		return len(list) == 1 && list[0].RequestType == "archive"
	})
	u.Must("tape", "library", "up", "tape")
	u.awaitBacked(path)
}
