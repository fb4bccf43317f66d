package tier

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"

	"hemera/tape/tapeconfig"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/tapeapi"
)

// TapeKeyList implements adminapi.TapeKeys.
func (t *configurer) TapeKeyList(ctx context.Context) (rows []adminapi.TapeKeyRow, err error) {
	all, err := t.env.catalogue.Tapes(ctx)
	if err != nil {
		return nil, err
	}
	config := t.settings.now().Config
	ring := readKeys(t.env.Secrets, config.Keys)
	for _, name := range slices.Sorted(maps.Keys(config.Keys)) {
		rows = append(rows, keyRow(name, config, ring, all))
	}
	return rows, nil
}

// AddTapeKey implements adminapi.TapeKeys.
func (t *configurer) AddTapeKey(ctx context.Context, who string, k tapeapi.Key, comment string) (row adminapi.TapeKeyRow, err error) {
	const op = "tier.AddKey"
	if t.env.Secrets == nil {
		return row, errs.New(errs.Unsupported, op, k.Name, "this manager keeps no keys")
	}
	imported := len(k.Secret) > 0
	if !imported {
		k.Secret = make(tapeapi.Secret, tapeapi.SecretSize)
		if _, err := rand.Read(k.Secret); err != nil {
			return row, errs.Wrap(err, op, k.Name)
		}
	}
	if len(k.Secret) != tapeapi.SecretSize {
		return row, errs.New(errs.Invalid, op, k.Name, fmt.Sprintf("a key has %d bytes, not %d", tapeapi.SecretSize, len(k.Secret)))
	}
	err = t.change(ctx, "key "+k.Name, func(config tapeconfig.Config, used tapeconfig.Usage) (tapeconfig.Config, error) {
		old, there := config.Keys[k.Name]
		switch {
		case !there:
		case !imported:
			return config, errs.New(errs.Exists, op, k.Name, "the key is there already").WithRemedy("see `hemera tape key ls`; to bring a missing secret back: --from FILE")
		// Another secret would make its tapes unreadable.
		case old.Fingerprint != fingerprint(k.Secret):
			return config, errs.New(errs.Conflict, op, k.Name, "the key of that name has fingerprint "+old.Fingerprint+", this one "+fingerprint(k.Secret)).
				WithRemedy("add it under another name")
		default:
			return config, t.env.Secrets.Keep(k.Name, k.Secret)
		}
		c := adminapi.TapeChange{Object: string(tapeconfig.KindKey), Verb: "add", Name: k.Name, Values: map[string]string{"fingerprint": fingerprint(k.Secret), "comment": comment}}
		next, err := config.Apply(c, tapeconfig.Author{Name: who, Time: t.env.now()}, used)
		if err != nil {
			return config, err
		}
		// The secret before its name: a name without a secret would be a key
		// that nobody can use.
		return next, t.env.Secrets.Keep(k.Name, k.Secret)
	})
	if err != nil {
		return row, err
	}
	rows, err := t.TapeKeyList(ctx)
	at := slices.IndexFunc(rows, func(r adminapi.TapeKeyRow) bool { return r.Name == k.Name })
	if err != nil || at < 0 {
		return row, err
	}
	return rows[at], nil
}

// changeKey changes the comment of a key, or removes one that nothing uses.
func (t *configurer) changeKey(ctx context.Context, who string, c adminapi.TapeChange) error {
	if c.Verb == "add" {
		_, err := t.AddTapeKey(ctx, who, tapeapi.Key{Name: c.Name}, c.Values["comment"])
		return err
	}
	if _, is := c.Values["fingerprint"]; is {
		return errs.New(errs.Invalid, "tier.Change", "key "+c.Name, "the fingerprint follows from the key")
	}
	if err := t.changeConfig(ctx, who, c); err != nil || c.Verb != "remove" || t.env.Secrets == nil {
		return err
	}
	// The name first: what is left after a crash is a file that nobody uses.
	return t.env.Secrets.Forget(c.Name)
}
