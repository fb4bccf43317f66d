package xrd

import (
	"context"
	"fmt"
	"net"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"hemera/rules/wire"
	"hemera/words/hemera"
)

func (p *pair) putDir(t *testing.T, path string) {
	t.Helper()
	if _, err := p.Mkdir(t.Context(), tester, path, 0o755, true); err != nil {
		t.Fatal(err)
	}
}

func TestNamesAtManager(t *testing.T) {
	p := newPair(t, nil)
	p.putDir(t, "/d/empty")
	p.put("/d/f", "hello")
	p.put("/taken", "taken")
	c := dial(t, p.managerAddr)

	s, err := wire.ParseStat(c.must(t, wire.Stat{}, "//d/./f?x=y\x00"))
	if err != nil || s.Size != 5 || s.Flags != wire.StatReadable|wire.StatWritable || s.Mode != 0o644 || s.Owner != "1000" {
		t.Errorf("stat of a file %+v, %v", s, err)
	}
	s, err = wire.ParseStat(c.must(t, wire.Stat{}, "/d/"))
	if err != nil || s.Flags != wire.StatReadable|wire.StatWritable|wire.StatIsDir|wire.StatXset {
		t.Errorf("stat of a directory %+v, %v", s, err)
	}
	if got := c.must(t, wire.Statx{}, "/d\n/d/f"); string(got) != "\x02\x00" {
		t.Errorf("statx %q", got)
	}
	c.must(t, wire.Mkdir{Options: wire.MkdirPath, Mode: 0}, "/new/deep")
	if e, _ := p.Stat(t.Context(), hemera.Identity{}, "/new/deep"); e.Mode != hemera.ModeUnset { // the namespace decides
		t.Errorf("mode of a new directory %o", e.Mode)
	}
	c.must(t, wire.Mv{FromLength: 4}, "/d/f /new/a b?oss.x=1")
	c.must(t, wire.Chmod{Mode: 0o751}, "/new/a b")
	if e, _ := p.Stat(t.Context(), hemera.Identity{}, "/new/a b"); e.Mode != 0o751 {
		t.Errorf("mode after chmod %o", e.Mode)
	}
	// A conditional move, and the opaque part of a chmod.
	for _, r := range []struct {
		opaque string
		code   wire.Code
	}{
		{"hem.size=4", wire.Conflict}, {"hem.size=x", wire.ArgInvalid}, {"hem.size=5&hem.sum=adler32:1", wire.ArgInvalid},
		{"hem.size=5&hem.sum=md5:00000000000000000000000000000001", wire.Unsupported}, {"hem.size=5&hem.new=1", wire.ItExists},
	} {
		c.refused(t, wire.Mv{FromLength: 8}, "/new/a b /taken?"+r.opaque, r.code)
	}
	c.must(t, wire.Mv{FromLength: 8}, "/new/a b /new/moved?hem.size=5&hem.new=1")
	c.must(t, wire.Mv{FromLength: 10}, "/new/moved /new/a b?hem.size=5")
	for opaque, code := range map[string]wire.Code{"hem.owner=x:1": wire.ArgInvalid, "hem.mtime=now": wire.ArgInvalid} {
		c.refused(t, wire.Chmod{Mode: 0o600}, "/new/a b?"+opaque, code)
	}
	c.must(t, wire.Chmod{Mode: 0o600}, "/new/a b?hem.mtime=1000000000000000000&hem.owner=-1:-1")
	c.must(t, wire.Rm{}, "/new/a b")
	c.must(t, wire.Rm{}, "/d/empty") // an empty directory too
	c.must(t, wire.Rmdir{}, "/new/deep")

	for _, r := range []struct {
		request wire.Request
		payload string
		code    wire.Code
	}{
		{wire.Stat{}, "/none", wire.NotFound},
		{wire.Stat{}, "", wire.ArgMissing},
		{wire.Stat{}, "relative", wire.NotAuthorized},
		{wire.Stat{}, "/a/../../etc/passwd", wire.NotAuthorized},
		{wire.Statx{}, "/d\n/none", wire.NotFound},
		{wire.Mkdir{}, "/d", wire.ItExists},
		{wire.Mkdir{}, "/x/y", wire.NotFound},
		{wire.Rmdir{}, "/none", wire.NotFound},
		{wire.Rm{}, "/new/x", wire.NotFound},
		{wire.Mv{FromLength: 99}, "/d /e", wire.ArgInvalid},
		{wire.Mv{}, "", wire.ArgMissing},
		{wire.Chmod{}, "/none", wire.NotFound},
		{wire.Dirlist{}, "/none", wire.NotFound},
		{wire.Locate{}, "/none", wire.NotFound},
		{wire.Locate{}, "", wire.ArgMissing},
		{wire.Prepare{Options: wire.PrepareStage}, "/none", wire.NotFound},
		{wire.Prepare{}, "", wire.ArgMissing},
		{wire.Prepare{Options: wire.PrepareCancel}, "unknown", wire.ArgInvalid},
		{wire.Truncate{Size: -1}, "/d", wire.ArgInvalid},
		{wire.Truncate{Size: 1}, "/d", wire.IsDirectory},
		{wire.Query{Kind: wire.QueryChecksum}, "/none", wire.NotFound},
		{wire.Query{Kind: wire.QueryChecksum}, "/d", wire.IsDirectory},
		{wire.Query{Kind: wire.QueryChecksum}, "/d?cks.type=nosuch", wire.Unsupported},
		{wire.Query{Kind: wire.QueryConfig}, "", wire.ArgMissing},
		{wire.Query{Kind: wire.QueryVisa}, "", wire.Unsupported},
		{wire.Fattr{Subcode: wire.FattrGet, Count: 1}, "/none\x00\x00\x00a\x00", wire.NotFound},
		{wire.Read{Length: 1}, "", wire.FileNotOpen},
		{wire.Write{}, strings.Repeat("x", 100000), wire.FileNotOpen},
		{wire.Close{}, "", wire.FileNotOpen},
	} {
		c.refused(t, r.request, r.payload, r.code)
	}
	_, body, err := c.call(wire.Query{Kind: wire.QueryChecksum}, []byte("/d?cks.type=nosuch"))
	if err != nil || !strings.Contains(string(body), "ask for one of adler32, crc32c, ") {
		t.Errorf("an unknown checksum is answered with %q, %v", body, err)
	}
}

func TestNodeSendsNamesToManager(t *testing.T) {
	p := newPair(t, nil)
	c := dial(t, p.nodeAddr)
	for _, r := range []wire.Request{
		wire.Stat{}, wire.Statx{}, wire.Dirlist{}, wire.Mkdir{}, wire.Rm{}, wire.Rmdir{}, wire.Mv{}, wire.Chmod{}, wire.Locate{},
		wire.Open{Options: wire.OpenRead}, wire.Truncate{}, wire.Prepare{}, wire.Fattr{Subcode: wire.FattrList}, wire.Query{Kind: wire.QueryChecksum},
	} {
		status, body, err := c.call(r, []byte("/x"))
		to, e := wire.ParseRedirect(body)
		if err != nil || status != wire.StatusRedirect || e != nil || net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port))) != p.managerAddr {
			t.Errorf("%s: status %d, %+v, %v, %v", r.ID(), status, to, err, e)
		}
	}
}

func TestListing(t *testing.T) {
	p := newPair(t, nil)
	p.putDir(t, "/d")
	c := dial(t, p.managerAddr)
	if got := c.must(t, wire.Dirlist{}, "/d"); len(got) != 0 {
		t.Errorf("empty directory: %q", got)
	}
	if got := c.must(t, wire.Dirlist{Options: wire.DirlistStat}, "/d"); string(got) != ".\n0 0 0 0\x00" {
		t.Errorf("empty directory with stat: %q", got)
	}
	const count = 3000
	for i := range count {
		p.put(fmt.Sprintf("/d/a rather long name of an entry %05d", i), "x")
	}
	for _, options := range []uint8{0, wire.DirlistStat, wire.DirlistCksum} {
		if _, err := c.send(wire.Dirlist{Options: options}, []byte("/d")); err != nil {
			t.Fatal(err)
		}
		var all []byte
		frames := 0
		for {
			h, body, err := c.frame()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, body...)
			frames++
			if h.Status == wire.StatusOK {
				break
			}
			if body[len(body)-1] != '\n' {
				t.Fatal("a frame ends inside a line")
			}
		}
		list, err := wire.ParseDirlist(all)
		if err != nil || len(list) != count || frames < 3 {
			t.Fatalf("options %d: %d entries in %d frames, %v", options, len(list), frames, err)
		}
		if last := list[count-1]; last.Name != "a rather long name of an entry 02999" || (last.Stat != nil) != (options > 0) ||
			options == wire.DirlistCksum && last.Checksum != "adler32:00790079" {
			t.Errorf("options %d: last entry %+v", options, last)
		}
	}
}

func TestQueries(t *testing.T) {
	p := newPair(t, func(o *Options) {
		o.Version, o.Site = "v1", "here"
	})
	p.put("/f", "a")
	c := dial(t, p.managerAddr)
	text := func(kind uint16, arg string) string { return string(c.must(t, wire.Query{Kind: kind}, arg)) }
	if got := text(wire.QueryConfig, "readv_ior_max readv_iov_max nonsense role version sitename tpc"); got != "2097136\n1024\nnonsense\nmanager\nv1\nhere\n1\n" {
		t.Errorf("config %q", got)
	}
	if got := text(wire.QueryConfig, "chksum"); got != "0:adler32,1:crc32c,2:crc64nvme,3:md5,4:sha256,5:xxh3,6:blake3,7:crc32,8:zcrc32\n" {
		t.Errorf("checksums %q", got)
	}
	if got := text(wire.QueryChecksum, "/f?cks.type=adler32"); got != "adler32 00620062\x00" {
		t.Errorf("checksum %q", got)
	}
	for _, key := range []string{"oss.space=", "oss.free=", "oss.used=", "oss.maxf="} {
		if got := text(wire.QuerySpace, "/"); !strings.Contains(got, key) {
			t.Errorf("space %q lacks %s", got, key)
		}
	}
	if got := text(wire.QueryStats, "a"); !strings.HasPrefix(got, "<statistics ") {
		t.Errorf("statistics %q", got)
	}
	if got := text(wire.QueryXattr, "/f"); !strings.Contains(got, "oss.type=f&oss.used=1&") {
		t.Errorf("xattr %q", got)
	}
	id := strings.TrimRight(string(c.must(t, wire.Prepare{Options: wire.PrepareStage}, "/f\n/f")), "\x00")
	if got := text(wire.QueryPrepare, id+"\n/f\n/none"); !strings.Contains(got, `"path":"/f","path_exists":true`) || !strings.Contains(got, `"has_reqid":true`) {
		t.Errorf("prepare %q", got)
	}
	c.must(t, wire.Prepare{Options: wire.PrepareCancel}, id)
	c.refused(t, wire.Prepare{Options: wire.PrepareCancel}, id, wire.ArgInvalid)
	for _, arg := range []string{"*", "*/", "/"} {
		if got := string(c.must(t, wire.Locate{}, arg)); got != "Sw"+p.managerAddr+"\x00" {
			t.Errorf("locate %s: %q", arg, got)
		}
	}
	if got := string(c.must(t, wire.Locate{}, "/f")); got != "Sr"+p.nodeAddr+"\x00" {
		t.Errorf("locate of a file: %q", got)
	}
}

// TestLocateNamesTheServers checks the answer to a request for all servers (as of xrdmapc): the nodes that are online.
func TestLocateNamesTheServers(t *testing.T) {
	view := &hemera.View{
		Nodes: []hemera.NodeInfo{
			{ID: 1, Addr: "n1:1095", Status: hemera.NodeOnline}, {ID: 2, Addr: "n2:1095", Status: hemera.NodeOffline},
			{ID: 3, Addr: "n3:1095", Status: hemera.NodeOnline}, {ID: 4, Addr: "n4:1095", Status: hemera.NodeWaiting},
		},
		Disks: []hemera.Disk{
			{ID: 1, Node: 1, Active: true, Config: hemera.ConfigRW, Health: hemera.HealthOK},
			{ID: 2, Node: 3, Active: true, Config: hemera.ConfigRO, Health: hemera.HealthOK},
		},
	}
	p := newPair(t, manager(func(o *ManagerOptions) { o.View = func() *hemera.View { return view } }))
	c := dial(t, p.managerAddr)
	for arg, want := range map[string]string{"*": "Swn1:1095 Srn3:1095\x00", "*/": "Sw" + p.managerAddr + "\x00"} {
		if got := string(c.must(t, wire.Locate{}, arg)); got != want {
			t.Errorf("locate %s: %q, want %q", arg, got, want)
		}
	}
	view = &hemera.View{}
	if got := string(c.must(t, wire.Locate{}, "*")); got != "Sw"+p.managerAddr+"\x00" {
		t.Errorf("locate without nodes: %q", got)
	}
}

func TestAttributes(t *testing.T) {
	p := newPair(t, nil)
	p.put("/f", "a")
	c := dial(t, p.managerAddr)
	do := func(sub uint8, options uint8, path string, names []string, values ...[]byte) []byte {
		a := wire.FattrArgs{Path: path, Names: names, Values: values}
		return c.must(t, wire.Fattr{Subcode: sub, Count: uint8(len(names)), Options: options}, string(a.Append(nil)))
	}
	results := func(b []byte, values bool) []wire.FattrResult {
		r, err := wire.ParseFattrResults(b, values)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	do(wire.FattrSet, 0, "/f", []string{"k", "sys.acl"}, []byte("v\x00"), []byte("u:x"))
	e, _ := p.Stat(t.Context(), hemera.Identity{}, "/f")
	if string(e.Xattrs["user.k"]) != "v\x00" || string(e.Xattrs["sys.acl"]) != "u:x" {
		t.Errorf("stored %v", e.Xattrs)
	}
	got := results(do(wire.FattrGet, 0, "/f?x=y", []string{"k", "none"}), true)
	if string(got[0].Value) != "v\x00" || got[0].Code != 0 || got[1].Code != wire.AttrNotFound {
		t.Errorf("get %+v", got)
	}
	if r := results(do(wire.FattrSet, wire.FattrIsNew, "/f", []string{"k"}, []byte("w")), false); r[0].Code != wire.ItExists {
		t.Errorf("set of what exists %+v", r)
	}
	list, err := wire.ParseFattrList(do(wire.FattrList, wire.FattrData, "/f", nil), true)
	if err != nil || !reflect.DeepEqual(list, []wire.FattrResult{{Name: "k", Value: []byte("v\x00")}}) {
		t.Errorf("list %+v, %v", list, err)
	}
	if r := results(do(wire.FattrDel, 0, "/f", []string{"k", "k"}), false); r[0].Code != 0 || r[1].Code != wire.AttrNotFound {
		t.Errorf("delete %+v", r)
	}
}

func TestAttributesOfOpenFile(t *testing.T) {
	p := newPair(t, nil)
	p.put("/f", "a")
	if err := p.SetXattr(t.Context(), hemera.Identity{}, "/f", "user.old", []byte("1"), false); err != nil {
		t.Fatal(err)
	}
	c := dial(t, p.nodeAddr)
	fh := p.openOld(t, c, "/f", hemera.AccessUpdate)
	do := func(h wire.Handle, sub uint8, names []string, values ...[]byte) (wire.Status, []wire.FattrResult) {
		a := wire.FattrArgs{Names: names, Values: values}
		status, body, err := c.call(wire.Fattr{Handle: h, Subcode: sub, Count: uint8(len(names))}, a.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		r, _ := wire.ParseFattrResults(body, sub == wire.FattrGet)
		return status, r
	}
	long := strings.Repeat("n", wire.FattrMaxName)
	if _, r := do(fh, wire.FattrSet, []string{long}, []byte("4")); r[0].Code != 0 {
		t.Errorf("a name of %d bytes: %+v", len(long), r)
	}
	if _, r := do(fh, wire.FattrDel, []string{"old"}); r[0].Code != 0 {
		t.Errorf("removal of a stored attribute: %+v", r)
	}
	if _, r := do(fh, wire.FattrDel, []string{"old"}); r[0].Code != wire.AttrNotFound {
		t.Errorf("second removal: %+v", r)
	}
	do(fh, wire.FattrSet, []string{"new", "gone"}, []byte("2"), []byte("3"))
	do(fh, wire.FattrDel, []string{"gone"})
	if _, r := do(fh, wire.FattrGet, []string{"old", "new", "gone"}); r[0].Code != wire.AttrNotFound || string(r[1].Value) != "2" || r[2].Code != wire.AttrNotFound {
		t.Errorf("get %+v", r)
	}
	if _, r := do(fh, wire.FattrSet, []string{"sys.acl"}, []byte("x")); r[0].Code != wire.NotAuthorized {
		t.Errorf("system attribute through a handle: %+v", r)
	}
	c.must(t, wire.Close{Handle: fh}, "")
	if e, _ := p.Stat(t.Context(), hemera.Identity{}, "/f"); string(e.Xattrs["user.new"]) != "2" || e.Xattrs["user.gone"] != nil || e.Xattrs["user.old"] != nil || string(e.Xattrs["user."+long]) != "4" {
		t.Errorf("committed %v", e.Xattrs)
	}
	ro := p.openOld(t, c, "/f", hemera.AccessRead)
	if status, _ := do(ro, wire.FattrSet, []string{"x"}, []byte("y")); status != wire.StatusError {
		t.Error("an attribute was set through a handle for reading")
	}
}

// TestAttributesOfAFileOneMayNotRead checks that user attributes need the right to read the file; the right to write does
// not suffice.
func TestAttributesOfAFileOneMayNotRead(t *testing.T) {
	p := newPair(t, nil)
	p.put("/f", "a")
	for _, name := range []string{"user.k", "sys.acl"} {
		if err := p.SetXattr(t.Context(), hemera.Identity{}, "/f", name, []byte("v"), false); err != nil {
			t.Fatal(err)
		}
	}
	n := dial(t, p.nodeAddr)
	write, read := p.openOld(t, n, "/f", hemera.AccessUpdate), p.openOld(t, n, "/f", hemera.AccessRead)
	get := func(c *rawConn, h wire.Handle, path string, names ...string) (wire.Status, []byte) {
		a := wire.FattrArgs{Path: path, Names: names}
		status, body, err := c.call(wire.Fattr{Handle: h, Subcode: wire.FattrGet, Count: uint8(len(names))}, a.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		return status, body
	}
	m := dial(t, p.managerAddr)
	for _, c := range []struct {
		mode uint32
		may  bool
	}{{0o604, true}, {0o600, false}} {
		p.Edit("/f", func(e *hemera.Entry) { e.UID, e.GID, e.Mode = 1, 1, c.mode })
		for _, names := range [][]string{{"k"}, {"sys.acl", "k"}} {
			status, body := get(m, wire.Handle{}, "/f", names...)
			if denied := status == wire.StatusError && wire.ParseError(body).Code == wire.NotAuthorized; denied == c.may {
				t.Errorf("mode %o, %v: status %d, %q", c.mode, names, status, body)
			}
		}
		if status, _ := get(m, wire.Handle{}, "/f", "sys.acl"); status != wire.StatusOK {
			t.Errorf("mode %o: the system's own are hidden", c.mode)
		}
		for h, may := range map[wire.Handle]bool{write: c.may, read: true} { // an open for reading was allowed
			_, body := get(n, h, "", "k")
			if r, err := wire.ParseFattrResults(body, true); err != nil || len(r) != 1 || (r[0].Code == 0) != may {
				t.Errorf("mode %o, open file %v: %+v, %v", c.mode, h, r, err)
			}
		}
		body := n.must(t, wire.Fattr{Handle: write, Subcode: wire.FattrList, Options: wire.FattrData}, "\x00")
		if list, err := wire.ParseFattrList(body, true); err != nil || (len(list) == 1) != c.may {
			t.Errorf("mode %o, listed through a file open for writing: %+v, %v", c.mode, list, err)
		}
	}
}

// discarding states that the process is writing one path.
type discarding struct {
	hemera.Files
	path string
}

func (d discarding) Discard(ctx context.Context, who hemera.Identity, path, process, session string) error {
	if path == d.path && process != "" && session != "" {
		return nil
	}
	return d.Files.Discard(ctx, who, path, process, session)
}

func TestRemovalOfAnOwnWrite(t *testing.T) {
	p := newPair(t, manager(func(o *ManagerOptions) { o.Files = discarding{o.Files, "/own"} }))
	c := able(t, p.managerAddr)
	c.must(t, wire.Rm{}, "/own")
	c.refused(t, wire.Rm{}, "/other", wire.NotFound)
	c.refused(t, wire.Rmdir{}, "/own", wire.NotFound)
}
