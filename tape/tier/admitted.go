package tier

import (
	"context"
	"maps"

	"hemera/tape/tapeconfig"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// A node is a tape server by an admin's word, which is an object of the
// configuration: its name is the node, and it has the name of its library. A
// server of the manager's own process is admitted with its first report. The
// catalogue names the library of each tape. It learns it from the first library
// that reports the cartridge, and another library gets it by an admin's word.

// servers are the nodes that are tape servers.
type servers struct {
	env        *env
	settings   *settings
	libraries  *libraries
	mounts     *mounts
	configurer *configurer
}

// admitted refuses a node that no admin has admitted as a tape server: Denied.
func (t *servers) admitted(node hemera.NodeID) error {
	if _, ok := t.settings.now().Config.Servers[node.String()]; ok {
		return nil
	}
	return errs.New(errs.Denied, "tier.Admit", node.String(), "the node is not admitted as a tape server").
		WithRemedy("an admin admits it: hemera tape server add " + node.String())
}

// admit refuses a report of a node that is not admitted, and gives a server that is the library that it reports first.
// own is a server of the manager's own process. What it learns is durable when it returns.
func (t *servers) admit(ctx context.Context, node hemera.NodeID, own bool, library string) error {
	if err := t.admitted(node); err != nil && !own {
		t.libraries.ask(node, library)
		return err
	}
	name, now := node.String(), t.settings.now().Config
	server, known := now.Servers[name]
	if known && server.Library != "" || library == "" {
		return nil
	}
	if of := serverOf(now, library); of != "" && of != name {
		return nil // it clashes, and people see it
	}
	return t.configurer.change(ctx, "server "+name, func(now tapeconfig.Config, used tapeconfig.Usage) (tapeconfig.Config, error) {
		verb := "set"
		if _, there := now.Servers[name]; !there {
			verb = "add"
		}
		c := adminapi.TapeChange{Object: string(tapeconfig.KindServer), Verb: verb, Name: name, Values: map[string]string{"library": library}}
		return now.Apply(c, tapeconfig.Author{Name: hemera.SystemIdentity().Name, Time: t.env.now()}, used)
	})
}

// belongs returns what a library reports without the cartridges that the catalogue has in another one, and those with its
// name. A tape without a library in the catalogue is in this one from now on.
func (t *servers) belongs(ctx context.Context, node hemera.NodeID, state tapeapi.Library) (tapeapi.Library, map[hemera.VID]string, error) {
	all, err := t.env.catalogue.Tapes(ctx)
	if err != nil {
		return state, nil, err
	}
	foreign := map[hemera.VID]string{}
	state.VIDs = maps.Clone(state.VIDs)
	rightful := serverOf(t.settings.now().Config, state.Name) == node.String()
	for _, tape := range all {
		_, inside := state.VIDs[tape.VID]
		switch {
		case !inside || tape.Library == state.Name:
		case tape.Library != "":
			foreign[tape.VID] = tape.Library
			delete(state.VIDs, tape.VID)
		case rightful && t.libraries.now().elsewhere(node, tape.VID) == "":
			err := t.env.catalogue.ChangeTape(ctx, tape.VID, func(old *tapeapi.Tape) (*tapeapi.Tape, error) {
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

// Report takes what a tape server says of its library. own is a server of the manager's own process. Denied for a node that is not admitted. The
// caller has checked its lease.
func (t *servers) Report(ctx context.Context, node hemera.NodeID, own bool, state tapeapi.Library) error {
	if err := t.admit(ctx, node, own, state.Name); err != nil {
		return err
	}
	state, foreign, err := t.belongs(ctx, node, state)
	if err != nil {
		return err
	}
	t.ReportLibrary(node, state)
	t.libraries.admitted(node, foreign)
	return nil
}

// ReportLibrary takes what a tape server says. The caller has checked its
// lease.
func (t *servers) ReportLibrary(node hemera.NodeID, state tapeapi.Library) {
	t.mounts.forget(t.libraries.report(node, state, t.settings.now().Config))
	t.mounts.reported(node, state.Drives)
}
