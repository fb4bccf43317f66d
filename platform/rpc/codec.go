package rpc

import (
	"fmt"

	"connectrpc.com/connect"
	"github.com/fxamacker/cbor/v2"
)

// codec is CBOR as a Connect codec: requests have the content type application/cbor.
type codec struct {
	encode cbor.EncMode
	decode cbor.DecMode
}

// Limits of one message. Lengths inside a message are checked against the message before memory is allocated.
const (
	messageMax  = 16 << 20
	joinMax     = 64 << 10 // from clients that are not known yet
	elementsMax = 128 << 10
	depthMax    = 16
)

// newCodec makes the codec. It cannot fail with these options; an error would be a defect.
func newCodec() (connect.Codec, error) {
	encode, err := cbor.EncOptions{Time: cbor.TimeRFC3339Nano}.EncMode()
	if err != nil {
		return nil, fmt.Errorf("rpc codec: %w", err)
	}
	decode, err := cbor.DecOptions{
		DupMapKey:        cbor.DupMapKeyEnforcedAPF,
		IndefLength:      cbor.IndefLengthForbidden,
		TagsMd:           cbor.TagsForbidden,
		UTF8:             cbor.UTF8DecodeInvalid, // paths are bytes
		MaxNestedLevels:  depthMax,
		MaxArrayElements: elementsMax,
		MaxMapPairs:      elementsMax,
	}.DecMode()
	if err != nil {
		return nil, fmt.Errorf("rpc codec: %w", err)
	}
	return codec{encode, decode}, nil
}

// Name implements connect.Codec.
func (codec) Name() string { return "cbor" }

// Envelope is the one message type that Connect sees, here and at the admin door. Connect's code is generic, and would be
// compiled again for each message type, which adds a megabyte. Value points to the message.
type Envelope struct{ Value any }

// NewEnvelope initializes messages of type T that a handler or a client receives. It cannot fail.
func NewEnvelope[T any](_ connect.Spec, message any) error {
	message.(*Envelope).Value = new(T)
	return nil
}

// opened returns the message in an [Envelope], or the message itself: codecs call it first.
func opened(message any) any {
	if e, ok := message.(*Envelope); ok {
		return e.Value
	}
	return message
}

// Marshal implements connect.Codec.
func (c codec) Marshal(message any) ([]byte, error) { return c.encode.Marshal(opened(message)) }

// Unmarshal implements connect.Codec.
func (c codec) Unmarshal(data []byte, message any) error {
	return c.decode.Unmarshal(data, opened(message))
}

// EnvelopeCodec returns a codec that passes the messages in envelopes to c.
func EnvelopeCodec(c connect.Codec) connect.Codec { return envelopeCodec{c} }

type envelopeCodec struct{ connect.Codec }

// Marshal implements connect.Codec.
func (c envelopeCodec) Marshal(message any) ([]byte, error) { return c.Codec.Marshal(opened(message)) }

// Unmarshal implements connect.Codec.
func (c envelopeCodec) Unmarshal(data []byte, message any) error {
	return c.Codec.Unmarshal(data, opened(message))
}
