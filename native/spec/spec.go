// Package spec reads what the host wants of an operator: strict, versioned JSON whose names are those of Flink's exec
// nodes. There is one text for one meaning, the canonical form: keys sorted, no spaces, no nulls, nothing unknown,
// nothing missing and nothing twice. The files in testdata hold both sides to it.
package spec

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"drey/native/logical"
)

// Version is the version of the specifications this library reads.
const Version = 1

// Spec is the specification of one operator.
type Spec interface {
	// Operator is the operator's name in the specification.
	Operator() string
	// Validate returns everything that is wrong, each as a sentence that starts with the field; nil if nothing is.
	Validate(inputs []logical.Row) []string
}

// header is what all specifications have.
type header struct {
	Operator string `json:"operator"`
	Version  int    `json:"version"`
}

// operators makes an empty specification for each operator there is.
var operators = map[string]func() Spec{
	"deduplicate":               func() Spec { return new(Deduplicate) },
	"globalGroupAggregate":      func() Spec { return new(GlobalGroupAggregate) },
	"groupAggregate":            func() Spec { return new(GroupAggregate) },
	"incrementalGroupAggregate": func() Spec { return new(IncrementalGroupAggregate) },
	"join":                      func() Spec { return new(Join) },
	"localGroupAggregate":       func() Spec { return new(LocalGroupAggregate) },
	"rank":                      func() Spec { return new(Rank) },
}

// ErrUnknown is Decode's error for a specification of an operator or version that this library doesn't know. It may be
// fine for another library; any other error is a mistake of whoever wrote the text.
var ErrUnknown = errors.New("unknown operator or version")

// Decode reads a specification, in canonical form only. Validate is the caller's next step.
func Decode(text []byte) (Spec, error) {
	var h header
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	if h.Version != Version {
		return nil, fmt.Errorf("spec: %w: version %d, this library reads version %d", ErrUnknown, h.Version, Version)
	}
	construct, ok := operators[h.Operator]
	if !ok {
		return nil, fmt.Errorf("spec: %w: %q", ErrUnknown, h.Operator)
	}
	s := construct()
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return nil, fmt.Errorf("spec: %s: %w", h.Operator, err)
	}
	if canonical := Encode(s); !bytes.Equal(canonical, text) {
		return nil, fmt.Errorf("spec: %s: not in canonical form: got %s, which reads as %s", h.Operator, text, canonical)
	}
	return s, nil
}

// Encode writes the canonical form. Structs that it is given declare their fields in the order of their JSON names.
func Encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // a specification consists of what JSON can say
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Fingerprint is a short name for a canonical text. Snapshots carry it, so it never changes.
func Fingerprint(canonical []byte) uint64 {
	sum := sha256.Sum256(canonical)
	return binary.BigEndian.Uint64(sum[:])
}
