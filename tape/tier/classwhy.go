package tier

import (
	"fmt"

	"hemera/tape/tapeconfig"
	"hemera/words/adminapi"
	"hemera/words/tapeapi"
)

// explainClass says where the copies of a storage class go, what keeps its
// files from tape, and what waits on the way; nothing of a name that no class
// has. Queues are of pools, so what waits may be of other classes too.
func explainClass(config tapeconfig.Config, name string, held []adminapi.TapeHeld, queues []adminapi.TapeQueue) (out []string) {
	class, there := config.Classes[name]
	if !there {
		return nil
	}
	out = append(out, fmt.Sprintf("class %s has %s", name, count(class.Copies, "copy on tape", "copies on tape")))
	if why, command := keeps(config, name, false); why != "" {
		out = append(out, "no file of it goes to tape: "+why+" ("+command+")")
	}
	for _, h := range held {
		if h.Class == name {
			out = append(out, fmt.Sprintf("%s not queued: %s (%s)", count(h.Files, "file is", "files are"), h.Why, h.Command))
		}
	}
	// An error is the line above: a class with a route missing goes nowhere.
	routes, _ := config.Resolve(name, false)
	for _, to := range routes {
		out = append(out, fmt.Sprintf("route %s/%d: copy %d goes to pool %s", name, to.Copy, to.Copy, to.Pool))
		waits := false
		for _, q := range queues {
			if q.Kind == tapeapi.Archive && tapeapi.PoolName(q.Name) == to.Pool {
				out = append(out, fmt.Sprintf("%s of %s waits for pool %s: %s", q.Kind, count(q.Files, "file", "files"), to.Pool, q.Why))
				waits = true
			}
		}
		if !waits {
			out = append(out, "nothing waits for pool "+string(to.Pool))
		}
	}
	return out
}
