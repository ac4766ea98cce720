// Package logical has Flink's logical types, as far as their text form LogicalType.asSerializableString() tells them. That
// form says nothing of time attributes, comparators or serializer classes, and an operator needs none of it.
package logical

import (
	"strconv"
	"strings"
)

// Kind is a type's root, LogicalTypeRoot in Flink.
type Kind uint8

// The kinds. Of UserDefined only the name is known.
const (
	Char Kind = iota + 1
	Varchar
	Boolean
	Binary
	Varbinary
	Decimal
	TinyInt
	SmallInt
	Integer
	BigInt
	Float
	Double
	Date
	Time
	Timestamp
	TimestampTZ
	TimestampLTZ
	IntervalYearMonth
	IntervalDayTime
	Array
	Multiset
	Map
	RowKind
	Structured
	UserDefined
	Null
	Raw
	Legacy
	Descriptor
	Variant
	Bitmap // since Flink 2.3
)

// MaxLength is the length of STRING and BYTES.
const MaxLength = 2147483647

// Type is a logical type. Which of the fields mean something depends on Kind.
type Type struct {
	Kind      Kind
	NotNull   bool
	Length    int     // Char, Varchar, Binary, Varbinary
	Precision int     // Decimal, Time, Timestamp*; digits of an interval's years or days
	Scale     int     // Decimal; digits of an interval's fraction of a second
	Fields    []Field // RowKind and Structured; unnamed: element of Array and Multiset, key and value of Map
	Name      string  // interval's resolution ("DAY TO SECOND"); class of Structured, Raw, Legacy; UserDefined's quoted path
	Detail    string  // Raw's serializer, Legacy's second string
}

// Field is a named part of a row.
type Field struct {
	Name           string
	Type           Type
	Description    string
	HasDescription bool
}

// Row is the type of a row: what the host declares of an input or output.
type Row struct {
	Fields []Field
}

// Len is the number of fields.
func (r Row) Len() int { return len(r.Fields) }

// Types are the fields' types.
func (r Row) Types() []Type {
	types := make([]Type, len(r.Fields))
	for i, f := range r.Fields {
		types[i] = f.Type
	}
	return types
}

var plainNames = map[Kind]string{
	Boolean: "BOOLEAN", TinyInt: "TINYINT", SmallInt: "SMALLINT", Integer: "INT", BigInt: "BIGINT", Float: "FLOAT",
	Double: "DOUBLE", Date: "DATE", Descriptor: "DESCRIPTOR", Variant: "VARIANT", Bitmap: "BITMAP",
}

// String is the type's asSerializableString.
func (t Type) String() string {
	var b strings.Builder
	t.write(&b)
	return b.String()
}

func (t Type) write(b *strings.Builder) {
	number := func(name string, n int, suffix string) {
		b.WriteString(name + "(" + strconv.Itoa(n) + ")" + suffix)
	}
	switch t.Kind {
	case Char:
		number("CHAR", t.Length, "")
	case Binary:
		number("BINARY", t.Length, "")
	case Varchar, Varbinary:
		long, name := "STRING", "VARCHAR"
		if t.Kind == Varbinary {
			long, name = "BYTES", "VARBINARY"
		}
		if t.Length == MaxLength {
			b.WriteString(long)
		} else {
			number(name, t.Length, "")
		}
	case Decimal:
		b.WriteString("DECIMAL(" + strconv.Itoa(t.Precision) + ", " + strconv.Itoa(t.Scale) + ")")
	case Time:
		number("TIME", t.Precision, "")
	case Timestamp:
		number("TIMESTAMP", t.Precision, "")
	case TimestampTZ:
		number("TIMESTAMP", t.Precision, " WITH TIME ZONE")
	case TimestampLTZ:
		number("TIMESTAMP", t.Precision, " WITH LOCAL TIME ZONE")
	case IntervalYearMonth, IntervalDayTime:
		t.writeInterval(b)
	case Array:
		writeFields(b, "ARRAY<", t.Fields, ">")
	case Multiset:
		writeFields(b, "MULTISET<", t.Fields, ">")
	case Map:
		writeFields(b, "MAP<", t.Fields, ">")
	case RowKind:
		writeFields(b, "ROW<", t.Fields, ">")
	case Structured:
		// Flink writes the separator even if there are no attributes.
		writeFields(b, "STRUCTURED<"+quote(t.Name, "'")+", ", t.Fields, ">")
	case Raw:
		b.WriteString("RAW(" + quote(t.Name, "'") + ", " + quote(t.Detail, "'") + ")")
	case Legacy:
		b.WriteString("LEGACY(" + quote(t.Name, "'") + ", " + quote(t.Detail, "'") + ")")
	case UserDefined:
		b.WriteString(t.Name)
	case Null:
		b.WriteString("NULL")
		return // has no NOT NULL form
	default:
		b.WriteString(plainNames[t.Kind])
	}
	if t.NotNull {
		b.WriteString(" NOT NULL")
	}
}

func writeFields(b *strings.Builder, open string, fields []Field, end string) {
	b.WriteString(open)
	for i, f := range fields {
		if i > 0 {
			b.WriteString(", ")
		}
		if f.Name != "" {
			b.WriteString(quote(f.Name, "`") + " ")
		}
		f.Type.write(b)
		if f.HasDescription {
			b.WriteString(" " + quote(f.Description, "'"))
		}
	}
	b.WriteString(end)
}

// writeInterval puts the digits where YearMonthIntervalType and DayTimeIntervalType put them: behind YEAR and DAY, and
// behind SECOND.
func (t Type) writeInterval(b *strings.Builder) {
	b.WriteString("INTERVAL")
	for _, unit := range strings.Fields(t.Name) {
		b.WriteString(" " + unit)
		switch unit {
		case "YEAR", "DAY":
			b.WriteString("(" + strconv.Itoa(t.Precision) + ")")
		case "SECOND":
			b.WriteString("(" + strconv.Itoa(t.Scale) + ")")
		}
	}
}

func quote(s, mark string) string { return mark + strings.ReplaceAll(s, mark, mark+mark) + mark }
