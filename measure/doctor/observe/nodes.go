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

// atOnce is how many nodes are asked at a time: few, so that their answers do not meet at the link of this machine.
const atOnce = 4

// Nodes examines the ways from this machine to nodes, each for the time: whether they answer, in which version, how far away they are, what is lost, and
// their clocks. It sees nothing of their disks: that is for hemera doctor on the node. Nodes fails only when ctx ends.
func Nodes(ctx context.Context, o Options, addresses []string) (*doctor.Snapshot, error) {
	if o.Progress == nil {
		o.Progress = result.Progress(func(string, int, int, string) {})
	}
	v := &observer{Options: o, s: &doctor.Snapshot{Schema: doctor.Schema, Taken: time.Now().UTC().Truncate(time.Second), Version: o.Version, Machine: host.Describe(o.Root, "local")}}
	v.links()
	v.clock()
	// Speeds and clocks of this machine are not what was asked for.
	v.s.Unseen = nil
	v.total = len(addresses) // steps
	v.s.Nodes = make([]doctor.Cluster, len(addresses))
	// The observer is this goroutine's; the others fill one element each.
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
	// What the cards lost meanwhile belongs to the picture.
	v.linksAgain()
	return v.s, ctx.Err()
}

// indices are the numbers from 0 to n-1.
func indices(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// versionIn finds the version in an answer of /healthz; "" if the server told none, as it does to strangers.
func versionIn(answer string) string {
	// "ok", then a line for each fact.
	for l := range strings.Lines(answer) {
		if version, ok := strings.CutPrefix(l, "version "); ok {
			return strings.TrimSpace(version)
		}
	}
	return ""
}
