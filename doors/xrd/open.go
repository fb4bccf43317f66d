package xrd

import (
	"strings"

	"hemera/doors/xrd/tpc"
	"hemera/doors/xrd/translate"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// localMax is the size, in bytes, of the largest file that a manager's door opens itself, and tells clients nothing of.
// For larger files an open costs nothing beside the data, and they are better off on a connection of their own, to which
// stock clients bind parallel ones. They never do so at a manager.
const localMax = 16 << 20

const (
	// openWaitsMax bounds how often a client comes back before it gets the error.
	openWaitsMax = 3
	// openWaitSeconds is the wait each time.
	openWaitSeconds = 5
)

// openArgs are the path, the opaque part and the options of an open.
type openArgs struct {
	path    string
	opaque  wire.Opaque
	options wire.Open
}

// parseOpen reads a kXR_open. It fails if the path is not clean, and refuses options that the door does not know.
func parseOpen(r *request) (a openArgs, err error) {
	a.path, a.opaque, err = r.path()
	if err == nil {
		a.options, err = translate.OpenOptions(r.Body)
	}
	return a, err
}

// managerOpens serve opens, and truncations by path, at a manager: the answer is the node to go to and the permission to
// open there, or the open file itself if the node is in this process.
type managerOpens struct {
	files    hemera.Files
	prepares prepareHandlers
	local    localNodes // nil: no node is in this process
	reads    *readMemory
	restarts *copyRestarts
}

// opening is one open at a manager while its steps run.
type opening struct {
	openArgs
	want   hemera.OpenRequest // what the manager is asked for; the steps before ask complete it
	grant  hemera.Grant       // what it granted, unless it refused
	refuse error              // why it granted nothing
}

// openStep is one step of an open at a manager. It ends the open if it has answered the request or fails.
type openStep func(m *managerOpens, r *request, o *opening) (answered bool, err error)

// openSteps answer an open at a manager, from top to bottom.
var openSteps = [...]openStep{
	(*managerOpens).restartCopy,   // a client whose copy is to be restarted gets a redirect, or an error
	(*managerOpens).continueWrite, // a client that lost its connection gets the write that it had
	(*managerOpens).continueRead,  // and a reader that lost it the content that it had
	(*managerOpens).ask,           // the manager grants or refuses
	(*managerOpens).askAllNodes,   // a client that was at all nodes may try each of them once more
	(*managerOpens).awaitRecall,   // a client waits for its file to come from tape
	(*managerOpens).awaitManager,  // and for a manager that cannot serve it now; other refusals are the answer
	(*managerOpens).openHere,      // a small file is opened in this process
	(*managerOpens).sendToNode,    // all others are opened by the node that the client is sent to
}

// truncateSteps answer a truncation by path at a manager. They are the steps of an open that send its client to a node.
var truncateSteps = [...]openStep{
	(*managerOpens).ask, (*managerOpens).askAllNodes, (*managerOpens).awaitRecall, (*managerOpens).awaitManager, (*managerOpens).sendToNode,
}

// run runs steps until one ends the open.
func (m *managerOpens) run(r *request, o *opening, steps []openStep) error {
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

// truncate sends a truncation to a node: an update of one step, or a step of the write that the same process has open.
// xrootdfs opens a file and then truncates it by its path.
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

// restartCopy answers a client that is to restart its copy: see [copyRestarts].
func (m *managerOpens) restartCopy(r *request, o *opening) (bool, error) {
	return false, m.restarts.onReopen(r, o.path, o.opaque, o.options)
}

// continueWrite opens again a write of the connection that the client lost, or sends the client to the node that has it. It
// fails with Conflict if the write was forgotten.
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
	delete(r.session.reconnect.lost, o.path) // its node has it, and the capability finds it there
	return false, redirectToHead(&write, translate.RetryWrite)
}

// continueRead has a reader that comes back ask for the content that it was granted. It fails with Conflict if several were.
func (m *managerOpens) continueRead(r *request, o *opening) (bool, error) {
	r.useTrace(o.opaque)
	return false, m.reads.pinContent(r.session, &o.want, o.options, o.opaque)
}

// ask asks the manager for the open. It may wait for the namespace, or for another close of the same process.
func (m *managerOpens) ask(r *request, o *opening) (bool, error) {
	ss := r.session
	// These tell the manager that a client comes back to a write of its own, and which close an open has to wait for.
	o.want.Session, o.want.Ended, o.want.Process = ss.name, ss.reconnect.named, ss.processName()
	if o.opaque.Has(translate.TriedKey) {
		o.want.Tried, o.want.Avoid = ss.opens.Of(o.path, true).Tried(o.opaque)
	}
	o.grant, o.refuse = m.files.Open(r.context(), r.who(), o.want)
	return false, nil
}

// askAllNodes asks once more if no node is left for the client but those that it has tried, and leaves none of them out.
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
	if o.refuse == nil {
		return false, nil
	}
	// How often a client comes back is not counted: the recall ends, and clients have a limit of their own, stock ones 30 min.
	after, recalling := m.prepares.Recalling(r.context(), r.who(), o.path, o.refuse)
	switch {
	case !recalling:
		return false, nil
	case r.ID == wire.ReqOpen && o.options.Options&wire.OpenNoWait != 0:
		return false, o.refuse
	}
	return false, &waitFor{Seconds: after, Text: o.refuse.Error()}
}

// awaitManager asks the client to come back in some seconds, a few times, while the manager cannot serve it. It returns any
// other refusal.
func (m *managerOpens) awaitManager(r *request, o *opening) (bool, error) {
	ss := r.session
	if o.refuse == nil {
		if history := ss.opens[o.path]; history != nil {
			history.Waits = 0
		}
		return false, nil
	}
	if k := errs.KindOf(o.refuse); k == errs.Unavailable || k == errs.Overloaded {
		history := ss.opens.Of(o.path, true)
		if history.Waits < openWaitsMax {
			history.Waits++
			return false, &waitFor{Seconds: openWaitSeconds, Text: o.refuse.Error()}
		}
	}
	return false, o.refuse
}

// openHere opens the file at a node of this process if the door may, and answers with the handle.
func (m *managerOpens) openHere(r *request, o *opening) (bool, error) {
	n := m.localNode(o)
	if n == nil {
		return false, nil
	}
	g := o.grant // for the handle, which outlives the open
	h, err := m.openLocal(r, n, &g, &o.openArgs)
	if err != nil { // the client gets what it would have got from the node, and may be sent to another one then
		return false, nil
	}
	return true, okOpen(r, h, o.options)
}

// sendToNode redirects the client to the head of its grant. It remembers where the client was sent, and which content to read.
func (m *managerOpens) sendToNode(r *request, o *opening) (bool, error) {
	m.reads.add(r.session, o.path, &o.grant.Permit.Capability)
	r.session.opens.Of(o.path, o.opaque.Has(translate.TriedKey)).Sent(headOf(&o.grant), o.grant.Addr, o.grant.Permit.Targets)
	return false, redirectToHead(&o.grant, translate.RetryHint(&o.grant, o.want.Access))
}

// localNode returns the node of this process at which the door opens a granted file itself. It returns nil if the client
// has to go to a node: the head is elsewhere, the client wants to know where it is or has failed before, or it copies
// between servers, whose other end has to find that node.
//
// Writes are opened here only if they make a file. A client that loses its connection opens again without its
// capability, for an update. If the door has forgotten the write by then, there is nothing at the name that could be
// mistaken for its content.
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

// openInto opens a file for one more handle of the request's session, which is counted.
func openInto(r *request, f *openFile, path string, as Client, open func() (endable, error)) error {
	counted, err := r.session.handles.count(as) // before the open: an open file that is refused would have to be closed
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
	// Once: what came from tape and is bad again is an error. The puller of a third-party copy has no right at the manager.
	f.onTape = info.OnTape && !opaque.Has(wire.OpaqueNoPiece) && !opaque.Has(tpc.Key)
	return nil
}
