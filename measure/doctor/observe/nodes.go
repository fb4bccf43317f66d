package observe

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"hemera/measure/doctor"
	"hemera/measure/host"
	"hemera/measure/result"
)

// atOnce is the number of nodes that are probed at once: few, so that their answers do not collide at this machine's
// link.
const atOnce = 4

// Nodes examines the paths from this machine to nodes, each for Cluster.For: whether they answer, their versions, round
// trips, losses, and clocks. It does not examine their disks: that is the task of hemera doctor on the node. It fails
// only when ctx ends.
func Nodes(ctx context.Context, o Options, addresses []string) (*doctor.Snapshot, error) {
	if o.Progress == nil {
		o.Progress = result.Progress(func(string, int, int, string) {})
	}
	v := &observer{Options: o, s: &doctor.Snapshot{Schema: doctor.Schema, Taken: time.Now().UTC().Truncate(time.Second), Version: o.Version, Machine: host.Describe(o.Root, "local")}}
	v.links()
	v.clock()
	// Speeds and clocks of this machine were not requested.
	v.s.Unseen = nil
	v.total = len(addresses) // steps
	v.s.Nodes = make([]doctor.Cluster, len(addresses))
	// The observer belongs to this goroutine; the others fill one element each.
	for group := range slices.Chunk(indices(len(addresses)), atOnce) {
		var wait sync.WaitGroup
		for _, i := range group {
			v.step("node %s", addresses[i])
			wait.Go(func() {
				c := Cluster{Address: addresses[i], For: o.For}
				v.s.Nodes[i] = *c.probe(ctx)
			})
		}
		wait.Wait()
	}
	// The losses of the cards meanwhile.
	v.linksAgain()
	return v.s, ctx.Err()
}

// indices returns the numbers from 0 to n-1.
func indices(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// versionIn returns the version in an answer of /healthz; "" if there is none, as for strangers.
func versionIn(answer string) string {
	// "ok", then a line for each fact.
	for l := range strings.Lines(answer) {
		if version, ok := strings.CutPrefix(l, "version "); ok {
			return strings.TrimSpace(version)
		}
	}
	return ""
}
