package adminapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
)

// Codec is JSON for plain Go structs, in place of Connect's, which takes protobuf messages only.
// Rejected: protobuf messages, which would need a generator and a second set of types beside those of package
// hemera.
type Codec struct {
	// Strict refuses unknown fields: right for requests, where one is a typing error, wrong for
	// answers, which a newer server may have added to.
	Strict bool
}

// Name makes the codec answer to application/json and application/connect+json.
func (Codec) Name() string { return "json" }

// Marshal implements the method of connect.Codec. Texts that are not UTF-8 are spelt (see byteMark); the encoder writes
// what it could not take as an escape, which is how they are noticed.
// Spelling copies the whole message by reflection; it happens only when the encoder has met such a text.
func (Codec) Marshal(message any) ([]byte, error) {
	data, err := json.Marshal(message)
	if err != nil || !bytes.Contains(data, []byte(`\ufffd`)) && !bytes.Contains(data, []byte(`\u0000`)) {
		return data, err
	}
	return json.Marshal(mapped(reflect.ValueOf(message), spell).Interface())
}

// Unmarshal implements the method of connect.Codec. An empty body is an empty object.
// Its errors reach the client with the code InvalidArgument. Bytes after the object are an error, so that two requests
// that were joined by mistake do not pass as one.
func (c Codec) Unmarshal(data []byte, message any) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if c.Strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(message); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("the body has more than one JSON object")
	}
	if bytes.Contains(data, []byte(`\u0000`)) {
		v := reflect.ValueOf(message).Elem()
		v.Set(mapped(v, unspell))
	}
	return nil
}
