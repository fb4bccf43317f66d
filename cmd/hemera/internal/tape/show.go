package tape

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/errs"
	"hemera/words/tapeapi"
)

// One command shows one object of any noun: all fields of the record that ls has in -j. For drives, tapes and queues it
// also answers the next questions of an admin: why it waits, how its last sessions went, and which command helps.

// listing is the common part of ls and show of a noun.
type listing struct {
	noun    string                                                        // as users type it
	keys    []string                                                      // keys that name an object in its record; the first that is not empty counts
	columns func([]output.Record) []output.Column                         // columns of the table of ls
	load    func(context.Context, *admin.Client) ([]output.Record, error) // reads all objects
	page    bool                                                          // people get reasons and sessions too
	also    func(name string, session tapeapi.Session) (isOfIt bool)      // whether a session is one of the object; nil if the noun has no sessions
}

// is reports whether a record is of the object that users call name.
func (l listing) is(r output.Record, name string) bool {
	for _, key := range l.keys {
		// A queue to write to has no VID, and is known by its pool.
		if v := r.Get(key); v != "" {
			return v == name
		}
	}
	return false
}

// showCommand makes show of a noun.
func showCommand(e *cli.Env, l listing) *cobra.Command {
	c := &cobra.Command{
		Use: "show <name>", Short: "Show one " + firstOf(l.noun) + " with all its fields", Args: cobra.ExactArgs(1),
		Long:    "Shows all fields of one object, a line each; -j has them with the keys of ls.",
		Example: "  hemera tape " + l.noun + " show NAME\n  hemera tape " + l.noun + " show NAME -j",
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error { return show(ctx, e, m, l, args[0]) })
		},
		ValidArgsFunction: completeNames(e, l),
	}
	if l.page {
		c.Long += "\nPeople also read what it waits for, how its last sessions went, and the command to type if something is wrong."
	}
	return c
}

// show prints the objects of a name: a name may have several queues, one for each kind of work.
func show(ctx context.Context, e *cli.Env, m *admin.Client, l listing, name string) error {
	// show reads the list of ls, so that the two cannot differ.
	all, err := l.load(ctx, m)
	if err != nil {
		return err
	}
	records := slices.DeleteFunc(all, func(r output.Record) bool { return !l.is(r, name) })
	if len(records) == 0 {
		return errs.New(errs.NotFound, "hemera.TapeShow", name, "there is no such "+firstOf(l.noun)).
			WithRemedy("hemera tape " + l.noun + " ls shows those there are")
	}
	// Programs get one answer, however many records there are.
	if e.ForPrograms() {
		return e.Printer().List(nil, inForm(e, l.noun, records))
	}
	for i, r := range records {
		if i > 0 {
			fmt.Fprintln(e.Out)
		}
		if err := e.Printer().One(fieldsOf(l.columns(records), r), r); err != nil {
			return err
		}
	}
	if !l.page {
		return nil
	}
	return showMore(ctx, e, m, l, name)
}

// fieldsOf returns a column for each field of a record, with the units of the table.
func fieldsOf(table []output.Column, r output.Record) (out []output.Column) {
	for _, f := range r {
		c := output.Column{Title: f.Key, Key: f.Key, Show: unitOf(f)}
		// The units of the table come first, because ages and times look alike.
		if i := slices.IndexFunc(table, func(t output.Column) bool { return t.Key == f.Key }); i >= 0 && table[i].Show != nil {
			c.Show = table[i].Show
		}
		out = append(out, c)
	}
	return out
}

// unitOf chooses by its name the form in which people read a field that is not in the table; nil if its value needs no
// conversion.
func unitOf(f output.Field) func(any) string {
	_, nested := f.Value.([]output.Record)
	_, number := f.Value.(int64)
	switch key := f.Key; {
	case nested:
		return func(v any) string {
			var parts []string
			for _, r := range v.([]output.Record) {
				parts = append(parts, fmt.Sprintf("%v=%v", r.Get("key"), r.Get("value")))
			}
			return strings.Join(parts, " ")
		}
	case !number:
	case key == "sessionElapsedTime" || strings.HasSuffix(key, "Age"):
		return output.Seconds
	case strings.HasSuffix(key, "Time"):
		return output.Time
	case strings.HasSuffix(key, "Bytes"):
		return output.Bytes
	}
	return nil
}

// sessionsShown is the number of sessions on a page, about those of a drive's day.
const sessionsShown = 5

// showMore prints the reasons why an object waits, its last sessions, and problems that need a person.
func showMore(ctx context.Context, e *cli.Env, m *admin.Client, l listing, name string) error {
	// The manager explains by the rules that decide; nothing is computed here.
	why, err := m.Tape.ExplainTape(ctx, name)
	if err != nil {
		return err
	}
	p, err := m.Tape.TapePicture(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(e.Out)
	for _, line := range why {
		fmt.Fprintln(e.Out, e.Visible(line))
	}
	for _, a := range p.Attention {
		if strings.HasSuffix(a.Subject, " "+name) { // "drive tape-d1", "tape V00001"
			fmt.Fprintln(e.Out, e.Visible("needs you: "+a.What+": "+a.Command))
		}
	}
	// Newest first, as the manager keeps them.
	var records []output.Record
	for _, s := range p.Sessions {
		if l.also != nil && l.also(name, s) && len(records) < sessionsShown {
			records = append(records, sessionRecord(s))
		}
	}
	if len(records) == 0 {
		return nil
	}
	fmt.Fprintln(e.Out)
	sessions := e.Printer()
	sessions.Choice = nil // it selects fields of the record above
	return sessions.List(sessionColumns(), records)
}

// completeNames completes names of objects.
func completeNames(e *cli.Env, l listing) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) (found []string, d cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		// If the manager does not answer, the completion offers nothing.
		_ = e.Ask(c, func(ctx context.Context, m *admin.Client) error {
			records, err := l.load(ctx, m)
			for _, r := range records {
				for _, key := range l.keys {
					if v, ok := r.Get(key).(string); ok && v != "" {
						found = append(found, v)
						break
					}
				}
			}
			return err
		})
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// fixed makes columns that do not depend on the records.
func fixed(columns []output.Column) func([]output.Record) []output.Column {
	return func([]output.Record) []output.Column { return columns }
}

// firstOf returns the words for one object of a noun. Some nouns are short forms.
func firstOf(noun string) string {
	switch noun {
	case "class":
		return "storage class"
	case "route":
		return "archive route"
	case "organisation":
		return "virtual organisation"
	case "policy", "rule":
		return "mount " + noun
	case "media":
		return "media type"
	case "mounting":
		return "set of mount settings"
	case "buffer":
		return "set of disk buffer settings"
	case "key":
		return "encryption key"
	}
	return noun
}

// allOf returns the words for all objects of a noun.
func allOf(noun string) string {
	switch noun {
	case "mounting", "buffer":
		return strings.TrimPrefix(firstOf(noun), "set of ")
	case "policy":
		return "mount policies"
	case "library":
		return "libraries"
	case "class":
		return "storage classes"
	}
	return firstOf(noun) + "s"
}

// article returns the words for one object of a noun with the indefinite article.
func article(noun string) string {
	words := firstOf(noun)
	if settings, is := strings.CutPrefix(words, "set of "); is {
		return settings
	}
	if strings.ContainsAny(words[:1], "aeiou") {
		return "an " + words
	}
	return "a " + words
}
