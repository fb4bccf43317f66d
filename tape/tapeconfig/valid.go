package tapeconfig

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hemera/words/hemera"

	"hemera/words/tapeapi"
)

// nameMax bounds names of objects, in bytes.
const nameMax = 100

// validName reports whether an object can have the name: letters, digits, and what separates words; for routes "class/1/DEFAULT".
func validName(name string) bool {
	if name == "" || len(name) > nameMax {
		return false
	}
	// ASCII alone: names stand in command lines and keys of the store.
	for _, r := range name {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		if !letter && r != '-' && r != '_' && r != '.' && r != '@' && r != '/' && r != ':' && r != ' ' {
			return false
		}
	}
	// A blank at an end cannot be seen.
	return name[0] != ' ' && name[len(name)-1] != ' '
}

// wrong looks at what a tape would be filled by: a capacity of zero is full from the beginning.
func (m *MediaType) wrong(string) string {
	switch {
	case m.Capacity <= 0:
		return "capacity must be above 0"
	// One byte in MODE SENSE.
	case m.Density < 0 || m.Density > 255:
		return "primaryDensityCode must be 0 to 255"
	case m.Wraps < 0:
		return "numberOfWraps must not be negative"
	// As the barcodes of LTO cartridges have it.
	case m.Suffix != "" && len(m.Suffix) != 2:
		return "barcodeSuffix must have two characters"
	}
	return ""
}

// wrong accepts limits of zero: an organisation may have no drives for a while.
func (o *Organisation) wrong(string) string {
	if o.ReadDrives < 0 || o.WriteDrives < 0 || o.MaxFileSize < 0 {
		return "limits must not be negative"
	}
	return ""
}

// wrong refuses a name that is not the number of a node.
func (s *Server) wrong(name string) string {
	if n, err := strconv.ParseUint(name, 10, 32); err != nil || n == 0 || strconv.FormatUint(n, 10) != name {
		return "a tape server is named by the number of its node, see hemera node ls"
	}
	return ""
}

// wrong refuses what would keep a pool from ever getting a tape.
func (p *Pool) wrong(name string) string {
	if p.PartialTapes < 1 {
		return "numPartialTapes must be at least 1: that many tapes of the pool are written at the same time, at most"
	}
	// Longer circles do no harm: a tape is taken only from the pools that are named, not from theirs.
	if slices.Contains(p.Supplies(), tapeapi.PoolName(name)) {
		return "a pool cannot be its own supply"
	}
	return ""
}

// wrong bounds the copies by what an entry of the namespace can hold.
func (c *Class) wrong(string) string {
	if c.Copies < 1 || c.Copies > hemera.TapeCopiesMax {
		return fmt.Sprintf("nbCopies must be 1 to %d", hemera.TapeCopiesMax)
	}
	return ""
}

// wrong holds the name to what the route says, so that there is one route at most of a type for a copy.
func (r *Route) wrong(name string) string {
	switch {
	case r.Type != RouteDefault && r.Type != RouteRepack:
		return "archiveRouteType must be DEFAULT or REPACK"
	case r.Copy < 1 || r.Copy > hemera.TapeCopiesMax:
		return fmt.Sprintf("copyNumber must be 1 to %d", hemera.TapeCopiesMax)
	case name != r.Name():
		return "the name of this route is " + r.Name()
	}
	return ""
}

// Name returns the name that the route must have: class, number of the copy, and type unless it is DEFAULT.
func (r Route) Name() string {
	name := r.Class + "/" + strconv.FormatInt(r.Copy, 10)
	if r.Type != RouteDefault {
		name += "/" + r.Type
	}
	return name
}

// wrong accepts an age of zero: each request is then worth a mount.
func (p *Policy) wrong(string) string {
	if p.ArchivePriority < 0 || p.RecallPriority < 0 || p.ArchiveMinAge < 0 || p.RecallMinAge < 0 {
		return "priorities and ages must not be negative"
	}
	return ""
}

// wrong compiles the pattern, so that it can be used without a look at errors later.
func (r *Rule) wrong(string) string {
	switch {
	case (r.Requester == "") == (r.Group == ""):
		return "a rule is for a requester or for a group"
	case r.Activity != "" && r.Requester == "":
		return "activityRegex needs a requester"
	}
	if _, err := regexp.Compile(r.Activity); err != nil {
		return "activityRegex: " + err.Error()
	}
	return ""
}

// wrong wants a reason, because somebody else will ask why nothing is mounted.
func (l *Library) wrong(string) string {
	if l.Disabled && l.Reason == "" {
		return "disabledReason is missing"
	}
	return ""
}

// wrong accepts zero: each job is then worth a mount, which suits an emulated library.
func (m *Mounting) wrong(name string) string {
	switch {
	case name != DefaultName:
		return "the one object of this kind is " + DefaultName
	case m.MinBytes < 0 || m.MinFiles < 0 || m.Linger < 0 || m.Batch < 0 || m.Verify < 0:
		return "values must not be negative"
	// A mount takes minutes: with less, drives would do nothing but change tapes.
	case m.Turn < turnMin:
		return fmt.Sprintf("turnSeconds must be at least %d", turnMin)
	}
	if n, err := strconv.ParseInt(m.ReadBack, 10, 64); m.ReadBack != readAlways && m.ReadBack != readNever && (err != nil || n < 1) {
		return "readBack must be always, never, or a number of files from 1"
	}
	return ""
}

// The words of [Mounting.ReadBack].
const readAlways, readNever = "always", "never"

// ReadsBack returns how many of the first files that a session wrote are read back; 0 for none.
func (m Mounting) ReadsBack() int64 {
	switch m.ReadBack {
	case readAlways:
		return math.MaxInt64
	case readNever:
		return 0
	}
	n, _ := strconv.ParseInt(m.ReadBack, 10, 64)
	return n
}

// turnMin is the shortest turn of a tape that is worth its mount.
const turnMin = 60

// wrong refuses bounds that contradict each other: evicting would begin again with each file, or recalls fill what is evicted for.
func (b *Buffer) wrong(string) string {
	switch {
	case b.EvictBelow < 0 || b.EvictUntil > 100 || b.Keep < 0 || b.MinAge < 0:
		return "percentages must be 0 to 100, and ages not negative"
	case b.EvictUntil < b.EvictBelow:
		return "evictUntilPercentFree must not be below evictBelowPercentFree"
	case b.Keep > b.EvictUntil:
		return "recallKeepPercentFree must not be above evictUntilPercentFree: eviction could never make room for recalls"
	}
	return ""
}

// keyNameMax is the number of bytes that a drive keeps beside each block: the key-associated data of LTO.
const keyNameMax = 32

// wrong holds the name to what can be the name of a file, and to what fits on tape beside a block.
func (k *Key) wrong(name string) string {
	if strings.ContainsAny(name, "/: @") || strings.HasPrefix(name, ".") || len(name) > keyNameMax {
		return fmt.Sprintf("the name of a key has 1 to %d letters, digits and -_. and begins with none of the last", keyNameMax)
	}
	return ""
}

// together says what makes no sense of several objects that make sense alone, "" for nothing.
func (c Config) together() string {
	// One organisation at most is charged for repacks.
	repack := ""
	for _, name := range sortedNames(c.Organisations) {
		if c.Organisations[name].Repack {
			if repack != "" {
				return fmt.Sprintf("organisations %s and %s cannot both be for repacking", repack, name)
			}
			repack = name
		}
	}
	of := map[string]string{} // servers by their libraries
	for _, name := range sortedNames(c.Servers) {
		library := c.Servers[name].Library
		if other := of[library]; library != "" && other != "" {
			return fmt.Sprintf("library %s is that of server %s; it is removed first: hemera tape server rm %s", library, other, other)
		}
		of[library] = name
	}
	asked := map[[3]string]string{} // names of rules, by whom they are for
	for _, name := range sortedNames(c.Rules) {
		r := c.Rules[name]
		who := [3]string{r.Requester, r.Group, r.Activity}
		if other, there := asked[who]; there {
			return fmt.Sprintf("rules %s and %s are for the same requests", other, name)
		}
		asked[who] = name
	}
	pools := map[[3]string]string{} // routes, by class, type and pool: two copies of a file on one tape are no two copies
	for _, name := range sortedNames(c.Routes) {
		r := c.Routes[name]
		to := [3]string{r.Class, r.Type, string(r.Pool)}
		if other, there := pools[to]; there {
			return fmt.Sprintf("routes %s and %s lead to the same pool %s", other, name, r.Pool)
		}
		pools[to] = name
	}
	return ""
}
