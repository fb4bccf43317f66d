package xrd

import (
	"hemera/errs"
	"hemera/rules/wire"
)

// operation is how one kind of request is served. run answers the request itself and returns nil,
// or returns the error to answer with.
type operation struct {
	run     func(*conn, *request) error
	always  bool // also before authentication
	streams bool // reads its payload itself
	payload int  // longest payload, if above the usual
}

// operations lists what a role serves; the rest is Unsupported. A manager is local when it opens files
// at nodes of its own process.
func operations(role Role, local bool) (ops [wire.ReqClone - wire.ReqAuth + 1]operation) {
	set := func(id wire.RequestID, op operation) { ops[id-wire.ReqAuth] = op }
	set(wire.ReqProtocol, operation{run: (*conn).protocol, always: true})
	set(wire.ReqLogin, operation{run: (*conn).doLogin, always: true})
	set(wire.ReqAuth, operation{run: (*conn).doAuth, always: true})
	set(wire.ReqBind, operation{run: (*conn).doBind, always: true})
	set(wire.ReqPing, operation{run: (*conn).ping, always: true})
	set(wire.ReqSigver, operation{run: (*conn).sigver, always: true})
	set(wire.ReqEndsess, operation{run: (*conn).endsess})
	set(wire.ReqSet, operation{run: (*conn).set})
	set(wire.ReqQuery, operation{run: (*conn).query, payload: callMax})
	switch {
	case role == RoleNode:
		nodeOperations(set)
	case local:
		managerOperations(set)
		handleOperations(set)
		set(wire.ReqStat, operation{run: byPath((*conn).statPath, (*conn).statHandle)})
		set(wire.ReqTruncate, operation{run: byPath((*conn).truncateAtManager, (*conn).truncate)})
		set(wire.ReqFattr, operation{run: byPath((*conn).fattrPath, (*conn).fattrHandle), payload: attributesMax})
	default:
		managerOperations(set)
	}
	return ops
}

// attributesMax is the longest payload of kXR_fattr: every name and value at its limit.
const attributesMax = 8192 + wire.FattrMaxNames*(wire.FattrMaxName+wire.FattrMaxValue+16)

// pathsMax is the longest list of paths.
const pathsMax = 1 << 20

func managerOperations(set func(wire.RequestID, operation)) {
	set(wire.ReqStat, operation{run: (*conn).statPath})
	set(wire.ReqStatx, operation{run: (*conn).statx, payload: pathsMax})
	set(wire.ReqDirlist, operation{run: (*conn).dirlist})
	set(wire.ReqMkdir, operation{run: (*conn).mkdir})
	set(wire.ReqRm, operation{run: (*conn).rm})
	set(wire.ReqRmdir, operation{run: (*conn).rmdir})
	set(wire.ReqMv, operation{run: (*conn).mv})
	set(wire.ReqChmod, operation{run: (*conn).chmod})
	set(wire.ReqLocate, operation{run: (*conn).locate})
	set(wire.ReqOpen, operation{run: (*conn).openAtManager})
	set(wire.ReqTruncate, operation{run: (*conn).truncateAtManager})
	set(wire.ReqFattr, operation{run: (*conn).fattrPath, payload: attributesMax})
	set(wire.ReqPrepare, operation{run: (*conn).prepare, payload: pathsMax})
	for _, id := range []wire.RequestID{wire.ReqClose, wire.ReqRead, wire.ReqReadv, wire.ReqPgread, wire.ReqSync, wire.ReqChkpoint, wire.ReqWritev} {
		set(id, operation{run: (*conn).noHandles})
	}
	set(wire.ReqWrite, operation{run: (*conn).noHandlesData, streams: true})
	set(wire.ReqPgwrite, operation{run: (*conn).noHandlesData, streams: true})
}

func nodeOperations(set func(wire.RequestID, operation)) {
	for _, id := range []wire.RequestID{wire.ReqStatx, wire.ReqDirlist, wire.ReqMkdir, wire.ReqRm, wire.ReqRmdir, wire.ReqMv, wire.ReqChmod, wire.ReqLocate, wire.ReqPrepare} {
		set(id, operation{run: (*conn).toManager, payload: pathsMax})
	}
	handleOperations(set)
	set(wire.ReqStat, operation{run: (*conn).statHandle})
	set(wire.ReqOpen, operation{run: (*conn).openAtNode})
	set(wire.ReqTruncate, operation{run: (*conn).truncate})
	set(wire.ReqFattr, operation{run: (*conn).fattrHandle, payload: attributesMax})
}

// handleOperations are those on open files alone.
func handleOperations(set func(wire.RequestID, operation)) {
	set(wire.ReqClose, operation{run: (*conn).closeHandle})
	set(wire.ReqRead, operation{run: (*conn).read})
	set(wire.ReqReadv, operation{run: (*conn).readv})
	set(wire.ReqPgread, operation{run: (*conn).pgread})
	set(wire.ReqWrite, operation{run: (*conn).write, streams: true})
	set(wire.ReqWritev, operation{run: (*conn).writev})
	set(wire.ReqPgwrite, operation{run: (*conn).pgwrite, streams: true})
	set(wire.ReqSync, operation{run: (*conn).sync})
	set(wire.ReqChkpoint, operation{run: (*conn).chkpoint})
}

// byPath tells requests about a name from those about an open file, where a door answers both.
func byPath(path, handle func(*conn, *request) error) func(*conn, *request) error {
	return func(c *conn, r *request) error {
		if r.byPath() {
			return path(c, r)
		}
		return handle(c, r)
	}
}

// byPath reports whether a request that may go by handle goes by path. The path with which a kXR_fattr
// begins may be empty.
func (r *request) byPath() bool {
	return len(r.payload) > 0 && (r.ID != wire.ReqFattr || r.payload[0] != 0)
}

// noHandles answers requests about handles at a manager, which has none.
func (c *conn) noHandles(*request) error { return errBadHandle }

func (c *conn) noHandlesData(r *request) error { return c.drain(int64(r.Length), errBadHandle) }

// redirect is an outcome that sends the client elsewhere.
type redirect struct{ wire.Redirect }

func (*redirect) Error() string { return "redirected" }

// waitFor is an outcome that asks the client to come back.
type waitFor wire.Wait

func (w *waitFor) Error() string { return w.Text }

// toManager sends a client that asks a node about names to the manager.
func (c *conn) toManager(r *request) error {
	if len(r.payload) == 0 {
		return errNoPath
	}
	addr := c.srv.o.ManagerAddr()
	if addr == "" {
		return errs.New(errs.Unavailable, "xrd."+r.ID.String(), "", "this node does not know its manager yet").
			WithRemedy("try again when the node has registered")
	}
	return redirectTo(addr, "")
}

func redirectTo(addr string, opaque wire.Opaque) error {
	host, port, err := splitAddr(addr)
	if err != nil {
		return err
	}
	return &redirect{wire.Redirect{Port: port, Host: host, Opaque: opaque}}
}
