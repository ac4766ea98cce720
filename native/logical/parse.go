package logical

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxDepth bounds the parser's recursion: a stack that grows without limit is not something the host process survives.
const maxDepth = 64

// Parse reads a type in the syntax of Flink's LogicalTypeParser.
func Parse(text string) (Type, error) {
	p := parser{text: text}
	p.tokenize()
	t := p.parseType(0)
	if p.err == nil && p.at < len(p.tokens) {
		p.fail("unexpected " + p.tokens[p.at].text)
	}
	if p.err != nil {
		return Type{}, p.err
	}
	return t, nil
}

// ParseFields reads the value of the metadata key flink.fields: [{"name":"a","type":"INT NOT NULL"},...].
func ParseFields(text []byte) (Row, error) {
	var fields []struct {
		Name *string `json:"name"`
		Type *string `json:"type"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&fields); err != nil {
		return Row{}, fmt.Errorf("flink.fields: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Row{}, errors.New("flink.fields: more than one JSON value")
	}
	row := Row{Fields: make([]Field, 0, len(fields))}
	for i, f := range fields {
		if f.Name == nil || f.Type == nil {
			return Row{}, fmt.Errorf("flink.fields[%d]: needs a name and a type", i)
		}
		t, err := Parse(*f.Type)
		if err != nil {
			return Row{}, fmt.Errorf("flink.fields[%d] %q: %w", i, *f.Name, err)
		}
		row.Fields = append(row.Fields, Field{Name: *f.Name, Type: t})
	}
	return row, nil
}

// FormatFields is the inverse of ParseFields.
func FormatFields(row Row) []byte {
	type field struct {
		Name string `json:"name"`
		Type string `json:"type"`
	}
	fields := make([]field, len(row.Fields))
	for i, f := range row.Fields {
		fields[i] = field{f.Name, f.Type.String()}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(fields); err != nil {
		panic(err) // strings always encode
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

type tokenKind uint8

const (
	symbol     tokenKind = iota // one of < > ( ) , .
	keyword                     // upper case
	identifier                  // bare or in back quotes
	literal                     // in single quotes
	integer
)

type token struct {
	kind tokenKind
	text string
	at   int
}

type parser struct {
	text   string
	tokens []token
	at     int
	err    error
}

// keywords are LogicalTypeParser's, of Flink 2.3. A bare word that is one can't be a field's name.
var keywords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`CHAR VARCHAR STRING BOOLEAN BINARY VARBINARY BYTES DECIMAL NUMERIC DEC TINYINT SMALLINT
		INT INTEGER BIGINT FLOAT DOUBLE PRECISION DATE TIME WITH WITHOUT LOCAL ZONE TIMESTAMP TIMESTAMP_LTZ INTERVAL YEAR
		MONTH DAY HOUR MINUTE SECOND TO ARRAY MULTISET MAP ROW NULL RAW LEGACY NOT DESCRIPTOR STRUCTURED VARIANT BITMAP`) {
		m[w] = true
	}
	return m
}()

func (p *parser) fail(what string) {
	if p.err == nil {
		at := len(p.text)
		if p.at < len(p.tokens) {
			at = p.tokens[p.at].at
		}
		p.err = fmt.Errorf("type %q: %s at offset %d", p.text, what, at)
	}
}

func (p *parser) tokenize() {
	const delimiters = "<>(),."
	for i := 0; i < len(p.text) && p.err == nil; {
		c := p.text[i]
		start := i
		switch {
		case strings.IndexByte(" \t\r\n\f\v", c) >= 0:
			i++
			continue
		case strings.IndexByte(delimiters, c) >= 0:
			i++
			p.tokens = append(p.tokens, token{symbol, p.text[start:i], start})
		case c == '\'' || c == '`':
			kind := literal
			if c == '`' {
				kind = identifier
			}
			var value string
			value, i = p.quoted(i)
			p.tokens = append(p.tokens, token{kind, value, start})
		case c >= '0' && c <= '9':
			for i < len(p.text) && p.text[i] >= '0' && p.text[i] <= '9' {
				i++
			}
			p.tokens = append(p.tokens, token{integer, p.text[start:i], start})
		default:
			for i < len(p.text) && strings.IndexByte(delimiters+" \t\r\n\f\v", p.text[i]) < 0 {
				i++
			}
			word := p.text[start:i]
			if upper := strings.ToUpper(word); keywords[upper] {
				p.tokens = append(p.tokens, token{keyword, upper, start})
			} else {
				p.tokens = append(p.tokens, token{identifier, word, start})
			}
		}
	}
}

// quoted reads a quoted string that starts at i; the quote stands for itself where it is doubled.
func (p *parser) quoted(i int) (string, int) {
	mark := p.text[i]
	var b strings.Builder
	for i++; i < len(p.text); i++ {
		if p.text[i] == mark {
			if i+1 >= len(p.text) || p.text[i+1] != mark {
				return b.String(), i + 1
			}
			i++
		}
		b.WriteByte(p.text[i])
	}
	if p.err == nil {
		p.err = fmt.Errorf("type %q: a quote is not closed", p.text)
	}
	return b.String(), i
}

// accept takes the next tokens if they are these symbols or keywords, one after the other.
func (p *parser) accept(words ...string) bool {
	if p.err != nil || p.at+len(words) > len(p.tokens) {
		return false
	}
	for i, w := range words {
		if t := p.tokens[p.at+i]; t.kind > keyword || t.text != w {
			return false
		}
	}
	p.at += len(words)
	return true
}

func (p *parser) expect(word string) {
	if !p.accept(word) {
		p.fail("expected " + word)
	}
}

func (p *parser) take(kind tokenKind, what string) string {
	if p.err != nil || p.at >= len(p.tokens) || p.tokens[p.at].kind != kind {
		p.fail("expected " + what)
		return ""
	}
	p.at++
	return p.tokens[p.at-1].text
}

func (p *parser) nextIs(kind tokenKind) bool {
	return p.err == nil && p.at < len(p.tokens) && p.tokens[p.at].kind == kind
}

func (p *parser) number(what string, least, most int) int {
	text := p.take(integer, what)
	if p.err != nil {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		p.fail(what + " " + text + " is out of range")
	}
	return n
}

// optional reads "(n)", or takes the default.
func (p *parser) optional(what string, byDefault, least, most int) int {
	if !p.accept("(") {
		return byDefault
	}
	n := p.number(what, least, most)
	p.expect(")")
	return n
}

func (p *parser) nullability(t *Type) {
	if p.accept("NOT", "NULL") {
		t.NotNull = true
	} else {
		p.accept("NULL")
	}
}

func (p *parser) parseType(depth int) Type {
	if depth > maxDepth {
		p.fail("nested too deeply")
	}
	if p.err != nil {
		return Type{}
	}
	var t Type
	if p.nextIs(identifier) {
		path := []string{quote(p.take(identifier, "a name"), "`")}
		for len(path) < 3 && p.accept(".") {
			path = append(path, quote(p.take(identifier, "a name"), "`"))
		}
		t = Type{Kind: UserDefined, Name: strings.Join(path, ".")}
	} else {
		t = p.parseKeyword(p.take(keyword, "a type"), depth)
	}
	p.nullability(&t)
	// Suffix notation. One level only, as in Flink.
	for kind, word := Array, "ARRAY"; ; kind, word = Multiset, "MULTISET" {
		if p.accept(word) {
			t = Type{Kind: kind, Fields: []Field{{Type: t}}}
			p.nullability(&t)
			return t
		}
		if kind == Multiset {
			return t
		}
	}
}

var plainKeywords = map[string]Kind{
	"BOOLEAN": Boolean, "TINYINT": TinyInt, "SMALLINT": SmallInt, "INT": Integer, "INTEGER": Integer, "BIGINT": BigInt,
	"FLOAT": Float, "DATE": Date, "NULL": Null, "DESCRIPTOR": Descriptor, "VARIANT": Variant, "BITMAP": Bitmap,
}

func (p *parser) parseKeyword(word string, depth int) Type {
	if kind, ok := plainKeywords[word]; ok {
		return Type{Kind: kind}
	}
	switch word {
	case "CHAR":
		return Type{Kind: Char, Length: p.optional("length", 1, 0, MaxLength)}
	case "VARCHAR":
		return Type{Kind: Varchar, Length: p.optional("length", 1, 0, MaxLength)}
	case "STRING":
		return Type{Kind: Varchar, Length: MaxLength}
	case "BINARY":
		return Type{Kind: Binary, Length: p.optional("length", 1, 0, MaxLength)}
	case "VARBINARY":
		return Type{Kind: Varbinary, Length: p.optional("length", 1, 0, MaxLength)}
	case "BYTES":
		return Type{Kind: Varbinary, Length: MaxLength}
	case "DECIMAL", "NUMERIC", "DEC":
		t := Type{Kind: Decimal, Precision: 10}
		if p.accept("(") {
			t.Precision = p.number("precision", 1, 38)
			if p.accept(",") {
				t.Scale = p.number("scale", 0, t.Precision)
			}
			p.expect(")")
		}
		return t
	case "DOUBLE":
		p.accept("PRECISION")
		return Type{Kind: Double}
	case "TIME":
		t := Type{Kind: Time, Precision: p.optional("precision", 0, 0, 9)}
		p.accept("WITHOUT", "TIME", "ZONE")
		return t
	case "TIMESTAMP":
		t := Type{Kind: Timestamp, Precision: p.optional("precision", 6, 0, 9)}
		switch {
		case p.accept("WITHOUT", "TIME", "ZONE"):
		case p.accept("WITH", "LOCAL", "TIME", "ZONE"):
			t.Kind = TimestampLTZ
		case p.accept("WITH", "TIME", "ZONE"):
			t.Kind = TimestampTZ
		}
		return t
	case "TIMESTAMP_LTZ":
		return Type{Kind: TimestampLTZ, Precision: p.optional("precision", 6, 0, 9)}
	case "INTERVAL":
		return p.parseInterval()
	default:
		return p.parseNested(word, depth)
	}
}

func (p *parser) parseNested(word string, depth int) Type {
	switch word {
	case "ARRAY", "MULTISET":
		kind := Array
		if word == "MULTISET" {
			kind = Multiset
		}
		p.expect("<")
		element := p.parseType(depth + 1)
		p.expect(">")
		return Type{Kind: kind, Fields: []Field{{Type: element}}}
	case "MAP":
		p.expect("<")
		key := p.parseType(depth + 1)
		p.expect(",")
		value := p.parseType(depth + 1)
		p.expect(">")
		return Type{Kind: Map, Fields: []Field{{Type: key}, {Type: value}}}
	case "ROW":
		end := ")"
		if !p.accept("(") {
			p.expect("<")
			end = ">"
		}
		return Type{Kind: RowKind, Fields: p.parseFields(end, depth)}
	case "STRUCTURED":
		p.expect("<")
		t := Type{Kind: Structured, Name: p.take(literal, "a class name")}
		if p.accept(",") {
			t.Fields = p.parseFields(">", depth)
		} else {
			p.expect(">")
		}
		return t
	case "RAW", "LEGACY":
		kind := Raw
		if word == "LEGACY" {
			kind = Legacy
		}
		p.expect("(")
		name := p.take(literal, "a class name")
		p.expect(",")
		detail := p.take(literal, "a string")
		p.expect(")")
		return Type{Kind: kind, Name: name, Detail: detail}
	default:
		p.fail("unexpected " + word)
		return Type{}
	}
}

func (p *parser) parseFields(end string, depth int) []Field {
	var fields []Field
	for p.err == nil && !p.accept(end) {
		if len(fields) > 0 {
			p.expect(",")
		}
		f := Field{Name: p.take(identifier, "a field name"), Type: p.parseType(depth + 1)}
		if p.err == nil && f.Name == "" {
			p.fail("empty field name")
		}
		if p.nextIs(literal) {
			f.Description, f.HasDescription = p.take(literal, "a description"), true
		}
		fields = append(fields, f)
	}
	return fields
}

// intervalUnits are the units an interval's first may run to, and the defaults are those of Flink's two interval types.
var intervalUnits = map[string][]string{
	"YEAR": {"MONTH"}, "MONTH": {}, "DAY": {"HOUR", "MINUTE", "SECOND"}, "HOUR": {"MINUTE", "SECOND"}, "MINUTE": {"SECOND"},
	"SECOND": {},
}

func (p *parser) parseInterval() Type {
	t := Type{Kind: IntervalDayTime, Precision: 2, Scale: 6}
	first := p.take(keyword, "an interval's unit")
	ends, ok := intervalUnits[first]
	if !ok {
		p.fail("unexpected " + first)
		return t
	}
	t.Name = first
	switch first {
	case "YEAR":
		t.Precision = p.optional("precision", 2, 1, 4)
	case "DAY":
		t.Precision = p.optional("precision", 2, 1, 6)
	case "SECOND":
		t.Scale = p.optional("precision", 6, 0, 9)
	}
	if first == "YEAR" || first == "MONTH" {
		t.Kind, t.Scale = IntervalYearMonth, 0
	}
	if !p.accept("TO") {
		return t
	}
	for _, end := range ends {
		if p.accept(end) {
			t.Name += " TO " + end
			if end == "SECOND" {
				t.Scale = p.optional("precision", 6, 0, 9)
			}
			return t
		}
	}
	p.fail("no such interval")
	return t
}
