package tier

import (
	"context"
	"maps"
	"slices"

	"hemera/tape/tapeconfig"
	"hemera/words/adminapi"
	"hemera/words/errs"
)

// changeDrive takes a drive out of work, or back, or notes a comment. It stays
// as it was said over restarts, and when its server goes and comes back.
func (t *configurer) changeDrive(ctx context.Context, who string, c adminapi.TapeChange) error {
	if c.Verb == "remove" {
		return t.forgetDrive(ctx, c.Name)
	}
	names, desired, reason := t.drivesOf(c.Name), c.Values["desired"], c.Values["reason"]
	comment, noted := c.Values["comment"]
	switch {
	case desired == "" && !noted, desired != "" && desired != "up" && desired != "down":
		return errs.New(errs.Invalid, "tier.Set", c.Name, "a drive has a comment, and is put up or down, nothing else").
			WithRemedy("hemera tape drive set NAME comment=TEXT, or: hemera tape drive down NAME --reason TEXT")
	case len(names) == 0:
		return errs.New(errs.NotFound, "tier.Set", c.Name, "no tape server has reported such a drive").WithRemedy("see `hemera tape drive ls`")
	case desired == "down" && reason == "":
		return errs.New(errs.Invalid, "tier.Down", c.Name, "a drive that is put down needs a reason").WithRemedy("add --reason TEXT")
	}
	return t.change(ctx, "drive "+c.Name, func(now tapeconfig.Config, _ tapeconfig.Usage) (tapeconfig.Config, error) {
		said := func(of map[string]string, text string) map[string]string {
			out := map[string]string{}
			maps.Copy(out, of)
			for _, name := range names {
				if delete(out, name); text != "" {
					out[name] = text
				}
			}
			return out
		}
		switch desired {
		case "down":
			now.DrivesDown = said(now.DrivesDown, reason+" ("+who+")")
		case "up":
			now.DrivesDown = said(now.DrivesDown, "")
		}
		if noted {
			now.DriveComments = said(now.DriveComments, comment)
		}
		return now, nil
	})
}

// forgetDrive removes a drive that no tape server reports now: from the lists,
// and from those that were put down. One that a server reports would be there
// again a moment later: NotEmpty.
func (t *configurer) forgetDrive(ctx context.Context, name string) error {
	if len(t.drivesOf(name)) != 1 || name == "all" {
		return errs.New(errs.NotFound, "tier.Remove", name, "no tape server has reported such a drive").WithRemedy("see `hemera tape drive ls`")
	}
	if l := t.libraries.forgetDrive(name); l != nil {
		return errs.New(errs.NotEmpty, "tier.Remove", name, "the tape server of node "+l.node.String()+" reports the drive").
			WithRemedy("to have it do nothing more: hemera tape drive down " + name + " --reason TEXT; it can be removed when its server does not report it")
	}
	return t.change(ctx, "drive "+name, func(now tapeconfig.Config, _ tapeconfig.Usage) (tapeconfig.Config, error) {
		now.DrivesDown, now.DriveComments = maps.Clone(now.DrivesDown), maps.Clone(now.DriveComments)
		delete(now.DrivesDown, name)
		delete(now.DriveComments, name)
		return now, nil
	})
}

// drivesOf returns the drives of a name, which is that of one in the cluster, or "all": those that servers report, and
// those that are down or have a comment.
func (t *configurer) drivesOf(name string) []string {
	now := t.settings.now().Config
	known := map[string]bool{}
	for _, l := range t.libraries.now().all {
		for _, state := range l.state.Drives {
			known[state.Name] = true
		}
	}
	for down := range now.DrivesDown {
		known[down] = true
	}
	for noted := range now.DriveComments {
		known[noted] = true
	}
	if name != "all" && known[name] {
		return []string{name}
	}
	if name != "all" {
		return nil
	}
	return slices.Sorted(maps.Keys(known))
}
