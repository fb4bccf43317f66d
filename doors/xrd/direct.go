package xrd

import (
	"context"
	"strings"

	"hemera/doors/xrd/translate"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// isDirect reports whether a query on a handle is a step of a direct write.
func isDirect(arg string) bool {
	return strings.HasPrefix(arg, wire.OpaqueAdopt) || strings.HasPrefix(arg, wire.OpaqueReplace) || strings.HasPrefix(arg, wire.OpaqueProve)
}

// serveDirect answers the queries of direct writes: the client passes its pieces to the head, or asks for other disks,
// and the head asks a node to prove its piece. All may wait for disks or the manager.
func serveDirect(r *request, id wire.Handle, arg string) error {
	h, err := r.session.handles.get(id)
	if err != nil {
		return err
	}
	f := h.data()
	if err := f.forWriting(); err != nil {
		return err
	}
	var work func(context.Context) ([]byte, error)
	switch name, _, _ := strings.Cut(arg, "&"); name {
	case wire.OpaqueAdopt:
		work, err = adopt(f, arg)
	case wire.OpaqueReplace:
		work, err = replace(f, arg)
	default:
		work, err = prove(f, arg)
	}
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(r.context()) // complete the work if the client leaves: it may ask again on another connection
	f.inUse.Add(1)
	return runAsync(r, func() ([]byte, error) {
		defer f.inUse.Done()
		return work(ctx)
	})
}

// adopt makes the head of a direct write take over the pieces that its client sealed.
func adopt(f *openFile, arg string) (func(context.Context) ([]byte, error), error) {
	d, ok := f.file.(hemera.DirectFile)
	if !ok {
		return nil, notDirect(f)
	}
	seal, pieces, err := wire.ParseAdopt(arg)
	if err != nil {
		return nil, errs.As(err, errs.Invalid, "xrd.Adopt", f.path)
	}
	return func(ctx context.Context) ([]byte, error) { return nil, d.Adopt(ctx, seal, pieces) }, nil
}

// replace asks the manager for other disks for a direct write.
func replace(f *openFile, arg string) (func(context.Context) ([]byte, error), error) {
	d, ok := f.file.(hemera.DirectFile)
	if !ok {
		return nil, notDirect(f)
	}
	failed, err := wire.ParseReplace(arg)
	if err != nil {
		return nil, errs.As(err, errs.Invalid, "xrd.Replace", f.path)
	}
	return func(ctx context.Context) ([]byte, error) {
		token, err := d.Replacement(ctx, failed)
		return append([]byte(token), 0), err
	}, nil
}

// prove makes a node compute the sums of a part of its piece.
func prove(f *openFile, arg string) (func(context.Context) ([]byte, error), error) {
	p, ok := f.file.(hemera.Prover)
	if !ok {
		return nil, notDirect(f)
	}
	q, err := wire.ParseProve(arg)
	if err != nil {
		return nil, errs.As(err, errs.Invalid, "xrd.Prove", f.path)
	}
	return func(ctx context.Context) ([]byte, error) {
		proof, err := p.Prove(ctx, q)
		return append([]byte(wire.EncodeProof(proof)), 0), err
	}, nil
}

// notDirect returns the error for a query on a handle that does not support it.
func notDirect(f *openFile) error {
	return translate.Refuse(wire.Unsupported, "the handle of "+f.path+" takes no part in direct writes")
}
