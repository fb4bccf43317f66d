package linux

import (
	"context"
	"errors"
	"fmt"

	"hemera/tape/device"
	"hemera/tape/device/scsi"
	"hemera/words/errs"
)

// encrypter is the keys of a Tape: what implements device.Encrypter, and what clears a key that nobody is to use any more.
type encrypter struct {
	tape      *Tape // whose token guards the rest
	algorithm byte  // valid while keyed
	keyed     bool  // a key is set in the drive, or may be
}

// SetKey implements device.Encrypter. It fails with errs.Unsupported when the drive cannot encrypt.
func (e *encrypter) SetKey(ctx context.Context, key device.Key) error {
	if len(key.Secret) != device.KeySize {
		return errs.New(errs.Invalid, "linux.SetKey", e.tape.drive.dev.path, fmt.Sprintf("a key has %d bytes, not %d", device.KeySize, len(key.Secret)))
	}
	if err := e.tape.acquire(ctx); err != nil {
		return err
	}
	defer e.tape.release()
	// Drives number their algorithms as they like.
	answer, err := e.tape.do(ctx, scsi.EncryptionCapabilities())
	if refused(err) {
		return errs.As(err, errs.Unsupported, "linux.SetKey", e.tape.drive.dev.path)
	}
	if err != nil {
		return err
	}
	algorithm, err := scsi.DecodeCapabilities(answer)
	if err != nil {
		return err
	}
	// From here on Unload or ClearKey must remove it, also after an error: what the drive did is not known then.
	e.algorithm, e.keyed = algorithm.Index, true
	if _, err = e.tape.do(ctx, scsi.SetKey(algorithm, key)); err != nil {
		return err
	}
	// A drive that took the key and does not use it would write plain blocks.
	is, err := e.encryption(ctx)
	if err == nil && (!is.Encrypts || !is.Decrypts) {
		err = errs.New(errs.IO, "linux.SetKey", e.tape.drive.dev.path, "the drive took the key and does not encrypt").
			WithRemedy("Set the library to application managed encryption.")
	}
	return err
}

// encryption asks what the drive does with blocks now.
func (e *encrypter) encryption(ctx context.Context) (scsi.Encryption, error) {
	answer, err := e.tape.do(ctx, scsi.EncryptionStatus())
	if err != nil {
		return scsi.Encryption{}, err
	}
	return scsi.DecodeStatus(answer)
}

// ClearKey implements device.Encrypter. Without a key it does nothing.
func (e *encrypter) ClearKey(ctx context.Context) error {
	if err := e.tape.acquire(ctx); err != nil {
		return err
	}
	defer e.tape.release()
	if !e.keyed {
		return nil
	}
	return e.clearKey(ctx)
}

// clearKey removes the key of the drive. The token is held.
func (e *encrypter) clearKey(ctx context.Context) error {
	_, err := e.tape.do(ctx, scsi.ClearKey(e.algorithm))
	e.keyed = err != nil
	return err
}

// forgetKey removes a key that a program that was killed has left in the drive: what is written next would be encrypted, and nobody would know with
// which key. A drive that knows nothing of encryption has none.
func (e *encrypter) forgetKey(ctx context.Context) error {
	is, err := e.encryption(ctx)
	switch {
	case refused(err):
		return nil
	case err != nil:
		return err
	case !is.Encrypts && !is.Decrypts:
		return nil
	}
	e.algorithm = is.Algorithm
	return e.clearKey(ctx)
}

// dropKey removes the key before the drive is released. That it fails is not worth an error: the key goes with the cartridge, and each load looks
// for one that was left. The token is held.
func (e *encrypter) dropKey(ctx context.Context) {
	if e.keyed && e.tape.ended == nil {
		_ = e.clearKey(context.WithoutCancel(ctx))
	}
}

// locked adds to the error of a block that cannot be decrypted the name of its key, where the tape has it.
func (e *encrypter) locked(ctx context.Context, err error) error {
	if !errors.Is(err, device.ErrEncrypted) {
		return err
	}
	answer, failed := e.tape.do(ctx, scsi.NextBlockStatus())
	if failed != nil {
		return err
	}
	name, failed := scsi.DecodeNextBlock(answer)
	if failed != nil || name == "" {
		return err
	}
	return fmt.Errorf("key %q: %w", name, err)
}
