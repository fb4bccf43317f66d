package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hemera/words/errs"
)

// bundle is the content of one PEM file: certificates, leaf first, their leaf's key, and the addresses of the manager.
// One rename replaces all of it.
type bundle struct {
	chain []*x509.Certificate
	key   *ecdsa.PrivateKey
	addrs []string
}

const (
	blockCertificate = "CERTIFICATE"
	blockKey         = "PRIVATE KEY"
	blockAddrs       = "HEMERA MANAGER ADDRESSES"
	bundleMax        = 64 << 10
)

// encode writes the certificates first, so that other programs find the leaf.
func (b bundle) encode() ([]byte, error) {
	var out bytes.Buffer
	for _, c := range b.chain {
		_ = pem.Encode(&out, &pem.Block{Type: blockCertificate, Bytes: c.Raw})
	}
	if b.key != nil {
		der, err := x509.MarshalPKCS8PrivateKey(b.key)
		if err != nil {
			return nil, errs.As(err, errs.Internal, "pki.Encode", "")
		}
		_ = pem.Encode(&out, &pem.Block{Type: blockKey, Bytes: der})
	}
	if b.addrs != nil {
		_ = pem.Encode(&out, &pem.Block{Type: blockAddrs, Bytes: []byte(strings.Join(b.addrs, ","))})
	}
	return out.Bytes(), nil
}

// readSecret reads a bundle's file. If others may read the file, for example after a copy, it removes that permission.
func readSecret(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(path, 0o600)
	}
	return data, nil
}

// parseBundle reads a file or an issuer's answer. If there is a key, it must be the leaf's.
func parseBundle(data []byte) (bundle, error) {
	var b bundle
	if len(data) > bundleMax { // it may have come from the network
		return b, fmt.Errorf("longer than %d bytes", bundleMax)
	}
	for len(data) > 0 {
		block, rest := pem.Decode(data)
		if block == nil {
			break
		}
		data = rest
		switch block.Type {
		case blockCertificate:
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return bundle{}, err
			}
			b.chain = append(b.chain, c)
		case blockKey:
			k, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			if err != nil {
				return bundle{}, err
			}
			b.key, _ = k.(*ecdsa.PrivateKey)
		case blockAddrs:
			b.addrs = strings.Split(string(block.Bytes), ",")
		}
	}
	if len(b.chain) == 0 {
		return bundle{}, errors.New("no certificate in it")
	}
	// Otherwise mixed-up files would only be noticed by the other end, as a failed handshake.
	if b.key != nil && !b.key.PublicKey.Equal(b.chain[0].PublicKey) {
		return bundle{}, errors.New("the key is not the certificate's")
	}
	return b, nil
}

// save replaces the file in one step, durably, readable by its owner only.
func (b bundle) save(path string) error {
	data, err := b.encode()
	if err != nil {
		return err
	}
	return errs.Wrap(replace(path, data), "pki.Save", path)
}

// replace writes a file beside the old one, syncs it, renames it and syncs the directory: after a power cut the old file
// exists or the new one.
func replace(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*") // made with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // after the rename there is nothing to remove
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(dir) // the new name is durable with its directory
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
