package xrd

import (
	"net"
	"strconv"
	"strings"

	"hemera/doors/xrd/prepare"
	"hemera/rules/wire"
	"hemera/words/errs"
)

// handler serves one kind of request. Serve answers the request itself and returns nil, or returns the error to answer
// with: an error of the services, a *redirect, a *waitFor, or a closeAfter. It is called on the goroutine of the
// connection, and may block it.
type handler interface {
	Serve(r *request) error
}

// handlerFunc is a function as a handler.
type handlerFunc func(*request) error

// Serve implements handler.
func (f handlerFunc) Serve(r *request) error { return f(r) }

// handlers are what a part of a role serves.
type handlers map[wire.RequestID]handlerFunc

// subject is what a kind of request is about. It decides which part of a role serves it.
type subject uint8

const (
	aboutSession subject = iota
	aboutName            // a path in the namespace
	aboutFile            // an open file
	aboutEither          // a path, or an open file if it has none
)

// operation is one kind of request: what the protocol says of it, and what the server does with it.
type operation struct {
	subject     subject
	beforeLogin bool    // allowed before authentication
	streams     bool    // its payload is file data, which the handler takes off the connection
	payloadMax  int     // the longest payload otherwise, in bytes
	handler     handler // nil: the role does not support it
}

const (
	operationsCount = wire.ReqClone - wire.ReqAuth + 1
	// pathsMax is the longest list of paths, in bytes.
	pathsMax = 1 << 20
	// attributesMax is the longest payload of kXR_fattr, in bytes: every name and value at its limit.
	attributesMax = 8192 + wire.FattrMaxNames*(wire.FattrMaxName+wire.FattrMaxValue+16)
)

// protocolTable is what the protocol says of each kind of request that any role serves, by [wire.RequestID] (§1). It is
// the same for all roles.
func protocolTable() map[wire.RequestID]operation {
	return map[wire.RequestID]operation{
		wire.ReqProtocol: {subject: aboutSession, beforeLogin: true},
		wire.ReqLogin:    {subject: aboutSession, beforeLogin: true},
		wire.ReqAuth:     {subject: aboutSession, beforeLogin: true},
		wire.ReqBind:     {subject: aboutSession, beforeLogin: true},
		wire.ReqPing:     {subject: aboutSession, beforeLogin: true},
		wire.ReqSigver:   {subject: aboutSession, beforeLogin: true},
		wire.ReqEndsess:  {subject: aboutSession},
		wire.ReqSet:      {subject: aboutSession},
		wire.ReqQuery:    {subject: aboutSession, payloadMax: callMax},

		wire.ReqStatx:   {subject: aboutName, payloadMax: pathsMax},
		wire.ReqDirlist: {subject: aboutName},
		wire.ReqMkdir:   {subject: aboutName},
		wire.ReqRm:      {subject: aboutName},
		wire.ReqRmdir:   {subject: aboutName},
		wire.ReqMv:      {subject: aboutName},
		wire.ReqChmod:   {subject: aboutName},
		wire.ReqLocate:  {subject: aboutName},
		wire.ReqOpen:    {subject: aboutName},
		wire.ReqPrepare: {subject: aboutName, payloadMax: pathsMax},

		wire.ReqClose:    {subject: aboutFile},
		wire.ReqRead:     {subject: aboutFile},
		wire.ReqReadv:    {subject: aboutFile},
		wire.ReqPgread:   {subject: aboutFile},
		wire.ReqWrite:    {subject: aboutFile, streams: true},
		wire.ReqWritev:   {subject: aboutFile},
		wire.ReqPgwrite:  {subject: aboutFile, streams: true},
		wire.ReqSync:     {subject: aboutFile},
		wire.ReqChkpoint: {subject: aboutFile},

		wire.ReqStat:     {subject: aboutEither},
		wire.ReqTruncate: {subject: aboutEither},
		wire.ReqFattr:    {subject: aboutEither, payloadMax: attributesMax},
	}
}

// role is what one kind of server does with requests.
//
// A role has a handler for each kind of request that it serves, by what the request is about. A request about a path or a
// handle, of the same kind, has one in both.
type role struct {
	sessions handlers // what is about the connection, the login, and queries
	names    handlers // what is about a path
	files    handlers // what is about an open file
}

// handler returns what serves one kind of request.
// It returns nil for a request that the role does not support.
func (o *role) handler(id wire.RequestID, about subject) handler {
	var f handlerFunc
	switch about {
	case aboutSession:
		f = o.sessions[id]
	case aboutName:
		f = o.names[id]
	case aboutFile:
		f = o.files[id]
	case aboutEither:
		path, file := o.names[id], o.files[id]
		if f = path; file != nil { // without open files, the path's handler answers for both
			f = func(r *request) error {
				if r.byPath() {
					return path(r)
				}
				return file(r)
			}
		}
	}
	if f == nil {
		return nil
	}
	return f
}

// assemble makes the table of operations of the server's role. A manager opens files itself only at nodes of its own
// process.
func (s *Server) assemble() (table [operationsCount]operation) {
	var o role
	if s.o.Manager != nil {
		o = s.managerRole(s.o.Manager)
	} else {
		o = s.nodeRole(s.o.Node)
	}
	for id, op := range protocolTable() {
		op.payloadMax = max(op.payloadMax, payloadMax) // zero in the table: the usual
		op.handler = o.handler(id, op.subject)
		table[id-wire.ReqAuth] = op
	}
	return table
}

// managerRole answers about names itself, and sends opens to nodes.
func (s *Server) managerRole(m *ManagerOptions) role {
	// Handlers are made once, for all connections. They hold services, and share what a client must find again on another
	// connection: reads, lostWrites and arranged copies.
	names := &nameHandlers{names: m.Names, attributes: m.Attributes, files: m.Files, locate: s.locator(m), local: m.Local, space: m.Space}
	prepares := prepareHandlers{prepare.New(m.Names, m.Staging)}
	opens := &managerOpens{files: m.Files, prepares: prepares, local: m.Local, reads: s.reads, restarts: &s.restarts}
	queries := &queryHandlers{srv: s, names: names, files: m.Files, prepares: prepares, calls: m.Calls}
	o := role{sessions: s.sessionHandlers(queries), names: names.handlers(), files: handlers{}}
	o.names[wire.ReqOpen] = opens.open
	o.names[wire.ReqTruncate] = opens.truncate
	o.names[wire.ReqPrepare] = prepares.prepare
	if m.Local != nil {
		queries.openFiles = true
		s.addFileHandlers(&o, m.Resolve)
		return o
	}
	// Without a local node no client has a handle, so each request on one names a bad handle. Its data is dropped.
	for id, op := range protocolTable() {
		switch {
		case op.subject == aboutFile && op.streams:
			o.files[id] = func(r *request) error { return r.drain(int64(r.Length), errBadHandle) }
		case op.subject == aboutFile:
			o.files[id] = func(*request) error { return errBadHandle }
		}
	}
	return o
}

// nodeRole serves open files, and sends clients that ask about names to the manager.
func (s *Server) nodeRole(n *NodeOptions) role {
	opens := &nodeOpens{node: n.Node, puller: n.Puller, managerAddr: s.o.ManagerAddr, restarts: &s.restarts, ttl: s.o.Limits.RendezvousTTL}
	queries := &queryHandlers{srv: s, managerAddr: s.o.ManagerAddr, pulls: n.Puller != nil, link: n.Link, openFiles: true}
	o := role{sessions: s.sessionHandlers(queries), names: handlers{}, files: handlers{}}
	// What a node does not serve itself goes to the manager; the next lines replace what it does.
	for id, op := range protocolTable() {
		if op.subject == aboutName || op.subject == aboutEither {
			o.names[id] = opens.toManager
		}
	}
	o.names[wire.ReqOpen] = opens.open
	o.names[wire.ReqStat] = opens.statWrite
	o.names[wire.ReqTruncate] = opens.truncate
	s.addFileHandlers(&o, n.Resolve)
	return o
}

// addFileHandlers adds what is served on open files.
func (s *Server) addFileHandlers(o *role, resolve resolver) {
	files := &fileHandlers{resolve: resolve}
	reads := &readHandlers{&s.pool, s.o.ManagerAddr}
	writes := &writeHandlers{pool: &s.pool}
	checkpoints := &checkpointHandlers{writes: writes, files: files, budget: s.o.Budgets.Checkpoints}
	o.files[wire.ReqStat] = files.stat
	o.files[wire.ReqClose] = files.close
	o.files[wire.ReqSync] = files.sync
	o.files[wire.ReqTruncate] = files.truncate
	o.files[wire.ReqFattr] = files.fattr
	o.files[wire.ReqRead] = reads.read
	o.files[wire.ReqReadv] = reads.readv
	o.files[wire.ReqPgread] = reads.pgread
	o.files[wire.ReqWrite] = writes.write
	o.files[wire.ReqWritev] = writes.writev
	o.files[wire.ReqPgwrite] = writes.pgwrite
	o.files[wire.ReqChkpoint] = checkpoints.chkpoint
}

// sessionHandlers are the same for all roles.
func (s *Server) sessionHandlers(queries *queryHandlers) handlers {
	logins := &loginHandlers{
		policy: s.o.Policy, clients: &s.clients, lostWrites: s.lostWrites,
		manager: s.o.Manager != nil, binds: s.o.Node != nil || s.o.Manager.Local != nil,
	}
	return handlers{
		wire.ReqProtocol: logins.protocol,
		wire.ReqLogin:    logins.login,
		wire.ReqAuth:     logins.auth,
		wire.ReqBind:     logins.bind,
		wire.ReqPing:     logins.ping,
		wire.ReqSigver:   func(*request) error { return nil }, // nothing is announced that needs signing, and it has no answer (§2.6)
		wire.ReqEndsess:  logins.endsess,
		wire.ReqSet:      logins.set,
		wire.ReqQuery:    queries.query,
	}
}

// redirect is an outcome that sends the client elsewhere.
type redirect struct{ wire.Redirect }

func (*redirect) Error() string { return "redirected" }

// waitFor is an outcome that asks the client to send the request again later.
type waitFor wire.Wait

func (w *waitFor) Error() string { return w.Text }

// redirectTo sends the client to an address.
func redirectTo(addr string, opaque wire.Opaque) error {
	host, port, err := splitAddr(addr)
	if err != nil {
		return err
	}
	return &redirect{wire.Redirect{Port: port, Host: host, Opaque: opaque}}
}

// redirectToManager sends a client that asks a node about names to the manager.
func redirectToManager(r *request, managerAddr func() string) error {
	if len(r.payload) == 0 {
		return errNoPath
	}
	addr := managerAddr()
	if addr == "" {
		return errs.New(errs.Unavailable, "xrd.Redirect", "", "this node does not know its manager yet").
			WithRemedy("try again when the node has registered")
	}
	return redirectTo(addr, "")
}

// splitAddr splits host:port; brackets of IPv6 addresses stay, as clients expect them.
func splitAddr(addr string) (host string, port int32, err error) {
	h, p, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, errs.New(errs.Internal, "xrd.Redirect", addr, "not host:port")
	}
	n, err := strconv.ParseUint(p, 10, 16)
	if err != nil || n == 0 {
		return "", 0, errs.New(errs.Internal, "xrd.Redirect", addr, "not host:port")
	}
	if strings.Contains(h, ":") {
		h = "[" + h + "]"
	}
	return h, int32(n), nil
}
