package tapeconfig

import (
	"strings"

	"hemera/words/tapeapi"
)

// Ref names an object.
type Ref struct {
	Kind Kind
	Name string
}

// String returns the object in words: "pool default".
func (r Ref) String() string { return string(r.Kind) + " " + r.Name }

// object has the methods of all objects.
type object interface {
	// refs are the objects that must be there for this one.
	refs() []Ref
	// wrong says what makes no sense in the object alone, "" for nothing.
	wrong(name string) string
	// log is the author of the object.
	log() *Log
}

// Objects that refer to nothing. A rule's requester and group are names of users, who are no objects.

func (*MediaType) refs() []Ref    { return nil }
func (*Organisation) refs() []Ref { return nil }
func (*Policy) refs() []Ref       { return nil }
func (*Library) refs() []Ref      { return nil }
func (*Mounting) refs() []Ref     { return nil }
func (*Buffer) refs() []Ref       { return nil }
func (*Key) refs() []Ref          { return nil }
func (*Server) refs() []Ref       { return nil }

// Objects with one or two references.

func (c *Class) refs() []Ref { return []Ref{{KindOrganisation, c.Organisation}} }
func (r *Route) refs() []Ref { return []Ref{{KindClass, r.Class}, {KindPool, string(r.Pool)}} }
func (r *Rule) refs() []Ref  { return []Ref{{KindPolicy, r.Policy}} }

// refs of a pool are its organisation, its key and its supplies.
func (p *Pool) refs() []Ref {
	refs := []Ref{{KindOrganisation, p.Organisation}}
	if p.Key != "" {
		refs = append(refs, Ref{KindKey, p.Key})
	}
	for _, s := range p.Supplies() {
		refs = append(refs, Ref{KindPool, string(s)})
	}
	return refs
}

// Supplies returns the pools that empty tapes are taken from, in their order.
func (p Pool) Supplies() (names []tapeapi.PoolName) {
	for _, name := range strings.Split(p.Supply, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, tapeapi.PoolName(name))
		}
	}
	return names
}

// Each object embeds its log.

func (m *MediaType) log() *Log    { return &m.Log }
func (o *Organisation) log() *Log { return &o.Log }
func (p *Pool) log() *Log         { return &p.Log }
func (c *Class) log() *Log        { return &c.Log }
func (r *Route) log() *Log        { return &r.Log }
func (p *Policy) log() *Log       { return &p.Log }
func (r *Rule) log() *Log         { return &r.Log }
func (l *Library) log() *Log      { return &l.Log }
func (m *Mounting) log() *Log     { return &m.Log }
func (b *Buffer) log() *Log       { return &b.Log }
func (k *Key) log() *Log          { return &k.Log }
func (s *Server) log() *Log       { return &s.Log }
