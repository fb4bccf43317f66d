package xrd

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/rules/wire"
)

// query answers kXR_query (§1.4).
func (c *conn) query(r *request) error {
	q := wire.DecodeQuery(r.Body)
	manager := c.srv.o.Role == RoleManager
	if isCall(q, r.payload) && (!manager || c.srv.o.Calls != nil) {
		if !manager {
			return c.toManager(r)
		}
		return c.call(r)
	}
	arg := wire.Text(r.payload)
	switch q.Kind {
	case wire.QueryConfig:
		return c.queryConfig(r, arg)
	case wire.QueryStats:
		return c.okText(r, c.srv.statistics())
	case wire.QuerySpace:
		if !manager {
			return c.toManager(r)
		}
		return c.querySpace(r, arg)
	case wire.QueryCksCancel:
		return c.ok(r, nil)
	case wire.QueryChecksum, wire.QueryXattr, wire.QueryPrepare:
		if !manager {
			return c.toManager(r)
		}
		return c.queryFile(r, q.Kind)
	case wire.QueryOpaquf, wire.QueryOpaqug:
		if (!manager || c.srv.o.Local != nil) && (strings.HasPrefix(arg, hemera.OpaqueSeal) || strings.HasPrefix(arg, hemera.OpaqueAbort)) {
			return c.finishPiece(r, q.Handle, arg)
		}
		if strings.HasPrefix(arg, hemera.OpaqueData) || arg == hemera.OpaqueAllocated {
			return c.holes(r, q.Handle, arg)
		}
		return refuse(wire.Unsupported, "no plugin answers this query")
	case wire.QueryVisa, wire.QueryFInfo, wire.QueryFSInfo, wire.QueryOpaque:
		return refuse(wire.Unsupported, "no plugin answers this query")
	}
	return refuse(wire.ArgInvalid, "the query is not known")
}

func (c *conn) queryFile(r *request, kind uint16) error {
	switch kind {
	case wire.QueryChecksum:
		return c.queryChecksum(r)
	case wire.QueryXattr:
		return c.queryXattr(r)
	}
	return c.queryPrepare(r)
}

// configKeysMax bounds the keys of one query: the answer to some is much longer than the key.
const configKeysMax = 64

// queryConfig answers one line a key, without NUL: some clients take the text as it is. What is not
// known is echoed.
func (c *conn) queryConfig(r *request, arg string) error {
	keys := strings.Fields(arg)
	if len(keys) == 0 {
		return refuse(wire.ArgMissing, "the query names no key")
	}
	if len(keys) > configKeysMax {
		return refuse(wire.ArgTooLong, "a query names at most "+strconv.Itoa(configKeysMax)+" keys")
	}
	var b strings.Builder
	for _, key := range keys {
		b.WriteString(c.srv.config(key) + "\n")
	}
	return c.ok(r, []byte(b.String()))
}

func (s *Server) config(key string) string {
	switch key {
	case "bind_max":
		return strconv.Itoa(maxSubstreams)
	case "chksum":
		var list []string
		for i, k := range hemera.ChecksumKinds() {
			list = append(list, strconv.Itoa(i)+":"+k.String())
		}
		return strings.Join(list, ",")
	case hemera.ConfigPublish:
		return "1"
	case "fattr":
		return fmt.Sprintf("%d %d", wire.FattrMaxName, wire.FattrMaxValue)
	case "pio_max":
		return "5"
	case "readv_ior_max":
		return strconv.Itoa(wire.ReadvElementMax)
	case "readv_iov_max":
		return strconv.Itoa(wire.VectorMax)
	case "role":
		return s.o.Role.String()
	case "sitename":
		return s.o.Site
	case "start":
		return strconv.FormatInt(s.started.Unix(), 10)
	case "sysid":
		return strconv.Itoa(os.Getpid()) + "." + s.o.Host
	case "tpc":
		if s.o.Role == RoleManager || s.o.Puller != nil {
			return "1"
		}
	case "version":
		return s.o.Version
	case "xattrs":
		return "1"
	case "wan_port", "wan_window", "window", "tls_port":
		return "0"
	}
	return key
}

// statistics is the answer to `query stats`, as much of the reference's form as has meaning here.
func (s *Server) statistics() string {
	s.mu.Lock()
	conns, sessions := len(s.conns), len(s.sessions)
	s.mu.Unlock()
	now := time.Now().Unix()
	return fmt.Sprintf(`<statistics tod="%d" ver="%s" src="%s" tos="%d" pgm="hemera" ins="%s" pid="%d" site="%s">`+
		`<stats id="link"><num>%d</num></stats><stats id="xrootd"><sessions>%d</sessions></stats><toe>%d</toe></statistics>`,
		now, s.o.Version, s.o.Host, s.started.Unix(), s.o.Role, os.Getpid(), s.o.Site, conns, sessions, now)
}

func (c *conn) space(path string) (Space, error) {
	if c.srv.o.Space == nil {
		return Space{Name: hemera.DefaultSpace}, nil
	}
	return c.srv.o.Space(c.ctx, c.who(), path)
}

// querySpace answers with the keys that `xrdfs spaceinfo` adds up. What is no path is the name of a
// space for some servers; here it asks for all room.
func (c *conn) querySpace(r *request, arg string) error {
	raw, _ := wire.SplitPath([]byte(arg))
	path, err := wire.CleanPath(raw)
	if err != nil {
		path = ""
	}
	s, err := c.space(path)
	if err != nil {
		return err
	}
	quota := s.Quota
	if quota == 0 {
		quota = -1
	}
	return c.okText(r, fmt.Sprintf("oss.cgroup=%s&oss.space=%d&oss.free=%d&oss.maxf=%d&oss.used=%d&oss.quota=%d",
		s.Name, s.Total, s.Free, s.LargestFree, s.Used, quota))
}

// statSpace answers kXR_stat with the vfs option.
func (c *conn) statSpace(r *request, path string) error {
	s, err := c.space(path)
	if err != nil {
		return err
	}
	v := wire.SpaceInfo{NodesRW: s.Disks, FreeRW: s.Free >> 20}
	if s.Total > 0 {
		v.UseRW = min(100, max(0, (s.Total-s.Free)*100/s.Total))
	}
	return c.ok(r, v.Append(nil))
}

// checksumKind is the kind a client names, or the failure that says which are known.
func checksumKind(name string) (hemera.ChecksumKind, error) {
	if name == "" || name == "default" {
		return hemera.ChecksumNone, nil
	}
	k, err := hemera.ParseChecksumKind(name)
	if err != nil || k == hemera.ChecksumNone {
		var known []string
		for _, k := range hemera.ChecksumKinds() {
			known = append(known, k.String())
		}
		return 0, errs.New(errs.Unsupported, "xrd.Checksum", name, "checksum not supported").
			WithRemedy("ask for one of " + strings.Join(known, ", "))
	}
	return k, nil
}

// checksumGrace is how long a checksum may take before its answer is promised for later.
const checksumGrace = time.Second

// queryChecksum answers "kind hex", exactly two words.
func (c *conn) queryChecksum(r *request) error {
	path, opaque, err := r.pathOf()
	if err != nil {
		return err
	}
	kind, err := checksumKind(opaque.Value("cks.type"))
	if err != nil {
		return err
	}
	who := c.who()
	return c.background(r, checksumGrace, func(ctx context.Context) ([]byte, error) {
		sum, err := c.srv.o.Files.Checksum(ctx, who, path, kind)
		if err != nil {
			return nil, err
		}
		return []byte(sum.Kind.String() + " " + sum.Hex() + "\x00"), nil
	})
}

func (c *conn) queryXattr(r *request) error {
	path, _, err := r.pathOf()
	if err != nil {
		return err
	}
	e, err := c.srv.o.Names.Stat(c.ctx, c.who(), path)
	if err != nil {
		return err
	}
	kind := "f"
	if e.IsDir() {
		kind = "d"
	}
	return c.okText(r, fmt.Sprintf("oss.cgroup=%s&oss.type=%s&oss.used=%d&oss.mt=%d&oss.ct=%d&oss.at=%d&oss.u=%d&oss.g=%d&oss.fs=w&ofs.ap=a",
		e.Space, kind, e.Size, e.Mtime.Unix(), e.Ctime.Unix(), e.Mtime.Unix(), e.UID, e.GID))
}
