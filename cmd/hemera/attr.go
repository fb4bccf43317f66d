package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/cmd/hemera/internal/output"
	"hemera/doors/admin"
	"hemera/errs"
)

func attrCommand(e *env) *cobra.Command {
	c := noun("attr", "Extended attributes: list, set, get, remove",
		attrLsCommand(e), attrSetCommand(e), attrGetCommand(e), attrRmCommand(e))
	c.Long = `Attributes are texts with a name that an entry carries. Names that begin with user. are yours.
Names that begin with sys. say how a directory treats the files that are made in it, and in all
directories below; the nearest directory wins:

  sys.forced.space         the space that new files go to
  sys.forced.layout        plain, replica or replica:3
  sys.forced.nstripes      the number of copies, 1 to 16
  sys.forced.checksum      adler32, crc32c, crc64nvme, md5, sha256, xxh3, blake3, crc32, zcrc32
  sys.forced.mode          the permission bits of new files and directories, octal
  sys.forced.nouserlayout  1: clients cannot choose space, layout, copies and checksum in URLs

Files that exist keep what they have.`
	c.Example = `  hemera attr set sys.forced.nstripes=3 /exp      new files below /exp get three copies
  hemera attr ls --effective /exp/run1            what new files there get, and why
  hemera attr set user.campaign=2026 /exp/run1    a note of your own`
	return c
}

// knownAttributes are offered by completion.
var knownAttributes = []cobra.Completion{
	"sys.forced.space=", "sys.forced.layout=plain", "sys.forced.layout=replica", "sys.forced.nstripes=", "sys.forced.checksum=", "sys.forced.nouserlayout=1", "user.",
}

func attrLsCommand(e *env) *cobra.Command {
	var effective bool
	c := &cobra.Command{
		Use: "ls <path>", Short: "List attributes", Args: cobra.ExactArgs(1), ValidArgsFunction: completePaths(e),
		Long: `Lists the attributes of an entry, or with --effective the policy that a new file in a directory gets
and where each value of it comes from: an attribute of this directory or one above it, or the space.
Clients may still ask for another layout in URLs unless sys.forced.nouserlayout forbids it.`,
		Example: `  hemera attr ls /exp
  hemera attr ls --effective /exp/2026`,
		RunE: func(c *cobra.Command, args []string) error {
			if effective {
				return e.ask(c, func(ctx context.Context, m *admin.Client) error { return e.effectivePolicy(ctx, m, args[0]) })
			}
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				attrs, _, err := e.attributes(ctx, m, args[0])
				if err != nil {
					return err
				}
				s := e.stream(func(r output.Record) string { return fmt.Sprintf("%v=%q", r.Get("name"), r.Get("value")) })
				for _, name := range slices.Sorted(maps.Keys(attrs)) {
					if err := s.Add(output.Record{{Key: "name", Value: name}, {Key: "value", Value: string(attrs[name])}}); err != nil {
						return err
					}
				}
				return s.Close()
			})
		},
	}
	c.Flags().BoolVar(&effective, "effective", false, "the policy in force for new files there, with its sources")
	return c
}

func (e *env) attributes(ctx context.Context, m *admin.Client, arg string) (map[string][]byte, string, error) {
	path, err := e.onManager(arg)
	if err != nil {
		return nil, "", err
	}
	en, err := m.Stat(ctx, hemera.Identity{}, path)
	return en.Xattrs, path, err
}

func attrGetCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "get <name> <path>", Short: "Print one attribute", Args: cobra.ExactArgs(2), ValidArgsFunction: completePaths(e),
		Long:    `Prints one attribute as ls does, with quotes round the value; -j has it in its result.`,
		Example: `  hemera attr get sys.forced.layout /exp`,
		RunE: func(c *cobra.Command, args []string) error {
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				attrs, path, err := e.attributes(ctx, m, args[1])
				if err != nil {
					return err
				}
				value, there := attrs[args[0]]
				if !there {
					return errs.New(errs.NoAttribute, "attr get", path, "attribute "+args[0]+" is not set").
						WithRemedy("hemera attr ls " + path + " shows those that are")
				}
				s := e.stream(func(r output.Record) string { return fmt.Sprintf("%s=%q", args[0], value) })
				if err := s.Add(output.Record{{Key: "name", Value: args[0]}, {Key: "value", Value: string(value)}}); err != nil {
					return err
				}
				return s.Close()
			})
		},
	}
}

func attrSetCommand(e *env) *cobra.Command {
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
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				err := e.tree(ctx, m, args[1], recursive, func(path string) error {
					return m.SetXattr(ctx, hemera.Identity{}, path, name, value, create)
				})
				if err == nil && strings.Contains(name, ".forced.") {
					e.warnOfPolicy(ctx, m, args[1])
				}
				return e.done(err)
			})
		},
	}
	c.Flags().BoolVarP(&recursive, "recursive", "r", false, "everything below too")
	c.Flags().BoolVarP(&create, "create", "c", false, "fail if it is set already")
	c.ValidArgsFunction = func(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return knownAttributes, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
		}
		return completePaths(e)(c, args, word)
	}
	return c
}

// warnOfPolicy says so when new files of a directory cannot have what they are to get. It is no error:
// the disks may come later.
func (e *env) warnOfPolicy(ctx context.Context, m *admin.Client, arg string) {
	path, err := e.onManager(arg)
	if err != nil {
		return
	}
	x, err := m.Why(ctx, hemera.WhyFile, path)
	if err != nil {
		return // the attribute is set all the same
	}
	for _, r := range x.Reasons {
		if r.About == hemera.AboutNewFiles && r.Remedy != "" {
			fmt.Fprintf(e.Err, "hemera: warning: new files in %s %s\n  what to do: %s\n", e.visible(path), e.visible(r.Text), e.visible(r.Remedy))
		}
	}
}

func parseAttribute(s string) (string, []byte, error) {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return "", nil, usage(errs.New(errs.Invalid, "read attribute", s, "want name=value"))
	}
	if !strings.HasPrefix(name, "user.") && !strings.HasPrefix(name, "sys.") {
		return "", nil, usage(errs.New(errs.Invalid, "read attribute", s, "a name begins with user. or sys.").
			WithRemedy("write user." + s + "; other XRootD clients see it as " + name))
	}
	if len(value) > 1 && value[0] == '"' {
		unquoted, err := strconv.Unquote(value)
		if err != nil {
			return "", nil, usage(errs.New(errs.Invalid, "read attribute", s, "the quotes do not match"))
		}
		value = unquoted
	}
	return name, []byte(value), nil
}

func attrRmCommand(e *env) *cobra.Command {
	var recursive bool
	c := &cobra.Command{
		Use: "rm <name> <path>", Short: "Remove one attribute", Args: cobra.ExactArgs(2), ValidArgsFunction: completePaths(e),
		Example: `  hemera attr rm user.campaign /exp/run1`,
		RunE: func(c *cobra.Command, args []string) error {
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				return e.done(e.tree(ctx, m, args[1], recursive, func(path string) error {
					err := m.RemoveXattr(ctx, hemera.Identity{}, path, args[0])
					if recursive && errs.KindOf(err) == errs.NoAttribute {
						return nil
					}
					return err
				}))
			})
		},
	}
	c.Flags().BoolVarP(&recursive, "recursive", "r", false, "everything below too, where it is set")
	return c
}
