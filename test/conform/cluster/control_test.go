package cluster

import (
	"testing"

	"hemera/test/conform/service"
)

// TestControlSuite runs the suite through the rpc client and server, as a node that joined.
func TestControlSuite(t *testing.T) {
	service.Control(t, func(t *testing.T) service.ControlOptions {
		r := startManager(t).rogue()
		return service.ControlOptions{Control: r.Client, Node: r.credentials.Node(), Context: (*testing.T).Context}
	})
}
