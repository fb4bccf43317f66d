package xrd

import (
	"hemera/doors/xrd/prepare"
	"hemera/rules/wire"
)

// prepareHandlers serve prepare requests and questions about them, at a manager.
type prepareHandlers struct{ *prepare.Service }

// prepare answers kXR_prepare.
func (p prepareHandlers) prepare(r *request) error {
	lines := wire.Lines(r.payload)
	if len(lines) == 0 {
		return errNoPath
	}
	who := r.who()
	return runInline(r, func() ([]byte, error) {
		id, err := p.Do(r.context(), who, wire.DecodePrepare(r.Body), lines)
		if id == "" { // only a stage request has an id
			return nil, err
		}
		return append([]byte(id), 0), err
	})
}

// query answers kXR_query about a prepare request.
func (p prepareHandlers) query(r *request) error {
	lines := wire.Lines(r.payload)
	if len(lines) == 0 {
		return errNoPath
	}
	who := r.who()
	return runInline(r, func() ([]byte, error) {
		text, err := p.Query(r.context(), who, lines)
		return append([]byte(text), 0), err
	})
}
