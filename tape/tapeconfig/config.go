package tapeconfig

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// Config is the configuration, by kind and name. Its JSON is what admins see. Callers do not change the maps: [Config.Apply] and
// [Config.Put] make new ones.
type Config struct {
	Media         map[string]MediaType    `json:"mediaTypes"`
	Organisations map[string]Organisation `json:"virtualOrganizations"`
	Pools         map[string]Pool         `json:"tapePools"`
	Classes       map[string]Class        `json:"storageClasses"`
	Routes        map[string]Route        `json:"archiveRoutes"`
	Policies      map[string]Policy       `json:"mountPolicies"`
	Rules         map[string]Rule         `json:"mountRules"`
	Libraries     map[string]Library      `json:"logicalLibraries"`
	Mounting      map[string]Mounting     `json:"mounting"`
	Buffers       map[string]Buffer       `json:"diskBuffers"`
	Keys          map[string]Key          `json:"encryptionKeys"`
	Servers       map[string]Server       `json:"tapeServers,omitempty"`
	// DrivesDown are the drives that admins do not want to work, with the reason.
	DrivesDown map[string]string `json:"drivesDown,omitempty"`
	// DriveComments are the notes of admins on drives.
	DriveComments map[string]string `json:"driveComments,omitempty"`
}

// clone copies the maps, also those that are nil.
func (c Config) clone() Config {
	return Config{
		cloned(c.Media), cloned(c.Organisations), cloned(c.Pools), cloned(c.Classes), cloned(c.Routes), cloned(c.Policies),
		cloned(c.Rules), cloned(c.Libraries), cloned(c.Mounting), cloned(c.Buffers), cloned(c.Keys), cloned(c.Servers), cloned(c.DrivesDown),
		cloned(c.DriveComments),
	}
}

// cloned copies a map and leaves room for one more object.
func cloned[T any](m map[string]T) map[string]T {
	c := make(map[string]T, len(m)+1)
	maps.Copy(c, m)
	return c
}

// table returns the objects of a kind, nil for an unknown one.
func (c Config) table(kind Kind) collection {
	// The table is the map of c itself: what is set in it is set in c.
	switch kind {
	case KindMedia:
		return table[MediaType, *MediaType](c.Media)
	case KindOrganisation:
		return table[Organisation, *Organisation](c.Organisations)
	case KindPool:
		return table[Pool, *Pool](c.Pools)
	case KindClass:
		return table[Class, *Class](c.Classes)
	case KindRoute:
		return table[Route, *Route](c.Routes)
	case KindPolicy:
		return table[Policy, *Policy](c.Policies)
	case KindRule:
		return table[Rule, *Rule](c.Rules)
	case KindLibrary:
		return table[Library, *Library](c.Libraries)
	case KindMounting:
		return table[Mounting, *Mounting](c.Mounting)
	case KindBuffer:
		return table[Buffer, *Buffer](c.Buffers)
	case KindKey:
		return table[Key, *Key](c.Keys)
	case KindServer:
		return table[Server, *Server](c.Servers)
	}
	return nil
}

// Stored is one object as it is stored.
type Stored struct {
	Ref
	JSON []byte
}

// Objects lists all objects in the order of [Kinds] and names.
func (c Config) Objects() (list []Stored) {
	// In this order they can be added one by one: each refers to earlier ones.
	for _, kind := range Kinds() {
		t := c.table(kind)
		for _, name := range t.names() {
			list = append(list, Stored{Ref{kind, name}, t.encode(name)})
		}
	}
	return list
}

// Object returns one object as it is stored, false if it is not there.
func (c Config) Object(ref Ref) (Stored, bool) {
	t := c.table(ref.Kind)
	if t == nil || t.object(ref.Name) == nil {
		return Stored{}, false
	}
	return Stored{ref, t.encode(ref.Name)}, true
}

// Put returns a configuration with an object as it was stored, without a look at what it refers to: all of it is read first, and checked by
// [Config.Check] then. Keys of later versions are ignored. Invalid if the kind is unknown or the JSON cannot be read.
func (c Config) Put(s Stored) (Config, error) {
	// Readers of c see no change.
	next := c.clone()
	t := next.table(s.Kind)
	if t == nil {
		return c, invalid("tapeconfig.Put", s.Ref, "there is no such kind of object")
	}
	// What it refers to may be put later.
	if err := t.decode(s.Name, s.JSON); err != nil {
		return c, errs.As(err, errs.Invalid, "tapeconfig.Put", s.Ref.String())
	}
	return next, nil
}

// Check returns the first thing that makes no sense, nil if all does.
func (c Config) Check() error {
	// Objects alone first: a sentence about one is easier to act on.
	for _, kind := range Kinds() {
		t := c.table(kind)
		for _, name := range t.names() {
			if err := c.check(Ref{kind, name}, t.object(name)); err != nil {
				return err
			}
		}
	}
	if text := c.together(); text != "" {
		return errs.New(errs.Invalid, "tapeconfig.Check", "", text)
	}
	return nil
}

// check checks one object and what it refers to.
func (c Config) check(ref Ref, o object) error {
	if !validName(ref.Name) {
		return invalid("tapeconfig.Check", ref, fmt.Sprintf("a name has 1 to %d letters, digits and -_.@/: or blanks within", nameMax))
	}
	if text := o.wrong(ref.Name); text != "" {
		return invalid("tapeconfig.Check", ref, text).
			WithRemedy(fmt.Sprintf("repeat the command with another value; hemera tape %s ls -j shows those of others", ref.Kind))
	}
	// What it refers to must be there, whatever state that is in.
	for _, r := range o.refs() {
		if c.table(r.Kind).object(r.Name) == nil {
			return errs.New(errs.Invalid, "tapeconfig.Check", ref.String(), fmt.Sprintf("there is no %s", r)).
				WithRemedy(fmt.Sprintf("add it first: hemera tape %s add %s; hemera tape %s add --help has the values that it takes", r.Kind, r.Name, r.Kind))
		}
	}
	return nil
}

// Users lists the objects that refer to one, in the order of [Kinds] and names.
func (c Config) Users(ref Ref) (users []Ref) {
	// Some hundred objects at most: no index is worth its upkeep.
	for _, kind := range Kinds() {
		t := c.table(kind)
		for _, name := range t.names() {
			if slices.Contains(t.object(name).refs(), ref) {
				users = append(users, Ref{kind, name})
			}
		}
	}
	return users
}

// MountCriteria returns when drives mount tapes; that of [Defaults] where nobody has said anything.
func (c Config) MountCriteria() Mounting {
	if m, there := c.Mounting[DefaultName]; there {
		return m
	}
	return Defaults().Mounting[DefaultName]
}

// BufferOf returns what the disks of a space keep for tape.
func (c Config) BufferOf(space hemera.SpaceName) Buffer {
	for _, name := range []string{string(space), DefaultName} {
		if b, there := c.Buffers[name]; there {
			return b
		}
	}
	return Defaults().Buffers[DefaultName]
}

// invalid returns an error about an object.
func invalid(op string, ref Ref, text string) *errs.Error {
	return errs.New(errs.Invalid, op, ref.String(), text)
}

// sortedNames returns the keys of a map in order.
func sortedNames[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// collection is the objects of one kind.
type collection interface {
	// names are sorted.
	names() []string
	// object returns a copy, nil if it is not there.
	object(name string) object
	// set stores an object that object or blank has returned.
	set(name string, o object)
	// blank returns an object with nothing in it, which is in no table.
	blank() object
	remove(name string)
	// encode returns the JSON of an object that is there.
	encode(name string) []byte
	// decode stores an object from its JSON, and nothing if it cannot be read.
	decode(name string, data []byte) error
}

// pointer is the methods of objects, which change them and so need an address.
type pointer[T any] interface {
	*T
	object
}

// table is a map of objects as a collection.
type table[T any, P pointer[T]] map[string]T

// names returns the names in order, so that messages and lists are the same each time.
func (t table[T, P]) names() []string    { return sortedNames(t) }
func (t table[T, P]) remove(name string) { delete(t, name) }
func (t table[T, P]) blank() object      { return P(new(T)) }

// set copies the object: the caller may change its own afterwards.
func (t table[T, P]) set(name string, o object) { t[name] = *o.(P) }

// object returns the address of a copy: changes reach the table by set only.
func (t table[T, P]) object(name string) object {
	o, there := t[name]
	if !there {
		return nil
	}
	return P(&o)
}

// encode returns the JSON of one object.
func (t table[T, P]) encode(name string) []byte {
	data, _ := json.Marshal(t[name]) // texts, numbers and times of years that JSON knows: it cannot fail
	return data
}

// decode ignores keys that it does not know: a later version may have written them.
func (t table[T, P]) decode(name string, data []byte) error {
	var o T
	if err := json.Unmarshal(data, &o); err != nil {
		return err
	}
	t[name] = o
	return nil
}
