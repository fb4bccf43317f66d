package xrd

import (
	"hemera/doors/xrd/prepare"
	"hemera/rules/wire"
)

// role has the handlers of one kind of server.
//
// It has a handler for each kind of request that it serves. Requests of one kind about a path or a handle have one in
// both maps.
type role struct {
	sessions handlers // about the connection, the login, and queries
	names    handlers // about a path
	files    handlers // about an open file
}

// handler returns the handler of one kind of request, or nil if the role does not support it.
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
		if f = path; file != nil { // without open files, the path's handler serves both
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

// managerRole returns the role that serves names, and redirects opens to nodes.
func (s *Server) managerRole(m *ManagerOptions) role {
	// Handlers are made once, for all connections. They have services, and the state that a client must find again on
	// another connection: reads, lostWrites and arranged copies.
	names := &nameHandlers{names: m.Names, attributes: m.Attributes, files: m.Files, locate: s.locator(m), local: m.Local, space: m.Space}
	prepares := prepareHandlers{prepare.New(m.Names, m.Staging)}
	opens := &managerOpens{files: m.Files, prepares: prepares, local: m.Local, reads: s.reads, restarts: &s.restarts, holds: &s.holds}
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
	// Without a local node clients have no handles, so requests on handles fail. Their data is dropped.
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

// nodeRole returns the role that serves open files, and redirects requests about names to the manager.
func (s *Server) nodeRole(n *NodeOptions) role {
	opens := &nodeOpens{
		node: n.Node, managerAddr: s.o.ManagerAddr, restarts: &s.restarts,
		copies: copyEnds{puller: n.Puller, ttl: s.o.Limits.RendezvousTTL},
	}
	queries := &queryHandlers{srv: s, managerAddr: s.o.ManagerAddr, pulls: n.Puller != nil, link: n.Link, openFiles: true}
	o := role{sessions: s.sessionHandlers(queries), names: handlers{}, files: handlers{}}
	// Everything about names is redirected to the manager, except the requests below.
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

// addFileHandlers adds the handlers of requests about open files.
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

// sessionHandlers returns the handlers of requests about sessions, which are the same for all roles.
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
		wire.ReqSigver:   func(*request) error { return nil }, // no request needs a signature, and this one has no answer (§2.6)
		wire.ReqEndsess:  logins.endsess,
		wire.ReqSet:      logins.set,
		wire.ReqQuery:    queries.query,
	}
}

func (n *nameHandlers) handlers() handlers {
	return handlers{
		wire.ReqStat:    n.stat,
		wire.ReqStatx:   n.statx,
		wire.ReqDirlist: n.dirlist,
		wire.ReqMkdir:   n.mkdir,
		wire.ReqRm:      n.rm,
		wire.ReqRmdir:   n.rmdir,
		wire.ReqMv:      n.mv,
		wire.ReqChmod:   n.chmod,
		wire.ReqFattr:   n.fattr,
		wire.ReqLocate:  n.locate.serve,
	}
}
