package tier

import (
	"context"

	"hemera/platform/turn"
	"hemera/tape/catalogue"
	"hemera/tape/tapeconfig"
	"hemera/words/errs"
	"hemera/words/tapeapi"
)

// settings change the configuration, one call at a time. What holds is an
// immutable value, which the catalogue has: transactions that queue files
// read it too.
type settings struct {
	catalogue *catalogue.Catalogue
	turn      turn.Turn // held by a change over its write to the store
}

// openSettings reads the configuration; a system that has none gets one that
// archives without any set-up.
func openSettings(ctx context.Context, c *catalogue.Catalogue) (*settings, error) {
	raw, err := c.Config(ctx)
	if err != nil {
		return nil, errs.Wrap(err, "tier.Open", "")
	}
	config := tapeconfig.Defaults()
	if raw != nil {
		if config, err = tapeconfig.Decode(raw); err != nil {
			return nil, errs.As(err, errs.Corrupt, "tier.Open", "the configuration of tapes")
		}
	}
	c.Adopt(&tapeconfig.Settings{Config: config, Names: lookUpNames(config.Rules)})
	return &settings{c, turn.New()}, nil
}

// now returns the settings that hold.
func (s *settings) now() *tapeconfig.Settings { return s.catalogue.Settings() }

// take waits for the turn of changes.
func (s *settings) take(ctx context.Context, subject string) (release func(), err error) {
	if err := s.turn.Acquire(ctx); err != nil {
		return nil, errs.Wrap(err, "tier.Change", subject)
	}
	return s.turn.Release, nil
}

// change stores what a change makes of the configuration, and has it hold
// then. The caller has the turn, and the list of tapes of since then.
func (s *settings) change(ctx context.Context, all []tapeapi.Tape, change func(tapeconfig.Config, tapeconfig.Usage) (tapeconfig.Config, error)) error {
	was := s.now()
	next, err := change(was.Config, usage(all))
	if err != nil {
		return err
	}
	return s.catalogue.PutConfig(ctx, &tapeconfig.Settings{Config: next, Names: lookUpNames(next.Rules), Change: was.Change + 1})
}

// learn looks up the names in rules again: users and groups come and go.
func (s *settings) learn(ctx context.Context) error {
	// No rule may change meanwhile, as its names would be those of before.
	release, err := s.take(ctx, "")
	if err != nil {
		return err
	}
	defer release()
	next := *s.now()
	next.Names = lookUpNames(next.Config.Rules)
	s.catalogue.Adopt(&next)
	return nil
}

// usage counts which objects tapes refer to.
func usage(all []tapeapi.Tape) tapeconfig.Usage {
	u := tapeconfig.Usage{Pools: map[string]int64{}, Media: map[string]int64{}, Libraries: map[string]int64{}, Keys: map[string]int64{}}
	for _, tape := range all {
		u.Pools[string(tape.Pool)]++
		u.Media[tape.MediaType]++
		u.Libraries[tape.Library]++
		u.Keys[tape.Key]++
	}
	return u
}
