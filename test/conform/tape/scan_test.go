package tape

import (
	"bytes"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hemera/test/tapelabels"
)

// scanRow is a row of `tape scan`.
type scanRow struct{ Files, Known int }

// large are the names of the large files.
var large = []string{"large1", "large2", "large3"}

// largeContents makes the large files.
func (u *ups) largeContents() map[string][]byte {
	made := map[string][]byte{}
	for i, name := range large {
		made[name] = u.content(name, 5_000_001+i)
	}
	return made
}

// putAll writes files into a directory with one xrdcp.
func (u *ups) putAll(dir string, names ...string) {
	u.T.Helper()
	command := []string{"--nopbar"}
	for _, name := range names {
		command = append(command, u.Path("clients", name))
	}
	mustStock(u.T, "xrdcp", append(command, u.URL+"/"+dir+"/")...)
}

// awaitArchived waits until large files are on tape, and nothing is queued.
func (u *ups) awaitArchived(dir string) {
	u.T.Helper()
	for _, name := range large {
		u.awaitBacked(dir + "/" + name)
	}
	u.Await("nothing is queued", func() bool {
		list, err := u.Admin("tape", "queue", "ls", "-m")
		return err == nil && strings.TrimSpace(list) == ""
	})
}

// move has the cartridges of one directory be those of another, which is new.
func (u *ups) move(from, to string) {
	u.T.Helper()
	err := os.Mkdir(u.Path(to), 0o700)
	if err == nil {
		err = os.Rename(u.Path(from, "tape"), u.Path(to, "tape"))
	}
	if err != nil {
		u.T.Fatal(err)
	}
}

// TestScan takes the way back when all but the cartridges is lost: large files on two tapes and small ones in containers, then a new empty system with
// the same cartridges, a scan, and every file with its content. Between the two the cartridges are read by their labels alone. Then a removed file is
// undeleted.
func TestScan(t *testing.T) {
	t.Parallel()
	u := newUps(t)
	contents := u.largeContents()
	var small []string
	for i := range 40 {
		name := fmt.Sprint("small", 1+i)
		small = append(small, name)
		contents[name] = u.content(name, 1+mathrand.IntN(32_768))
	}
	u.start("one")
	u.Must("tape", "pool", "add", "second")
	u.Must("tape", "class", "add", "double", "nbCopies=2")
	u.Must("tape", "route", "add", "double/1", "tapepool=default")
	u.Must("tape", "route", "add", "double/2", "tapepool=second")
	u.Must("tape", "tape", "set", "V00016", "tapepool=second")
	u.Must("mkdir", "/exp")
	archive(u.Cluster, "/exp/large", "double")
	archive(u.Cluster, "/exp/small", "default")
	u.putAll("/exp/large", large...)
	u.putAll("/exp/small", small...)
	u.awaitArchived("/exp/large")
	listing := u.Must("ls", "-l", "/exp/large")
	u.process.Stop()
	u.labelsLeadToFiles("V00016L9", contents)

	// The catalogue is lost.
	u.move("one", "two")
	u.start("two")
	t.Log(u.Must("tape", "scan", "--all"))
	if again := u.Must("ls", "-l", "/exp/large"); again != listing {
		t.Fatalf("a listing differs:\n%s\n%s", listing, again)
	}
	paths := u.comeBack(small, contents)
	if err := healthy(u.Cluster); err != nil {
		t.Fatal(err)
	}
	// Another scan changes nothing.
	if scan := rows[scanRow](u.Cluster, "tape", "scan", "V00016"); len(scan) == 0 || scan[0] != (scanRow{3, 3}) {
		t.Fatalf("a second scan: %+v", scan)
	}
	// The tapes are written on.
	u.Must("attr", "set", "sys.archive.storage_class=default", "/exp")
	u.put("large1", "/exp/new")
	u.awaitBacked("/exp/new")

	u.Must("rm", "/exp/small/small7")
	u.refused("", "tape", "undelete", "/exp/small/small7", "--to", "/exp/small/small8")
	u.Must("tape", "undelete", "/exp/small/small7")
	u.same("/exp/small/small7", contents["small7"])
	if err := healthy(u.Cluster); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files came back", len(paths))
	u.process.Stop()
}

// labelsLeadToFiles checks that a program that knows labels only finds the large files on a cartridge.
func (u *ups) labelsLeadToFiles(barcode string, contents map[string][]byte) {
	u.T.Helper()
	objects, err := tapelabels.Cartridge(filepath.Join(u.dir, "tape", "cartridges", barcode))
	if err != nil {
		u.T.Fatal(err)
	}
	tape := tapelabels.Read(objects)
	if tape.Rest != nil {
		u.T.Errorf("%s is not read to its end: %v", barcode, tape.Rest)
	}
	for _, name := range large {
		if !slices.ContainsFunc(tape.Files, func(f tapelabels.File) bool { return bytes.Equal(f.Content, contents[name]) }) {
			u.T.Errorf("%s is not on %s by its labels", name, barcode)
		}
	}
}

// comeBack checks that all files are on tape only, with two copies of large ones, and reads them back.
func (u *ups) comeBack(small []string, contents map[string][]byte) (paths []string) {
	u.T.Helper()
	files := map[string]string{}
	copy := regexp.MustCompile(` V000`)
	for _, name := range large {
		path := "/exp/large/" + name
		paths, files[path] = append(paths, path), name
		u.Await(name+" is offline", func() bool { return u.offline(path) })
		if info := u.Must("file", "info", path); len(copy.FindAllString(info, -1)) != 2 {
			u.T.Fatalf("%s does not have two copies: %s", name, info)
		}
	}
	for _, name := range small {
		path := "/exp/small/" + name
		paths, files[path] = append(paths, path), name
	}
	// One request for all, so that each tape is mounted once.
	request := u.prepare(paths...)
	u.Await("all files are on disk", func() bool { return online(u.Host(), request, paths...) })
	for _, path := range paths {
		if u.offline(path) {
			u.T.Errorf("%s is offline", path)
		}
		u.same(path, contents[files[path]])
	}
	return paths
}

// TestScanOfEncryptedTapes: a key is all that a new empty system needs besides the cartridges. Without it, and if its file is missing, a scan is
// refused with the remedy.
func TestScanOfEncryptedTapes(t *testing.T) {
	t.Parallel()
	u := newUps(t)
	contents := u.largeContents()
	u.start("three")
	u.Must("tape", "key", "add", "raw")
	u.Must("tape", "pool", "set", "default", "encryptionKeyName=raw")
	archive(u.Cluster, "/exp", "default")
	u.putAll("/exp", large...)
	u.awaitArchived("/exp")
	vid := regexp.MustCompile(`V000\d*`).FindString(u.Must("file", "info", "/exp/large1"))
	key, err := os.ReadFile(u.keyFile())
	if err != nil {
		t.Fatal(err)
	}
	saved := u.local("raw.key", key)
	u.process.Stop()

	u.move("three", "four")
	u.start("four")
	u.refused("key raw:", "tape", "scan", vid, "-j")
	u.refused("hemera tape tape set "+vid+" encryptionKeyName=NAME", "tape", "scan", vid, "-j")
	u.Must("tape", "key", "add", "raw", "--from", saved)
	u.Must("tape", "tape", "set", vid, "encryptionKeyName=raw")
	if err := os.Rename(u.keyFile(), u.Path("away")); err != nil {
		t.Fatal(err)
	}
	u.refused("hemera tape key add raw --from FILE", "tape", "scan", vid)
	u.Must("tape", "key", "add", "raw", "--from", saved)
	u.Must("tape", "scan", vid)
	var paths []string
	for _, name := range large {
		paths = append(paths, "/exp/"+name)
	}
	request := u.prepare(paths...)
	u.Await("all files are on disk", func() bool { return online(u.Host(), request, paths...) })
	for _, name := range large {
		u.same("/exp/"+name, contents[name])
	}
	u.process.Stop()
}

// keyFile returns the name of the manager's file of the key raw.
func (u *ups) keyFile() string { return filepath.Join(u.dir, "manager", "tape-keys", "raw.key") }
