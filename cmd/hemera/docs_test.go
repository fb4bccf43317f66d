package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hemera/cmd/hemera/internal/cli"
	"hemera/process/config"
)

var update = flag.Bool("update", false, "write docs/cli.md again, from the help of all commands")

// commandsPage is the page of all commands, generated from their help.
const commandsPage = "../../docs/cli.md"

// pageHead is the text before the commands. The rest of the page comes from --help.
const pageHead = `# Commands

<!-- Made from the program's help by: go test ./cmd/hemera -run CommandsPage -update -->

This page is for users and admins. It has what ` + "`hemera COMMAND --help`" + ` says of each command. [operations.md](operations.md) says when an admin
needs a command, [docs/tape](tape/operate.md) has the same for tapes, [docs/bench](bench/README.md) for measurements, and [doctor.md](doctor.md) for
` + "`hemera doctor`" + `.
`

// TestCommandsPage holds docs/cli.md against the help of all commands.
func TestCommandsPage(t *testing.T) {
	page := commandsMarkdown(newRootCommand(&cli.Env{}))
	committed, err := os.ReadFile(commandsPage)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page, "\nhemera "); n < 150 {
		t.Fatalf("the page has only %d commands", n)
	}
	if string(committed) == page {
		return
	}
	if !*update {
		t.Fatalf("docs/cli.md is not what --help says: go test ./cmd/hemera -run CommandsPage -update")
	}
	if err := os.WriteFile(commandsPage, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
}

// commandsMarkdown returns the page of all commands below root, in the order of root's help.
func commandsMarkdown(root *cobra.Command) string {
	p := &page{said: map[string]bool{}, flags: map[string]bool{}}
	p.WriteString(pageHead)
	p.section("## Every command", root.Long+"\n\nFlags of every command:\n"+p.flagsOf(root))
	for _, c := range root.Commands() {
		if c.IsAdditionalHelpTopicCommand() {
			p.section("## "+c.Short, c.Long)
		}
	}
	for _, group := range root.Groups() {
		p.WriteString("\n## " + strings.TrimSuffix(group.Title, ":") + "\n")
		for _, c := range root.Commands() {
			if c.GroupID == group.ID {
				p.command(c)
			}
		}
	}
	return p.String()
}

// page is a document in which no text appears twice.
type page struct {
	strings.Builder
	said  map[string]bool // paragraphs and examples that stand on the page
	flags map[string]bool // flags that stand in the section of a command of the first level
}

// section adds a heading, and a text as a terminal shows it.
func (p *page) section(heading, text string) {
	fmt.Fprintf(p, "\n%s\n\n```text\n%s\n```\n", heading, strings.Trim(text, "\n"))
}

// command adds the section of a command, with the verbs below it, and then the sections of the nouns below it. cobra's
// own commands have no section.
func (p *page) command(c *cobra.Command) {
	if !c.IsAvailableCommand() || c.Name() == "help" || c.Name() == "completion" {
		return
	}
	if !c.Parent().HasParent() {
		p.flags = map[string]bool{}
	}
	text := p.entry(c)
	for i, verb := range c.Commands() {
		if verb.IsAvailableCommand() && !verb.HasSubCommands() {
			entry := p.entry(verb)
			// Verbs without further text follow each other without an empty line.
			if i == 0 || strings.Count(entry, "\n") > 2 {
				text += "\n"
			}
			text += entry
		}
	}
	p.section("### "+c.CommandPath(), text)
	for _, noun := range c.Commands() {
		if noun.HasSubCommands() {
			p.command(noun)
		}
	}
}

// entry returns the usage of a command, and below it its text, its examples and its flags.
func (p *page) entry(c *cobra.Command) string {
	usage := strings.TrimSuffix(c.UseLine(), " [flags]")
	if !c.Runnable() || c.HasSubCommands() && !strings.ContainsAny(usage, "<[") {
		usage = c.CommandPath()
	}
	text, forAdmins := strings.CutSuffix(cmp.Or(c.Long, c.Short+"."), adminsNote)
	if forAdmins {
		usage += "    (for admins)"
	}
	var paragraphs []string
	for paragraph := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		if p.isNew(paragraph) {
			paragraphs = append(paragraphs, paragraph+"\n")
		}
	}
	body := strings.Join(paragraphs, "\n")
	example := strings.TrimRight(c.Example, "\n")
	// An example such as "hemera tape pool rm NAME" only repeats the usage.
	placeholder := body == "" && strings.Contains(example, " NAME")
	if example != "" && !placeholder && p.isNew(example) {
		for line := range strings.Lines(example) {
			body += "$ " + strings.TrimPrefix(line, "  ")
		}
		body += "\n"
	}
	body += p.flagsOf(c)
	out := usage + "\n"
	for line := range strings.Lines(body) {
		out += fold(strings.TrimRight("    "+line, " \n")) + "\n"
	}
	return out
}

// fold breaks a line of more than 150 bytes between words. The rest is indented like the line, and two spaces more.
func fold(line string) string {
	const most = 150
	rest := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(rest)] + "  "
	if len(line) <= most {
		return line
	}
	at := strings.LastIndex(line[:most], " ")
	if at <= len(indent) {
		return line
	}
	return line[:at] + "\n" + fold(indent+strings.TrimLeft(line[at:], " "))
}

// isNew reports whether a text is not on the page yet. Line breaks do not matter.
func (p *page) isNew(text string) bool {
	words := strings.Join(strings.Fields(text), " ")
	if p.said[words] {
		return false
	}
	p.said[words] = true
	return true
}

// flagsOf lists the flags of a command. Flags of settings are left out, because they are in the table of settings. Flags
// that another command of the section describes in the same words appear by name only.
func (p *page) flagsOf(c *cobra.Command) string {
	settings, own := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	config.Register(settings)
	left, above := 0, ""
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		setting, words := settings.Lookup(f.Name), f.Name+" "+f.DefValue+" "+f.Usage
		switch {
		case f.Name == "help" || f.Hidden:
		case setting != nil && setting.Usage == f.Usage && f.Name != "config":
			left++
		case p.flags[words]:
			above += " --" + f.Name
		default:
			p.flags[words] = true
			own.AddFlag(f)
		}
	})
	list := own.FlagUsages()
	if above != "" {
		list += "      as above:" + above + "\n"
	}
	if left > 0 {
		list += "      and a flag for each of its settings: docs/operations.md has them under Settings\n"
	}
	return list
}

// TestEveryCommandTeachesByExample: a command's help shows at least one command line of its own.
func TestEveryCommandTeachesByExample(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || c.IsAdditionalHelpTopicCommand() || c.Name() == "help" || c.Name() == "completion" { // the last two are cobra's
			return
		}
		if help := c.Long + "\n" + c.Example; !strings.Contains(help, "  "+c.CommandPath()) {
			t.Errorf("%s --help shows no example", c.CommandPath())
		}
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(newRootCommand(&cli.Env{}))
}
