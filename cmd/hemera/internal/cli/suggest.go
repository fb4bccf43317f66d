package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hemera/words/errs"
)

// teach makes errors about arguments show the command's usage, for a command and all below it.
func teach(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			// cobra's own errors have neither the command nor its usage.
			if check(c, args) == nil {
				return nil
			}
			return wrongArguments(c, args)
		}
	}
	for _, sub := range c.Commands() {
		teach(sub)
	}
}

// wrongArguments returns the error of a command that does not accept these arguments.
func wrongArguments(c *cobra.Command, args []string) error {
	text := fmt.Sprintf("does not take %d arguments", len(args))
	switch len(args) {
	case 0:
		text = "needs arguments"
	case 1:
		text = fmt.Sprintf("does not take %q alone", args[0])
		if strings.HasSuffix(c.Use, c.Name()) {
			text = fmt.Sprintf("takes no arguments, not %q", args[0])
		}
	}
	remedy := "write " + c.UseLine() + "; --help has examples"
	// As in quota set, where the path is a flag.
	if f := c.Flags().Lookup("path"); f != nil && f.Shorthand != "" && len(args) > 0 && strings.HasPrefix(args[len(args)-1], "/") {
		remedy = "name the directory with -" + f.Shorthand + " " + args[len(args)-1] + "; --help has examples"
	}
	return errs.New(errs.Invalid, strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" "), "", text).WithRemedy(remedy)
}

// UnknownCommand returns the error about a command that does not exist, with the existing ones, the similar ones first.
// Its exit code is ExitUsage.
func UnknownCommand(c *cobra.Command, name string) error {
	remedy := "hemera --help lists the commands"
	if c.HasParent() {
		var names []string
		for _, v := range c.Commands() {
			names = append(names, v.Name())
		}
		slices.Sort(names)
		remedy = "it has " + strings.Join(names, ", ")
	}
	// By cobra: similar words, and those of SuggestFor.
	if like := c.SuggestionsFor(name); len(like) > 0 {
		remedy = "did you mean " + c.CommandPath() + " " + strings.Join(like, " or ") + "? " + remedy
	}
	what := fmt.Sprintf("there is no command %q", name)
	if c.HasParent() {
		what = fmt.Sprintf("%s has no command %q", c.Name(), name)
	}
	return Usage(Advised(errors.New(what), remedy))
}

// wrongFlag explains a flag that does not exist: -name in place of --name, or a typing error; and a flag with a malformed
// value.
func wrongFlag(c *cobra.Command, err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return wrongValue(c, bad)
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	name := strings.TrimLeft(unknown.GetSpecifiedName(), "-")
	if group := unknown.GetSpecifiedShortnames(); group != "" {
		name = group // cobra reads -name as -n -a -m -e
	}
	remedy := c.CommandPath() + " --help lists the flags"
	if like := likeFlag(c, name); like != "" {
		remedy = "did you mean --" + like + "? " + remedy
	} else if subs := below(c, name); len(subs) == 1 { // of several none is more likely
		remedy = "did you mean " + subs[0] + " --" + name + "? " + remedy
	}
	op := strings.TrimPrefix(c.CommandPath(), "hemera ")
	if !c.HasParent() {
		op = "read the command line"
	}
	return errs.New(errs.Invalid, op, "", err.Error()).WithRemedy(remedy)
}

// wrongValue returns the error about a flag's value in the flag's own words: those of cobra are about the parser.
func wrongValue(c *cobra.Command, bad *pflag.InvalidValueError) error {
	f := bad.GetFlag()
	_, usage := pflag.UnquoteUsage(f)
	text := map[string]string{"bool": "it is given alone, or is true or false", "duration": "want a time, such as 30s, 10m or 2h", "float64": "want a number",
		"int": "want a whole number", "uint": "want a whole number from 0", "uint32": "want a whole number from 0", "uint64": "want a whole number from 0"}[f.Value.Type()]
	remedy := "--" + f.Name + " is: " + usage + "; " + c.CommandPath() + " --help has examples"
	// A flag with a type of its own has an error text.
	if text == "" {
		text = errs.Reason(bad.Unwrap(), bad.GetValue())
		remedy = cmp.Or(errs.RemedyOf(bad), remedy)
	}
	return errs.New(errs.Invalid, strings.TrimPrefix(c.CommandPath(), "hemera "), "--"+f.Name+" "+bad.GetValue(), text).WithRemedy(remedy)
}

// required parses cobra's error about missing flags: it returns their names, and whether one of them suffices.
func required(err error) (flags []string, one, ok bool) {
	text := err.Error()
	if names, found := strings.CutPrefix(text, "at least one of the flags in the group ["); found {
		names, _, _ = strings.Cut(names, "]")
		return strings.Fields(names), true, true
	}
	if names, found := strings.CutPrefix(text, "required flag(s) "); found {
		names, _, _ = strings.Cut(names, " not set")
		return strings.Split(strings.ReplaceAll(names, `"`, ""), ", "), false, true
	}
	return nil, false, false
}

// below lists the commands below c that have the flag.
func below(c *cobra.Command, flag string) (paths []string) {
	for _, sub := range c.Commands() {
		if f := sub.Flags().Lookup(flag); f != nil && !f.Hidden {
			paths = append(paths, sub.CommandPath())
		}
	}
	return paths
}

// likeFlag returns the flag that the user probably meant: one with that name, or with one letter more, less or different;
// "" if there is none. An exact match precedes a similar one. Hidden flags are never offered.
func likeFlag(c *cobra.Command, name string) (like string) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && len(name) > 1 && (f.Name == name || like == "" && nearlySame(f.Name, name)) {
			like = f.Name
		}
	})
	return like
}

// nearlySame reports whether two words differ in one letter: inserted, left out, changed, or swapped with the next.
func nearlySame(a, b string) bool {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	a, b = a[i:], b[i:]
	switch {
	case a == "" || b == "":
		return len(a)+len(b) <= 1
	case a[1:] == b || a == b[1:] || a[1:] == b[1:]:
		return true
	}
	return len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:]
}

// exclusive returns the flags that exclude each other by cobra's error. cobra has no type for this error, so its text
// decides.
func exclusive(err error) (together string, ok bool) {
	if !strings.HasPrefix(err.Error(), "if any flags in the group") {
		return "", false
	}
	_, flags, _ := strings.Cut(err.Error(), "; [")
	flags, _, ok = strings.Cut(flags, "]")
	return "--" + strings.Join(strings.Fields(flags), " and --"), ok
}
