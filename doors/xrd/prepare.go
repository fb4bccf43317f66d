package xrd

import (
	"encoding/json"
	"strings"
	"sync"

	"hemera"
	"hemera/doors/xrd/translate"
	"hemera/errs"
	"hemera/rules/wire"
)

// preparesMax is how many prepare requests are remembered; the oldest is forgotten first.
const preparesMax = 4096

// prepares remembers the ids of prepare requests. Every file is on disk, so a request is done when
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

// prepareHandlers serve prepare requests at a manager.
type prepareHandlers struct {
	names hemera.Names
	known prepares
}

// prepare answers kXR_prepare: it checks that the files are there.
func (p *prepareHandlers) prepare(r *request) error {
	q := wire.DecodePrepare(r.Body)
	lines := wire.Lines(r.payload)
	if len(lines) == 0 {
		return errNoPath
	}
	if q.Options&wire.PrepareCancel != 0 { // the first line is the id
		if !p.known.remove(lines[0]) {
			return translate.Refuse(wire.ArgInvalid, "no such prepare request")
		}
		return r.ok(nil)
	}
	for _, line := range lines {
		raw, _ := wire.SplitPath([]byte(line))
		path, err := wire.CleanPath(raw)
		if err == nil {
			_, err = p.names.Stat(r.conn.ctx, r.who(), path)
		}
		if err != nil && q.Options&wire.PrepareNoErrs == 0 { // clients may ask for paths that do not exist yet
			return err
		}
	}
	if q.Options&wire.PrepareStage == 0 { // only a stage request has an id to ask about
		return r.ok(nil)
	}
	return r.okText(p.known.add())
}

// prepareStatus is what tape clients expect of each file.
type prepareStatus struct {
	Path      string `json:"path"`
	Exists    bool   `json:"path_exists"`
	OnTape    bool   `json:"on_tape"`
	Online    bool   `json:"online"`
	Requested bool   `json:"requested"`
	HasReqID  bool   `json:"has_reqid"`
	ReqTime   string `json:"req_time"`
	Error     string `json:"error_text"`
}

// query answers about a request: its id, and the paths asked about, a line each.
func (p *prepareHandlers) query(r *request) error {
	lines := wire.Lines(r.payload)
	if len(lines) == 0 {
		return errNoPath
	}
	id := lines[0]
	hasID := p.known.has(id)
	list := []prepareStatus{} // not nil: clients expect a JSON list
	for _, line := range lines[1:] {
		raw, _ := wire.SplitPath([]byte(line))
		s := prepareStatus{Path: raw, HasReqID: hasID}
		path, err := wire.CleanPath(raw)
		if err == nil {
			_, err = p.names.Stat(r.conn.ctx, r.who(), path)
		}
		s.Exists = err == nil // Denied looks like missing here, and error_text says which
		s.Online = err == nil // there is no tape: what exists is online
		if err != nil {
			s.Error = errs.KindOf(err).String()
		}
		list = append(list, s)
	}
	var b strings.Builder
	err := json.NewEncoder(&b).Encode(map[string]any{"request_id": id, "responses": list})
	if err != nil {
		return errs.Wrap(err, "xrd.Prepare", id)
	}
	return r.okText(strings.TrimSpace(b.String()))
}
