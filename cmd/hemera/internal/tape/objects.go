package tape

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
	"hemera/words/errs"
)

// The configuration is one JSON document, by kind and name. Its fields are shown with the manager's names and in its
// order, so that a field of a later version shows without a change here. add and set take the same names.

// kind is one kind of object of the configuration.
type kind struct {
	object string // its word in commands and in the protocol
	key    string // the key of its objects in the configuration
	short  string // for the list of commands
	long   string // for its own help
}

// kinds returns all kinds, in the order in which objects refer to each other: a class needs routes, a route a pool, a
// pool an organisation.
func kinds() []kind {
	return []kind{
		{"pool", "tapePools", "Tape pools: sets of tapes that are written one after the other", `A pool belongs to a virtual organisation, whose drives it uses. Empty tapes come from its supply pools.
"numPartialTapes", CTA's name, is a setting and no count: how many tapes of the pool may be written at the
same time, each by a drive of its own. "numTapes" is how many it has.`},
		{"class", "storageClasses", "Storage classes: how many copies there are on tape", "Directories name a class in sys.archive.storage_class. Each copy needs a route to a pool."},
		{"route", "archiveRoutes", "Archive routes: which pool a copy of a class goes to", "A route is named CLASS/COPY, such as raw/2."},
		{"organisation", "virtualOrganizations", "Virtual organisations: users who share drives", "readMaxDrives and writeMaxDrives bound the drives that work for one at the same time."},
		{"policy", "mountPolicies", "Mount policies: priorities, and from which age on few files are worth a mount", "A larger priority goes first."},
		{"rule", "mountRules", "Mount rules: who gets which mount policy", "A rule is for a requester=USER, for a group=GROUP, or for a requester with an activityRegex=REGEX, and names a mountPolicy."},
		{"media", "mediaTypes", "Media types: kinds of cartridges", "The last two characters of a barcode say which one a cartridge is."},
		{"library", "logicalLibraries", "Tape libraries, and taking them out of use", `Libraries are found by themselves. To take one out of use: "hemera tape library set NAME isDisabled=true
disabledReason=TEXT".`},
		{"server", "tapeServers", "Tape servers: nodes that are admitted as such", `A server is named by the number of its node. The server of "hemera up" admits itself. It has the library that it reports first;
"library=NAME" says another one.`},
		{"mounting", "mounting", "When a drive mounts a tape, and for how long", `One object, default:

  minBytesToWarrantAMount   100G   bytes that wait for one mount, or
  minFilesToWarrantAMount   2000   so many files; ages are in "hemera tape policy"
  lingerSeconds             60     that a tape stays mounted without work
  turnSeconds               1800   after which a tape leaves its drive for others that wait
  minFreeToRecall           10GiB  room on disks that a recall session needs to begin, or its queue if that is less
  verifySeconds             1y     after which all files of a tape are read and compared again; 0: never
  readBack                  3      new files that are read back before disk copies go: so many of each session, always, or never`},
		{"buffer", "diskBuffers", "Disk buffers: when files on tape leave the disks of a space, and what recalls leave free", `An object is named as its space; default is for all other spaces.
Percentages are of the capacity of the disks that can be used:

  evictBelowPercentFree     10     disk copies of files on tape go when less is free,
  evictUntilPercentFree     15     until so much is free
  evictMinAge               2h     files that were used less long ago stay
  recallKeepPercentFree     2      recalls wait when less than this would be left`},
	}
}

// objectCommand makes the commands of one kind.
func objectCommand(e *cli.Env, k kind) *cobra.Command {
	l := listing{noun: k.object, keys: []string{"name"}, columns: columnsOf,
		load: func(ctx context.Context, m *admin.Client) ([]output.Record, error) { return loadObjects(ctx, m, k) }}
	ls := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List " + allOf(k.object), Args: cobra.NoArgs, Long: k.short + ". " + k.long,
		Example: "  hemera tape " + k.object + " ls\n  hemera tape " + k.object + " ls -j",
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				records, err := l.load(ctx, m)
				if err != nil {
					return err
				}
				return e.List(columnsOf(records), inForm(e, k.object, records), "there is none")
			})
		},
	}
	c := noun(k.object, k.short, ls, showCommand(e, l), changeCommand(e, k.object, "add"))
	c.Long = k.short + ".\n" + k.long
	known := []*cobra.Command{changeCommand(e, k.object, "set"), changeCommand(e, k.object, "remove")}
	// These objects have a why command, which explains the waiting work.
	if k.object == "library" || k.object == "pool" || k.object == "class" {
		c.AddCommand(whyOf(e, k.object))
	}
	if k.object == "library" {
		known = append(known, libraryStateCommand(e, "up"), libraryStateCommand(e, "down"))
	}
	for _, one := range known {
		one.ValidArgsFunction = completeNames(e, l)
		c.AddCommand(one)
	}
	return c
}

// loadObjects reads the objects of a kind. Pools get the sums of their tapes, and libraries the reports of their servers.
func loadObjects(ctx context.Context, m *admin.Client, k kind) ([]output.Record, error) {
	records, err := objects(ctx, m, k)
	switch {
	case err != nil:
	case k.object == "pool":
		err = addSums(ctx, m, records)
	case k.object == "library":
		records, err = addReported(ctx, m, records)
	}
	return records, err
}

// libraryStateCommand makes `hemera tape library up` or `down`, short forms of set with two keys.
func libraryStateCommand(e *cli.Env, state string) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: state + " <library>", Short: "Put a library " + state, Args: cobra.ExactArgs(1),
		Long:    "Takes a library out of use (down), or into use again (up).",
		Example: "  hemera tape library " + state + " tape",
		RunE: func(c *cobra.Command, args []string) error {
			values := map[string]string{"isDisabled": "false", "disabledReason": ""}
			if state == "down" && reason == "" {
				return cli.Usage(errs.New(errs.Invalid, "hemera.Tape", args[0], "a library that is put down needs a reason").WithRemedy("add --reason TEXT"))
			}
			if state == "down" {
				values = map[string]string{"isDisabled": "true", "disabledReason": reason}
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				err := m.Tape.ChangeTape(ctx, "", adminapi.TapeChange{Object: "library", Verb: "set", Name: args[0], Values: values})
				if err == nil {
					e.Say("library %s is wanted %s", args[0], state)
				}
				return err
			})
		},
	}
	if state == "down" {
		c.Example += ` --reason "the robot is repaired"`
		c.Flags().StringVar(&reason, "reason", "", "why, for those who find it down: a `text`")
	}
	return c
}

// objects reads the objects of a kind, sorted by name. The whole configuration is one small answer.
func objects(ctx context.Context, m *admin.Client, k kind) (out []output.Record, err error) {
	raw, err := m.Tape.TapeConfig(ctx)
	if err != nil {
		return nil, err
	}
	// The answer also has kinds of later versions, which are ignored.
	var config map[string]map[string]json.RawMessage
	if err := json.Unmarshal(raw, &config); err != nil {
		return nil, errs.As(err, errs.Corrupt, "hemera.Tape", "the configuration")
	}
	var names []string
	for name := range config[k.key] {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		r, err := fields(config[k.key][name])
		if err != nil {
			return nil, errs.As(err, errs.Corrupt, "hemera.Tape", k.object+" "+name)
		}
		out = append(out, append(output.Record{{Key: "name", Value: name}}, r...))
	}
	return out, nil
}

// fields reads a flat JSON object and keeps the order of its fields, which a Go map would lose.
func fields(raw []byte) (out output.Record, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // capacities do not fit into a float
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	// No object of the configuration contains another.
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		value, err := d.Token()
		if err != nil {
			return nil, err
		}
		// Sizes and ages are whole numbers.
		if n, ok := value.(json.Number); ok {
			whole, err := n.Int64()
			if err != nil {
				return nil, err
			}
			value = whole
		}
		out = append(out, output.Field{Key: fmt.Sprint(key), Value: value})
	}
	return out, nil
}

// addSums adds the sums of their tapes to the records of pools.
func addSums(ctx context.Context, m *admin.Client, records []output.Record) error {
	p, err := m.Tape.TapePicture(ctx)
	if err != nil {
		return err
	}
	for i, r := range records {
		// A pool that was made a moment ago may be in only one of the answers.
		at := slices.IndexFunc(p.Pools, func(s adminapi.TapePool) bool { return s.Name == r.Get("name") })
		if at < 0 {
			continue
		}
		records[i] = withSums(r, &p.Pools[at])
	}
	return nil
}

// withSums returns the record of a pool with the sums of its tapes.
func withSums(r output.Record, s *adminapi.TapePool) output.Record {
	// The sums come after the name and before the maker, because most readers look for them first.
	sums := output.Record{{Key: "numTapes", Value: s.Tapes}, {Key: "numFullTapes", Value: s.FullTapes}, {Key: "numEmptyTapes", Value: s.Free},
		{Key: "capacityBytes", Value: s.Capacity}, {Key: "dataBytes", Value: s.Used}, {Key: "numPhysicalFiles", Value: s.Files}}
	// The use of a pool without tapes is 0.
	use := int64(0)
	if s.Capacity > 0 {
		use = 100 * s.Used / s.Capacity
	}
	// More of CTA's keys.
	sums = append(sums, output.Field{Key: "availableBytes", Value: max(0, s.Capacity-s.Used)}, output.Field{Key: "usePercent", Value: use},
		output.Field{Key: "encrypt", Value: r.Get("encryptionKeyName") != ""}, output.Field{Key: "instanceName", Value: ""})
	return slices.Concat(r[:1], sums, r[1:])
}

// addReported adds the reports of tape servers about libraries, also about libraries that are not configured.
func addReported(ctx context.Context, m *admin.Client, said []output.Record) (out []output.Record, err error) {
	p, err := m.Tape.TapePicture(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range p.Libraries {
		host := "" // that of its drives
		if at := slices.IndexFunc(p.Drives, func(d adminapi.TapeDrive) bool { return d.Library == l.Name }); at >= 0 {
			host = p.Drives[at].Node.String()
		}
		r := output.Record{{Key: "name", Value: l.Name}, {Key: "host", Value: host}, {Key: "drives", Value: int64(len(l.Drives))},
			{Key: "cartridges", Value: int64(len(l.VIDs))}, {Key: "problem", Value: l.Problem}}
		more := output.Record{{Key: "isDisabled", Value: false}, {Key: "disabledReason", Value: ""}, {Key: "comment", Value: ""}}
		if at := slices.IndexFunc(said, func(s output.Record) bool { return s.Get("name") == l.Name }); at >= 0 {
			more, said = said[at][1:], slices.Delete(said, at, at+1)
		}
		out = append(out, append(r, more...))
	}
	// Libraries that are configured but not reported now.
	for _, s := range said {
		out = append(out, slices.Concat(s[:1], output.Record{{Key: "host", Value: ""}, {Key: "drives", Value: int64(0)},
			{Key: "cartridges", Value: int64(0)}, {Key: "problem", Value: "no tape server reports it"}}, s[1:]))
	}
	return out, nil
}

// columnsOf returns a table with all fields of the records. In a narrow window, the maker and last change of an object
// are left out first.
func columnsOf(records []output.Record) (out []output.Column) {
	if len(records) == 0 {
		return []output.Column{{Title: "name", Key: "name"}}
	}
	// All records of a kind have the same fields; a narrow window leaves out the last ones first.
	for i, f := range records[0] {
		c := output.Column{Title: f.Key, Key: f.Key, Wide: i}
		switch f.Key {
		case "name":
			c.Wide = 0
		case "capacity", "capacityBytes", "dataBytes", "maxFileSize", "minBytesToWarrantAMount", "minFreeToRecall":
			c.Show = output.Bytes
		case "creationTime", "modificationTime", "availableBytes", "encrypt", "instanceName":
			continue
		}
		out = append(out, c)
	}
	return out
}
