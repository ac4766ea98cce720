package optest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"drey/native/changelog"
	"drey/native/logical"
)

// Scenario is a scenario file.
type Scenario struct {
	Name   string
	Spec   []byte
	Inputs []logical.Row
	Output logical.Row
	Events []Event
	Whole  bool // is not restored half-way

	in  []*Codec
	out *Codec
}

// EventKind says what an event is.
type EventKind uint8

// The kinds of events.
const (
	Row EventKind = iota
	Now
	Watermark
	Flush
)

// Event is something that happens to an operator, and what must come out because of it.
type Event struct {
	Line  int
	Kind  EventKind
	Value int64 // of Now and Watermark
	Input int   // of Row
	Row   Output
	Want  []Output
}

// Output is a row with its kind.
type Output struct {
	Kind changelog.RowKind
	Row  []byte
}

// Load reads the scenarios that match a pattern.
func Load(pattern string) ([]*Scenario, error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no scenario matches %s", pattern)
	}
	var list []*Scenario
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		s, err := ParseScenario(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), string(text))
		if err != nil {
			return nil, fmt.Errorf("%s:%w", file, err)
		}
		list = append(list, s)
	}
	return list, nil
}

// ParseScenario reads a scenario. Errors start with the line.
func ParseScenario(name, text string) (*Scenario, error) {
	s := &Scenario{Name: name}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimRight(line, " \r"); line == "" || line[0] == '#' {
			continue
		}
		if err := s.parse(line, i+1); err != nil {
			return nil, fmt.Errorf("%d: %w", i+1, err)
		}
	}
	if err := s.begin(); err != nil {
		return nil, fmt.Errorf("1: %w", err)
	}
	return s, nil
}

func (s *Scenario) parse(line string, number int) error {
	if event, ok := strings.CutPrefix(line, "> "); ok {
		return s.parseEvent(event, number)
	}
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "whole":
		s.Whole = true
		return nil
	case "spec":
		s.Spec = []byte(rest)
		return nil
	case "input", "output":
		row, err := logical.ParseFields([]byte(rest))
		if err != nil {
			return err
		}
		if word == "output" {
			s.Output = row
		} else {
			s.Inputs = append(s.Inputs, row)
		}
		return nil
	}
	if len(s.Events) == 0 {
		return fmt.Errorf("%q: neither header nor event", line)
	}
	kind, row, err := s.out.Parse(line)
	if err != nil {
		return err
	}
	e := &s.Events[len(s.Events)-1]
	e.Want = append(e.Want, Output{kind, row})
	return nil
}

// begin ends the header.
func (s *Scenario) begin() error {
	if s.out != nil {
		return nil
	}
	if s.Spec == nil || len(s.Inputs) == 0 {
		return fmt.Errorf("the header needs a spec line and an input line")
	}
	if s.Output.Fields == nil {
		s.Output = s.Inputs[0]
	}
	for _, row := range s.Inputs {
		c, err := NewCodec(row)
		if err != nil {
			return err
		}
		s.in = append(s.in, c)
	}
	var err error
	s.out, err = NewCodec(s.Output)
	return err
}

func (s *Scenario) parseEvent(text string, line int) error {
	if err := s.begin(); err != nil {
		return err
	}
	e := Event{Line: line}
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "flush":
		e.Kind = Flush
	case "now", "watermark":
		e.Kind = Now
		if word == "watermark" {
			e.Kind = Watermark
		}
		v, err := strconv.ParseInt(rest, 10, 64)
		if err != nil {
			return err
		}
		e.Value = v
	default:
		if n, err := strconv.Atoi(word); err == nil && word[0] != '+' && word[0] != '-' {
			if n < 0 || n >= len(s.in) {
				return fmt.Errorf("input %d of %d", n, len(s.in))
			}
			e.Input, text = n, rest
		}
		kind, row, err := s.in[e.Input].Parse(text)
		if err != nil {
			return err
		}
		e.Row = Output{kind, row}
	}
	s.Events = append(s.Events, e)
	return nil
}
