package xrd

import (
	"errors"
	"strings"
	"time"

	"hemera/doors/xrd/tpc"
	"hemera/doors/xrd/translate"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// localMax is the size, in bytes, of the largest file that a manager's door opens itself in place of a redirect. For
// larger files the cost of an open is small, and a connection of their own is better: stock clients bind parallel
// connections to it, which they never do at a manager.
const localMax = 16 << 20

const (
	// openPatience bounds the time for which a client waits for an open that the manager cannot serve now, before it gets the error.
	openPatience = 15 * time.Second
	// openWaitSeconds is the length of each wait, busyWaitSeconds that of a wait for a manager that has too much to do.
	openWaitSeconds, busyWaitSeconds = 1, 5
)

// openArgs has the path, the opaque part and the options of an open.
type openArgs struct {
	path    string
	opaque  wire.Opaque
	options wire.Open
}

// parseOpen decodes a kXR_open. It fails if the path is not clean, and for unknown options.
func parseOpen(r *request) (a openArgs, err error) {
	a.path, a.opaque, err = r.path()
	if err == nil {
		a.options, err = translate.OpenOptions(r.Body)
	}
	return a, err
}

// managerOpens serve opens, and truncations by path, at a manager. They redirect the client to a node with permission to
// open the file there, or open the file if the node is in this process.
type managerOpens struct {
	files    hemera.Files
	prepares prepareHandlers
	local    localNodes // nil: no node is in this process
	reads    *readMemory
	restarts *copyRestarts
	holds    *holds
}

// opening is the state of one open at a manager between its steps.
type opening struct {
	openArgs
	want   hemera.OpenRequest // the request to the manager; the steps before ask complete it
	grant  hemera.Grant       // the manager's grant, unless it refused
	refuse error              // the manager's refusal
}

// openStep is one step of an open at a manager. The open ends when a step has answered the request or fails.
type openStep func(m *managerOpens, r *request, o *opening) (answered bool, err error)

// openSteps has the steps of an open at a manager, in order.
var openSteps = [...]openStep{
	(*managerOpens).restartCopy,   // redirects or refuses a client whose copy is restarted
	(*managerOpens).continueWrite, // a client that lost its connection gets its write again
	(*managerOpens).continueRead,  // a reader that lost its connection gets the same content again
	(*managerOpens).ask,           // the manager grants or refuses
	(*managerOpens).askAllNodes,   // a client that has failed at all nodes may try each once more
	(*managerOpens).awaitRecall,   // a client waits for its file from tape
	(*managerOpens).holdOpen,      // holds the request while nodes are about to come back
	(*managerOpens).awaitManager,  // a client waits for a manager that cannot serve it now; other refusals are the answer
	(*managerOpens).openHere,      // opens a small file in this process
	(*managerOpens).sendToNode,    // redirects the client to a node for all others
}

// truncateSteps has the steps of a truncation by path at a manager: those of an open that redirect the client to a node.
var truncateSteps = [...]openStep{
	(*managerOpens).ask, (*managerOpens).askAllNodes, (*managerOpens).awaitRecall, (*managerOpens).holdOpen, (*managerOpens).awaitManager,
	(*managerOpens).sendToNode,
}

// run runs the steps until one ends the open.
func (m *managerOpens) run(r *request, o *opening, steps []openStep) error {
	r.session.held.record(&r.session.opens)
	for _, step := range steps {
		if answered, err := step(m, r, o); answered || err != nil {
			return err
		}
	}
	return nil
}

// open answers kXR_open.
func (m *managerOpens) open(r *request) error {
	a, err := parseOpen(r)
	if err != nil {
		return err
	}
	if err := translate.CheckEOSKeys(a.opaque, a.options); err != nil {
		return err
	}
	return m.run(r, &opening{openArgs: a, want: translate.OpenRequest(a.path, a.opaque, a.options)}, openSteps[:])
}

// truncate redirects a truncation to a node: an update of one step, or a step of the write that the same process has
// open. xrootdfs opens a file and then truncates it by path.
func (m *managerOpens) truncate(r *request) error {
	path, opaque, err := r.path()
	if err != nil {
		if len(r.payload) == 0 {
			return errBadHandle
		}
		return err
	}
	if err := translate.CheckSize(wire.DecodeTruncate(r.Body).Size); err != nil {
		return err
	}
	o := opening{openArgs: openArgs{path: path, opaque: opaque}, want: hemera.OpenRequest{Path: path, Access: hemera.AccessUpdate, Join: true}}
	return m.run(r, &o, truncateSteps[:])
}

// restartCopy answers a client that must restart its copy; see [copyRestarts].
func (m *managerOpens) restartCopy(r *request, o *opening) (bool, error) {
	return false, m.restarts.onReopen(r, o.path, o.opaque, o.options)
}

// continueWrite reopens a write of the connection that the client lost, or redirects the client to the node that has it.
// It fails with Conflict if the write was forgotten.
func (m *managerOpens) continueWrite(r *request, o *opening) (bool, error) {
	write, lost, err := r.session.reconnect.lostWrite(o.path, o.options)
	if err != nil || !lost {
		return false, err
	}
	if n := m.local(headOf(&write)); n != nil {
		if h, err := m.openLocal(r, n, &write, &o.openArgs); err == nil {
			return true, okOpen(r, h, o.options)
		}
	}
	delete(r.session.reconnect.lost, o.path) // its node has the write and finds it by the capability
	return false, redirectToHead(&write, translate.RetryWrite)
}

// continueRead pins the content for a reader that has reconnected: the one that it was granted before. It fails with
// Conflict if there were several.
func (m *managerOpens) continueRead(r *request, o *opening) (bool, error) {
	r.useTrace(o.opaque)
	return false, m.reads.pinContent(r.session, &o.want, o.options, o.opaque)
}

// ask asks the manager for the open. It may wait for the namespace, or for another close of the same process.
func (m *managerOpens) ask(r *request, o *opening) (bool, error) {
	ss := r.session
	// With these the manager finds the client's own write, and the close for which the open must wait.
	o.want.Session, o.want.Ended, o.want.Process = ss.name, ss.reconnect.named, ss.processName()
	if o.opaque.Has(translate.TriedKey) {
		o.want.Tried, o.want.Avoid = ss.opens.Of(o.path, true).Tried(o.opaque)
	}
	o.grant, o.refuse = m.files.Open(r.context(), r.who(), o.want)
	return false, nil
}

// askAllNodes asks once more, with no node left out, if the client has tried all nodes.
func (m *managerOpens) askAllNodes(r *request, o *opening) (bool, error) {
	k := errs.KindOf(o.refuse)
	if o.refuse == nil || len(o.want.Tried) == 0 || k != errs.NoReplicas && k != errs.NoSpace || !r.session.opens[o.path].ClearOnce() {
		return false, nil
	}
	o.want.Tried, o.want.Avoid = nil, nil
	o.grant, o.refuse = m.files.Open(r.context(), r.who(), o.want)
	return false, nil
}

// awaitRecall asks the client to open again later if the file is being recalled from tape. A client that does not want to
// wait gets the refusal.
func (m *managerOpens) awaitRecall(r *request, o *opening) (bool, error) {
	if _, later := errors.AsType[*hemera.NotYet](o.refuse); later || o.refuse == nil {
		return false, nil // a refusal for now is not for the want of a tape
	}
	// The number of waits has no bound: the recall ends, and clients have a limit of their own, stock clients 30 min.
	after, recalling := m.prepares.Recalling(r.context(), r.who(), o.path, o.refuse)
	switch {
	case !recalling:
		return false, nil
	case r.ID == wire.ReqOpen && o.options.Options&wire.OpenNoWait != 0:
		return false, o.refuse
	}
	return false, &waitFor{Seconds: after, Text: o.refuse.Error()}
}

// awaitManager asks the client, for a while, to open again while the manager cannot serve it. It returns any other
// refusal.
func (m *managerOpens) awaitManager(r *request, o *opening) (bool, error) {
	switch k := errs.KindOf(o.refuse); {
	case o.refuse == nil:
		if history := r.session.opens[o.path]; history != nil {
			history.Served()
		}
		return false, nil
	case k != errs.Unavailable && k != errs.Overloaded, !r.session.opens.Of(o.path, true).MayWait(time.Now(), openPatience):
		return false, o.refuse
	case k == errs.Overloaded:
		return false, &waitFor{Seconds: busyWaitSeconds, Text: o.refuse.Error()}
	}
	return false, &waitFor{Seconds: openWaitSeconds, Text: o.refuse.Error()}
}

// openHere opens the file at a node of this process if possible, and answers with the handle.
func (m *managerOpens) openHere(r *request, o *opening) (bool, error) {
	n := m.localNode(o)
	if n == nil {
		return false, nil
	}
	g := o.grant // a copy for the handle, which outlives the open
	h, err := m.openLocal(r, n, &g, &o.openArgs)
	if err != nil { // the client is redirected to the node, and gets the error there; then it may come back for another node
		return false, nil
	}
	return true, okOpen(r, h, o.options)
}

// sendToNode redirects the client to the head of its grant. It records the node, and the content for a reader.
func (m *managerOpens) sendToNode(r *request, o *opening) (bool, error) {
	m.reads.add(r.session, o.path, &o.grant.Permit.Capability)
	r.session.opens.Of(o.path, o.opaque.Has(translate.TriedKey)).Sent(headOf(&o.grant), o.grant.Addr, o.grant.Permit.Targets)
	return false, redirectToHead(&o.grant, translate.RetryHint(&o.grant, o.want.Access))
}

// localNode returns the node of this process at which the door opens a granted file itself. It returns nil if the client
// must be redirected: the head is in another process, the client asks for the place or has failed before, or it copies
// between servers and the other server has to find the node.
//
// Writes are opened here only if they create a file. A client that loses its connection opens again without its
// capability, for an update. If the door has forgotten the write by then, the name does not exist, so no other content
// can be taken for its own.
func (m *managerOpens) localNode(o *opening) hemera.Node {
	permit, access := o.grant.Permit, o.want.Access
	replaces := access == hemera.AccessCreate && permit.BaseGen != 0
	switch {
	case m.local == nil, permit.Size > localMax, access == hemera.AccessUpdate, replaces:
		return nil
	case o.opaque != "" && (o.opaque.Has(translate.TriedKey) || o.opaque.Has(wire.OpaqueWhere) || strings.Contains(string(o.opaque), tpc.Prefix)):
		return nil
	}
	return m.local(headOf(&o.grant))
}

// openLocal opens a granted file at a node of this process.
func (m *managerOpens) openLocal(r *request, n hemera.Node, g *hemera.Grant, a *openArgs) (*fileHandle, error) {
	h := &fileHandle{posc: a.options.Options&wire.OpenPosc != 0}
	err := openInto(r, &h.openFile, a.path, r.conn.countedAs(), func() (endable, error) {
		return n.Open(r.context(), g.Permit, hemera.NodeOpen{Truncate: translate.CreatesFile(a.options)})
	})
	switch {
	case err == nil && h.writable:
		h.write = g
	case err == nil && g.Permit.Access == hemera.AccessRead && r.session.remembersReads():
		h.granted = g.Permit
	}
	return h, translate.OpenFailure(err)
}

// openInto opens a file for one more handle of the request's session, and counts it.
func openInto(r *request, f *openFile, path string, as Client, open func() (endable, error)) error {
	counted, err := r.session.handles.count(as) // before the open, because a file that is refused after it would have to be closed
	if err != nil {
		return err
	}
	file, err := open()
	if err != nil {
		counted.Give(1)
		counted.Close()
		return err
	}
	info := file.Info()
	f.file, f.path, f.counted, f.client, f.writable = file, path, counted, as, info.Writable // the capability decides whether it is for writing
	_, opaque := wire.SplitPath(r.payload)
	// Only once: a file that came from tape and is bad again is an error. The destination of a third-party copy has no
	// rights at the manager.
	f.onTape = info.OnTape && !opaque.Has(wire.OpaqueNoPiece) && !opaque.Has(tpc.Key)
	return nil
}
