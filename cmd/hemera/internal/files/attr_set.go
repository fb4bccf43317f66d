package files

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/rules/lifecycle"
	"hemera/rules/policy"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// attrSetCommand makes `hemera attr set`. It stops at the first error; earlier changes stay. The manager checks the
// values of sys.* attributes.
func attrSetCommand(e *cli.Env) *cobra.Command {
	var recursive, create bool
	c := &cobra.Command{
		Use: "set <name>=<value> <path>", Short: "Set one attribute", Args: cobra.ExactArgs(2),
		Long: `Sets one attribute. A value in double quotes is read as Go reads it ("\n" is a line end).`,
		Example: `  hemera attr set sys.forced.layout=replica /exp
  hemera attr set sys.forced.nstripes=3 /exp
  hemera attr set -r user.campaign=2026 /exp/run1`,
		RunE: func(c *cobra.Command, args []string) error {
			name, value, err := parseAttribute(args[0])
			if err != nil {
				return err
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				err := tree(ctx, e, m, args[1], recursive, func(path string) error {
					return m.Attributes.SetXattr(ctx, hemera.Identity{}, path, name, value, create) // create: fail with Exists if it is set
				})
				// A policy may be valid but impossible here, for example with more copies than disks.
				if err == nil && strings.Contains(name, ".forced.") {
					warnOfPolicy(ctx, e, m, args[1], assumed{name, string(value)})
					if survivesNothing(name, string(value)) {
						fmt.Fprintf(e.Err, "hemera: warning: new files in %s do not survive the loss of a disk: layout %s has no copies and no parity\n",
							e.Visible(args[1]), e.Visible(string(value)))
					}
				}
				// A rule may be set in two steps, and applies when both parts are there.
				if err == nil && lifecycle.IsAttribute(name) {
					warnOfRules(ctx, e, m, args[1])
				}
				return e.Done(err)
			})
		},
	}
	c.Flags().BoolVarP(&recursive, "recursive", "r", false, "everything below too") // files as well as directories
	c.Flags().BoolVarP(&create, "create", "c", false, "fail if it is set already")  // as setfattr and setxattr(2) have it
	c.ValidArgsFunction = func(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		// The first word is an attribute, the second a path.
		if len(args) == 0 {
			return knownAttributes, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
		}
		return complete.Paths(e)(c, args, word)
	}
	return c
}

// knownAttributes has the names that completion offers. The user continues words that end in =.
var knownAttributes = []cobra.Completion{
	"sys.forced.space=", "sys.forced.layout=plain", "sys.forced.layout=replica", "sys.forced.layout=rs:4+2", "sys.forced.nstripes=", "sys.forced.blocksize=", "sys.forced.checksum=", "sys.forced.nouserlayout=1", "sys.forced.mode=",
	"sys.lifecycle.expire=", "sys.lifecycle.convert=", "sys.recycle=", "sys.versioning=", "user.versioning=", "user.",
}

// warnOfPolicy prints a warning if no file could be written to the directory with its attributes. It ignores errors of
// its own questions.
func warnOfPolicy(ctx context.Context, e *cli.Env, m *admin.Client, arg string, set assumed) {
	path, err := e.OnManager(arg)
	if err != nil {
		return
	}
	x, err := m.Status.Why(ctx, hemera.Identity{}, adminapi.WhyFile, path)
	if err != nil {
		return // the attribute is set in any case
	}
	for _, r := range x.Reasons {
		if r.About == adminapi.AboutNewFiles && r.Remedy != "" { // other reasons are about files that exist
			fmt.Fprintf(e.Err, "hemera: warning: new files in %s %s\n  what to do: %s\n", e.Visible(path), e.Visible(r.Text), e.Visible(r.Remedy))
			// Without the attributes the warning itself is still right.
			if in, err := attributesInForce(ctx, m, path); err == nil {
				if note := set.note(in.attrs, path); note != "" {
					fmt.Fprintln(e.Err, "  note: "+e.Visible(note))
				}
			}
			return
		}
	}
}

// survivesNothing reports whether the attribute is a layout whose files do not survive the loss of a disk.
func survivesNothing(name, value string) bool {
	l, err := policy.Named(value, 0, hemera.Plain())
	return strings.HasSuffix(name, ".forced.layout") && err == nil && l.Losses() == 0
}

// assumed is an attribute that was just set, whose number of pieces may be assumed.
type assumed struct{ name, value string }

// note returns a text about an assumed number of pieces and how to set it; "" if it was given. EOS's scripts set
// sys.forced.layout first and sys.forced.nstripes after it, so a warning in between would be about an intermediate state.
func (a assumed) note(attrs policy.Attributes, dir string) string {
	// sys.forced or user.forced: the number belongs beside the layout.
	tree, ok := strings.CutSuffix(a.name, ".layout")
	l, err := policy.Named(a.value, 0, hemera.Plain())
	given := len(attrs.Sys[policy.AttrStripes])+len(attrs.User["user.forced.nstripes"]) > 0
	// Layouts such as rs:4+2 have their numbers in the name, and plain has one piece.
	if !ok || err != nil || given || strings.ContainsAny(a.value, ":+") || l.Pieces < 2 {
		return ""
	}
	return fmt.Sprintf("%s.nstripes is not set: %s without it stands for %d pieces, or for as many as files of the space have if they are of this kind; to set the number: hemera attr set %s.nstripes=N %s",
		tree, a.value, l.Pieces, tree, dir)
}

// warnOfRules prints a warning for each incomplete part of the lifecycle rules in force in the directory: EOS's
// sys.lru.convert.match without its sys.conversion. It ignores errors of its own question.
func warnOfRules(ctx context.Context, e *cli.Env, m *admin.Client, arg string) {
	path, err := e.OnManager(arg)
	if err != nil {
		return
	}
	in, err := attributesInForce(ctx, m, path)
	if err != nil {
		return
	}
	expire, convert := lifecycle.Of(in.attrs.Sys).Statements()
	for _, part := range append(expire.Ignored, convert.Ignored...) {
		fmt.Fprintf(e.Err, "hemera: warning: not followed: %s\n  what to do: set what is missing; hemera attr ls --effective %s shows the rules in force\n", e.Visible(part), e.Visible(path))
	}
}

// parseAttribute parses name=value. EOS's scripts quote values, so quotes around a value are removed. It fails with
// Invalid, as an error of the command line, for a name outside user. and sys.
func parseAttribute(s string) (string, []byte, error) {
	name, value, ok := strings.Cut(s, "=") // the first =: values may contain one
	if !ok || name == "" {
		return "", nil, cli.Usage(errs.New(errs.Invalid, "hemera.ReadAttribute", s, "want name=value"))
	}
	if !strings.HasPrefix(name, "user.") && !strings.HasPrefix(name, "sys.") {
		return "", nil, cli.Usage(errs.New(errs.Invalid, "hemera.ReadAttribute", s, "a name begins with user. or sys.").
			WithRemedy("write user." + s + "; other XRootD clients see it as " + name))
	}
	// A shell has removed its own quotes already.
	if len(value) > 1 && value[0] == '"' {
		unquoted, err := strconv.Unquote(value)
		if err != nil {
			return "", nil, cli.Usage(errs.New(errs.Invalid, "hemera.ReadAttribute", s, "the quotes do not match"))
		}
		value = unquoted
	}
	return name, []byte(value), nil
}
