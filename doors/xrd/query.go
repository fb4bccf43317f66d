package xrd

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"hemera/doors/xrd/translate"
	"hemera/rules/wire"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// queryHandlers answer kXR_query in both roles.
//
// kXR_query is the protocol's request for everything else: configuration, space, checksums, and extensions of servers.
// Hemera's extensions are calls of the admin API, and requests of head nodes to the nodes with pieces.
type queryHandlers struct {
	srv       *Server
	openFiles bool // clients have handles
	// Of a manager.
	names    *nameHandlers // nil at a node
	files    hemera.Files
	prepares prepareHandlers
	calls    adminapi.Calls // nil: refused
	// Of a node.
	managerAddr func() string
	pulls       bool                      // third-party copies into it
	link        func() hemera.NetworkLink // nil: no information
}

// query answers kXR_query (§1.4). A node redirects queries about names to the manager.
func (q *queryHandlers) query(r *request) error {
	ask := wire.DecodeQuery(r.Body)
	manager := q.names != nil
	if isCall(ask, r.payload) && (!manager || q.calls != nil) {
		if !manager {
			return redirectToManager(r, q.managerAddr)
		}
		return q.serveCall(r)
	}
	arg := wire.Text(r.payload)
	switch ask.Kind {
	case wire.QueryConfig:
		return q.config(r, arg)
	case wire.QueryStats:
		return r.okText(q.srv.statistics())
	case wire.QueryCksCancel: // a checksum that was begun is completed, so there is nothing to cancel
		return r.ok(nil)
	case wire.QuerySpace, wire.QueryChecksum, wire.QueryXattr, wire.QueryPrepare:
		if !manager {
			return redirectToManager(r, q.managerAddr)
		}
		return q.aboutName(r, ask.Kind, arg)
	case wire.QueryOpaquf, wire.QueryOpaqug:
		return q.aboutHandle(r, ask.Handle, arg)
	case wire.QueryVisa, wire.QueryFInfo, wire.QueryFSInfo, wire.QueryOpaque: // known, but only for plugins, which do not exist here
		return translate.Refuse(wire.Unsupported, "no plugin answers this query")
	}
	return translate.Refuse(wire.ArgInvalid, "the query is not known")
}

// aboutName answers queries about paths, at a manager.
func (q *queryHandlers) aboutName(r *request, kind uint16, arg string) error {
	switch kind {
	case wire.QuerySpace:
		return q.names.querySpace(r, arg)
	case wire.QueryChecksum:
		return q.checksum(r)
	case wire.QueryXattr:
		return q.names.queryXattr(r)
	}
	return q.prepares.query(r)
}

// aboutHandle answers queries on a handle: the end of a piece or of a write, the copy of a piece for an update, steps of
// a direct write, and places of data.
func (q *queryHandlers) aboutHandle(r *request, id wire.Handle, arg string) error {
	switch {
	case q.openFiles && (strings.HasPrefix(arg, wire.OpaqueSeal) || strings.HasPrefix(arg, wire.OpaqueOffer) || strings.HasPrefix(arg, wire.OpaqueAbort)):
		return endFile(r, id, arg)
	case q.openFiles && strings.HasPrefix(arg, wire.OpaqueClone):
		return clonePiece(r, id, arg)
	case q.openFiles && isDirect(arg):
		return serveDirect(r, id, arg)
	case strings.HasPrefix(arg, wire.OpaqueData) || arg == wire.OpaqueAllocated:
		return queryHoles(r, id, arg)
	}
	return translate.Refuse(wire.Unsupported, "no plugin answers this query")
}

// configKeysMax bounds the keys of one query, because some answers are much longer than their key.
const configKeysMax = 64

// config answers one line for each key, without NUL, because some clients use the text unchanged. Unknown keys are
// echoed.
func (q *queryHandlers) config(r *request, arg string) error {
	keys := strings.Fields(arg)
	if len(keys) == 0 {
		return translate.Refuse(wire.ArgMissing, "the query names no key")
	}
	if len(keys) > configKeysMax {
		return translate.Refuse(wire.ArgTooLong, "a query names at most "+strconv.Itoa(configKeysMax)+" keys")
	}
	var b strings.Builder
	for _, key := range keys {
		b.WriteString(q.configValue(key) + "\n")
	}
	return r.ok([]byte(b.String()))
}

// configValue returns the server's value of one key.
func (q *queryHandlers) configValue(key string) string {
	switch key {
	case "bind_max": // parallel connections of one session
		return strconv.Itoa(substreamsMax)
	case "chksum": // the client uses the first that it supports
		var list []string
		for i, k := range hemera.ChecksumKinds() {
			list = append(list, strconv.Itoa(i)+":"+k.String())
		}
		return strings.Join(list, ",")
	case wire.ConfigPublish: // our own client asks this before it relies on kXR_mv with conditions
		return "1"
	case wire.ConfigLink: // our own client asks this before it writes a coded file
		if q.link != nil {
			l := q.link()
			return fmt.Sprintf("%d %d", l.Speed, l.Out)
		}
	case "fattr":
		return fmt.Sprintf("%d %d", wire.FattrMaxName, wire.FattrMaxValue)
	case "pio_max": // the reference's value
		return "5"
	case "readv_ior_max":
		return strconv.Itoa(wire.ReadvElementMax)
	case "readv_iov_max":
		return strconv.Itoa(wire.VectorMax)
	case "role":
		return q.srv.o.role()
	case "sitename":
		return q.srv.o.Site
	case "start":
		return strconv.FormatInt(q.srv.started.Unix(), 10)
	case "sysid":
		return strconv.Itoa(os.Getpid()) + "." + q.srv.o.Host
	// A node without a Puller echoes the key: then the client knows that it cannot copy there.
	case "tpc":
		if q.names != nil || q.pulls {
			return "1"
		}
	case "version":
		return q.srv.o.Version
	case "xattrs":
		return "1"
	case "wan_port", "wan_window", "window", "tls_port": // old clients ask these; zero means none
		return "0"
	}
	return key
}

// statistics returns the answer to `query stats`, with the fields of the reference that are meaningful here.
func (s *Server) statistics() string {
	conns, sessions := s.clients.counts()
	now := time.Now().Unix()
	return fmt.Sprintf(`<statistics tod="%d" ver="%s" src="%s" tos="%d" pgm="hemera" ins="%s" pid="%d" site="%s">`+
		`<stats id="link"><num>%d</num></stats><stats id="xrootd"><sessions>%d</sessions></stats><toe>%d</toe></statistics>`,
		now, s.o.Version, s.o.Host, s.started.Unix(), s.o.role(), os.Getpid(), s.o.Site, conns, sessions, now)
}

// checksumGrace is the time after which the answer to a checksum request is promised for later.
//
// A stored checksum is answered in order, within the grace. A checksum that a node must compute takes as long as reading
// the file; it is promised, and the connection serves other requests meanwhile.
const checksumGrace = time.Second

// checksum answers with exactly two words, "kind hex".
func (q *queryHandlers) checksum(r *request) error {
	path, opaque, err := r.path()
	if err != nil {
		return err
	}
	kind, err := translate.ChecksumKind(opaque.Value("cks.type"))
	if err != nil {
		return err
	}
	who := r.who()
	return runAsyncAfter(r, checksumGrace, func(ctx context.Context) ([]byte, error) {
		sum, err := q.files.Checksum(ctx, who, path, kind)
		if err != nil {
			return nil, err
		}
		return []byte(sum.Kind.String() + " " + sum.Hex() + "\x00"), nil
	})
}

// queryXattr answers with the attributes that `xrdfs query xattr` shows, with the reference's keys.
func (n *nameHandlers) queryXattr(r *request) error {
	path, _, err := r.path()
	if err != nil {
		return err
	}
	e, err := n.names.Stat(r.conn.ctx, r.who(), path)
	if err != nil {
		return err
	}
	kind := "f"
	if e.IsDir() {
		kind = "d"
	}
	return r.okText(fmt.Sprintf("oss.cgroup=%s&oss.type=%s&oss.used=%d&oss.mt=%d&oss.ct=%d&oss.at=%d&oss.u=%d&oss.g=%d&oss.fs=w&ofs.ap=a",
		e.Space, kind, e.Size, e.Mtime.Unix(), e.Ctime.Unix(), e.Mtime.Unix(), e.UID, e.GID))
}
