package tier

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"hemera/tape/tapeconfig"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A node is a tape server by an admin's word, which is an object of the
// configuration: its name is the node, and it has the name of its library. A
// server of the manager's own process is admitted with its first report. The
// catalogue names the library of each tape. It learns it from the first library
// that reports the cartridge, and another library gets it by an admin's word.

// admitted refuses a node that no admin has admitted as a tape server: Denied.
func (t *parts) admitted(node hemera.NodeID) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.settings().Servers[node.String()]; ok {
		return nil
	}
	return errs.New(errs.Denied, "tier.Admit", node.String(), "the node is not admitted as a tape server").
		WithRemedy("an admin admits it: hemera tape server add " + node.String())
}

// admit refuses a report of a node that is not admitted, and gives a server that is the library that it reports first.
// own is a server of the manager's own process. What it learns is durable when it returns.
func (t *configurer) admit(ctx context.Context, node hemera.NodeID, own bool, library string) error {
	if err := t.admitted(node); err != nil && !own {
		t.mu.Lock()
		// One for each node of the cluster at most.
		t.asking[node] = library
		t.mu.Unlock()
		return err
	}
	name, now := node.String(), t.settings()
	server, known := now.Servers[name]
	if known && server.Library != "" || library == "" {
		return nil
	}
	if of := serverOf(now, library); of != "" && of != name {
		return nil // it clashes, and people see it
	}
	return t.change(ctx, "server "+name, func(now tapeconfig.Config, used tapeconfig.Usage) (tapeconfig.Config, error) {
		verb := "set"
		if _, there := now.Servers[name]; !there {
			verb = "add"
		}
		c := hemera.TapeChange{Object: string(tapeconfig.KindServer), Verb: verb, Name: name, Values: map[string]string{"library": library}}
		return now.Apply(c, tapeconfig.Author{Name: hemera.SystemIdentity().Name, Time: t.now()}, used)
	})
}

// serverOf is the server that has a library, "" for none.
func serverOf(c tapeconfig.Config, library string) string {
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		if c.Servers[name].Library == library {
			return name
		}
	}
	return ""
}

// belongs returns what a library reports without the cartridges that the catalogue has in another one, and those with its
// name. Tapes of which the catalogue does not know the library are in this one from now on.
func (t *configurer) belongs(ctx context.Context, node hemera.NodeID, state hemera.TapeLibrary) (hemera.TapeLibrary, map[string]string, error) {
	all, err := t.catalogue.Tapes(ctx)
	if err != nil {
		return state, nil, err
	}
	foreign := map[string]string{}
	state.VIDs = maps.Clone(state.VIDs)
	rightful := serverOf(t.settings(), state.Name) == node.String()
	for _, tape := range all {
		_, inside := state.VIDs[tape.VID]
		switch {
		case !inside || tape.Library == state.Name:
		case tape.Library != "":
			foreign[tape.VID] = tape.Library
			delete(state.VIDs, tape.VID)
		case rightful && t.elsewhere(node, tape.VID) == "":
			err := t.catalogue.ChangeTape(ctx, tape.VID, func(old *hemera.Tape) (*hemera.Tape, error) {
				if old == nil || old.Library != "" {
					return old, nil
				}
				now := *old
				now.Library = state.Name
				return &now, nil
			})
			if err != nil {
				return state, nil, err
			}
		}
	}
	return state, foreign, nil
}

// elsewhere is another library that reports a cartridge, "" for none.
func (t *parts) elsewhere(node hemera.NodeID, vid string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for of, l := range t.libraries {
		if of != node && t.online(l) && l.has(vid) {
			return l.state.Name
		}
	}
	return ""
}

// Report takes what a tape server says of its library. own is a server of the manager's own process. Denied for a node that is not admitted. The
// caller has checked its lease.
func (t *configurer) Report(ctx context.Context, node hemera.NodeID, own bool, state hemera.TapeLibrary) error {
	if err := t.admit(ctx, node, own, state.Name); err != nil {
		return err
	}
	state, foreign, err := t.belongs(ctx, node, state)
	if err != nil {
		return err
	}
	t.ReportLibrary(node, state)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.asking, node)
	if l := t.libraries[node]; l != nil {
		l.foreign = foreign
	}
	return nil
}

// unadmitted are nodes that want to be tape servers, and cartridges in libraries that do not have them, for people. The lock is held.
func (t *reporter) unadmitted() (out []hemera.TapeAttention) {
	for node, library := range t.asking {
		if t.View != nil {
			if _, member := t.View().Node(node); !member {
				continue
			}
		}
		if _, ok := t.settings().Servers[node.String()]; !ok {
			out = append(out, hemera.TapeAttention{Subject: "node " + node.String(), What: fmt.Sprintf("wants to be the tape server of library %s, and is not admitted", library),
				Command: "hemera tape server add " + node.String()})
		}
	}
	for _, l := range t.libraries {
		for vid, of := range l.foreign {
			out = append(out, hemera.TapeAttention{Subject: "cartridge " + vid, What: fmt.Sprintf("is in library %s, and the catalogue has it in %s", l.state.Name, of),
				Command: "hemera tape tape set " + vid + " logicalLibrary=" + l.state.Name})
		}
	}
	return out
}
