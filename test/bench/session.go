package bench

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"hemera/rules/wire"
)

// session is one client: it begins at one server and follows redirects, keeping connections.
// It belongs to one goroutine.
type session struct {
	home  string           // address of the first server
	not   string           // address of a server whose files are not wanted; empty for none
	conns map[string]*conn // by address; all stay open until close
}

// newSession makes a session that begins at a server.
func newSession(home string) *session { return &session{home: home, conns: map[string]*conn{}} }

// close closes all connections.
func (s *session) close() {
	for _, c := range s.conns {
		c.close()
	}
}

// at returns the connection to a server; it is made at the first use.
// Its first use is slower by a log-in.
func (s *session) at(addr string) (*conn, error) {
	if c := s.conns[addr]; c != nil {
		return c, nil
	}
	c, err := dial(addr)
	if err == nil {
		s.conns[addr] = c
	}
	return c, err
}

// file is an open file.
// Its connection may have other files open; requests do not interleave, since both belong to one goroutine.
type file struct {
	*conn
	handle wire.Handle
}

// open opens a path, at the place the server sends it to, and again while that is where it is not wanted: a manager spreads files
// over all nodes with a piece. options are the protocol's flags of kXR_open.
func (s *session) open(path string, options uint16) (file, error) {
	const most = 2000 // a node with one of 14 pieces is always met long before
	for range most {
		f, err := s.openAnywhere(path, options)
		if err != nil || s.not == "" || f.conn != s.conns[s.not] {
			return f, err
		}
		// A new file is empty now; the next open replaces it.
		if err := f.close(); err != nil {
			return file{}, err
		}
	}
	return file{}, fmt.Errorf("open %s: always at %s, %d times", path, s.not, most)
}

// openAnywhere opens a path at the place the server sends it to.
func (s *session) openAnywhere(path string, options uint16) (file, error) {
	addr, payload := s.home, path
	for range 4 { // manager, node, and some to spare
		c, err := s.at(addr)
		if err != nil {
			return file{}, err
		}
		c.queue(wire.Open{Mode: 0o644, Options: options}, []byte(payload))
		if err := c.flush(); err != nil {
			return file{}, err
		}
		status, body, err := c.answer()
		switch {
		case err != nil:
			return file{}, err
		case status == wire.StatusOK:
			reply, err := wire.ParseOpenReply(body)
			return file{c, reply.Handle}, err
		case status == wire.StatusError:
			return file{}, fmt.Errorf("open %s at %s: %w", path, addr, wire.ParseError(body))
		case status != wire.StatusRedirect:
			return file{}, fmt.Errorf("open %s at %s: answer with status %d", path, addr, status)
		}
		// A redirect carries a capability in its opaque part, which goes behind the path.
		to, err := wire.ParseRedirect(body)
		if err != nil {
			return file{}, err
		}
		addr, payload = addressOf(to), path
		if to.Opaque != "" {
			payload += "?" + string(to.Opaque)
		}
	}
	return file{}, fmt.Errorf("open %s: too many redirects", path)
}

// addressOf returns the target of a redirect; it may name a whole URL. A negative port says that the host is a URL
// (kXR_redirect).
func addressOf(to wire.Redirect) string {
	if to.Port >= 0 {
		return net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port)))
	}
	_, addr, _ := strings.Cut(to.Host, "://")
	return strings.TrimRight(addr, "/")
}

// close closes the file at its server.
// The connection stays.
func (f file) close() error {
	f.queue(wire.Close{Handle: f.handle}, nil)
	_, err := f.call()
	return err
}

// do runs a request about a path at the home server; its answer must be one of success.
// It does not follow redirects: requests about names are answered by the manager.
func (s *session) do(r wire.Request, path string) error {
	c, err := s.at(s.home)
	if err != nil {
		return err
	}
	c.queue(r, []byte(path))
	if _, err = c.call(); err != nil {
		return fmt.Errorf("%v %s: %w", r.ID(), path, err)
	}
	return nil
}

// list reads a whole directory with stat lines and counts the entries.
// Listings come in several parts, which are joined before they are parsed.
func (s *session) list(path string) (int, error) {
	c, err := s.at(s.home)
	if err != nil {
		return 0, err
	}
	c.queue(wire.Dirlist{Options: wire.DirlistStat}, []byte(path))
	if err := c.flush(); err != nil {
		return 0, err
	}
	var all []byte
	for {
		status, body, err := c.answer()
		switch {
		case err != nil:
			return 0, err
		case status == wire.StatusError:
			return 0, wire.ParseError(body)
		}
		all = append(all, body...)
		if status == wire.StatusOK {
			entries, err := wire.ParseDirlist(all)
			return len(entries), err
		}
	}
}
