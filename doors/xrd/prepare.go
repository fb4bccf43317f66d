package xrd

import (
	"sync"

	"hemera"
	"hemera/doors/xrd/translate"
	"hemera/errs"
	"hemera/rules/wire"
)

// preparesMax is how many prepare requests are remembered; the oldest is forgotten first.
const preparesMax = 4096

// prepares remembers the ids of prepare requests where there is no tape. Every file is on disk, so a request is done when
// it is answered; the ids let clients ask and cancel as they are used to.
type prepares struct {
	mu    sync.Mutex // guards all
	ids   map[string]bool
	order []string // ring of the ids
	next  int
}

// add makes an id, and forgets the oldest.
func (p *prepares) add() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := "hemera." + hemera.NewTraceID()
	if p.ids == nil {
		p.ids = map[string]bool{}
		p.order = make([]string, preparesMax)
	}
	delete(p.ids, p.order[p.next])
	p.order[p.next] = id
	p.next = (p.next + 1) % preparesMax // the ring's oldest is next
	p.ids[id] = true
	return id
}

// has reports whether the id is remembered.
func (p *prepares) has(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ids[id]
}

// remove forgets an id, and reports whether it was remembered.
func (p *prepares) remove(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	had := p.ids[id]
	delete(p.ids, id)
	return had
}

// prepareHandlers serve prepare requests at a manager: with staging what is on tape, without it files that are all on disk.
type prepareHandlers struct {
	names   hemera.Names
	staging hemera.Staging // nil: there is no tape
	known   prepares       // used without staging
}

// prepare answers kXR_prepare.
func (p *prepareHandlers) prepare(r *request) error {
	q := wire.DecodePrepare(r.Body)
	lines := wire.Lines(r.payload)
	if len(lines) == 0 {
		return errNoPath
	}
	action := translate.ActionOf(q)
	if p.staging != nil && action != translate.PrepareCheck {
		return p.tape(r, action, lines, q.Options&wire.PrepareNoErrs != 0)
	}
	if action == translate.PrepareCancel { // the first line is the id
		if !p.known.remove(lines[0]) {
			return translate.Refuse(wire.ArgInvalid, "no such prepare request")
		}
		return r.ok(nil)
	}
	for _, line := range lines {
		if err := p.exists(r, line); err != nil && q.Options&wire.PrepareNoErrs == 0 { // clients may ask for paths that do not exist yet
			return err
		}
	}
	if action != translate.PrepareStage { // only a stage request has an id to ask about
		return r.ok(nil)
	}
	return r.okText(p.known.add())
}

// exists fails if the path of a line is not there for the client.
func (p *prepareHandlers) exists(r *request, line string) error {
	f, err := translate.StageFile(line)
	if err == nil {
		_, err = p.names.Stat(r.context(), r.who(), f.Path)
	}
	return err
}

// query answers about a request: its id, and the paths asked about, a line each.
func (p *prepareHandlers) query(r *request) error {
	lines := wire.Lines(r.payload)
	if len(lines) == 0 {
		return errNoPath
	}
	id := lines[0]
	if p.staging != nil {
		return p.queryTape(r, id, lines[1:])
	}
	hasID := p.known.has(id)
	var list []translate.PrepareState
	for _, line := range lines[1:] {
		err := p.exists(r, line)
		raw, _ := wire.SplitPath([]byte(line))
		// Denied looks like missing here, and error_text says which. There is no tape: what exists is online.
		s := translate.PrepareState{Path: raw, HasReqID: hasID, Exists: err == nil, Online: err == nil}
		if err != nil {
			s.Error = errs.KindOf(err).String()
		}
		list = append(list, s)
	}
	text, err := translate.PrepareAnswer(id, list)
	if err != nil {
		return err
	}
	return r.okText(text)
}
