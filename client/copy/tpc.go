package copy

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strconv"
	"time"

	"hemera/client/xrootd"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// tpcPoll is the interval of requests for the progress of the destination, as with the stock clients.
const tpcPoll = 2500 * time.Millisecond

// thirdParty makes the destination's server fetch the file from the source's, with the same sequence of requests as the
// stock clients. It fails with Unsupported if one of the servers does not support it.
func (x *copier) thirdParty(ctx context.Context, j job, at publisher) error {
	// The first of the source's two opens: a manager redirects it to the server that will be read.
	placed, err := x.c.Open(ctx, withOpaque(j.from.URL, "tpc.stage", "placement"), xrootd.OpenOptions{})
	if err != nil {
		return err
	}
	src, size := placed.URL(), placed.Info().Size // a server that has the file, and the parameters that it wants back
	if err := placed.Close(ctx); err != nil {
		return err
	}
	if err := x.canThirdParty(ctx, src.Endpoint); err != nil {
		return err
	}
	// The key connects the three parties: a server with it may read this one file.
	key := tpcKey()
	dst, err := x.c.Open(ctx, orderURL(at.written(j.to).URL, src, j.from.URL, key), xrootd.OpenOptions{
		Write: true, Create: true, Exclusive: at.direct && !x.o.Force, Parents: true, Persist: x.o.Persist, Mode: x.mode(j.src, 0o644), Size: size,
	})
	if err != nil {
		return err
	}
	err = x.canThirdParty(ctx, dst.URL().Endpoint)
	if err == nil {
		err = x.direct(ctx, j, src, dst, key)
	}
	if err != nil {
		_ = dst.Abandon(context.WithoutCancel(ctx)) // also after an interruption nothing of it stays
		return err
	}
	if err := dst.Close(ctx); err != nil {
		return err
	}
	// This process has not seen the bytes, so both servers are asked.
	var want hemera.Checksum
	if x.o.Verify != VerifyNever {
		want, err = x.c.Checksum(ctx, j.from.URL, hemera.Adler32)
		if err != nil && (x.o.Verify == VerifyAlways || !errors.Is(err, errs.Unsupported)) {
			return err
		}
	}
	return at.publish(ctx, j.to, size, want, x.o.Force)
}

// direct gives the destination its order and waits until it is carried out. It announces the copy to the source at the
// same server that the destination reads from: another server with the file would not know about the copy.
func (x *copier) direct(ctx context.Context, j job, from xrootd.URL, dst *xrootd.File, key string) error {
	if err := dst.Sync(ctx); err != nil { // the destination prepares
		return err
	}
	u := withOpaque(from, "tpc.dst", dst.URL().Host)
	u = withOpaque(u, "tpc.key", key)
	u = withOpaque(u, "tpc.stage", "copy")
	src, err := x.c.Open(ctx, u, xrootd.OpenOptions{}) // the source now expects the destination
	if err != nil {
		return err
	}
	defer src.Close(context.WithoutCancel(ctx))
	// The second sync runs the copy and answers at its end, which may be hours later.
	finished := make(chan error, 1)
	go func() {
		finished <- dst.SyncWithin(ctx, x.c.Options().WaitFor, "copy.CopyDirectly")
	}()
	tick := time.NewTicker(tpcPoll)
	defer tick.Stop()
	for seen := int64(0); ; {
		select {
		case err := <-finished:
			if err == nil {
				x.track.bytes(j.src.size - seen)
			}
			return err
		case <-tick.C:
			// For the progress display only, so errors are ignored.
			if i, err := dst.Stat(ctx); err == nil && i.Size > seen && i.Size <= j.src.size {
				x.track.bytes(i.Size - seen)
				seen = i.Size
			}
		}
	}
}

// canThirdParty asks a server whether it supports third-party copies.
func (x *copier) canThirdParty(ctx context.Context, e xrootd.Endpoint) error {
	values, err := x.c.Config(ctx, e, "tpc") // a version, 0 for none; or the key itself
	if err != nil && !errors.Is(err, errs.Unsupported) {
		return err
	}
	if err == nil && len(values) > 0 {
		if n, err := strconv.Atoi(values[0]); err == nil && n > 0 {
			return nil
		}
	}
	return errs.New(errs.Unsupported, "copy.CopyDirectly", e.String(), "the server does not do third-party copies")
}

// orderURL returns the destination's URL with all parameters of the copy. Stock servers expect dlg, dlgon, spr and tpr
// from a client: no delegation, and root as the protocol of both ends.
func orderURL(dst, src, from xrootd.URL, key string) xrootd.URL {
	for _, p := range [][2]string{
		{"tpc.dlg", src.Addr()}, {"tpc.dlgon", "0"}, {"tpc.key", key}, {"tpc.lfn", from.Path},
		{"tpc.spr", "root"}, {"tpc.src", src.Addr()}, {"tpc.stage", "copy"}, {"tpc.tpr", "root"},
	} {
		dst = withOpaque(dst, p[0], p[1])
	}
	return dst
}

// withOpaque adds one key to a URL.
func withOpaque(u xrootd.URL, key, value string) xrootd.URL {
	u.Opaque = u.Opaque.With(key, value)
	return u
}

// tpcKey returns 24 random hexadecimal digits, which are 96 bits. A server refuses a key that is too short or in use.
func tpcKey() string {
	var b [12]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
