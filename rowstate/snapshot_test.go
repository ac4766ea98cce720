package rowstate

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func writeFrames(t *testing.T, records ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewFrameWriter(&out, FrameHeader{Fingerprint: 0x0102030405060708})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		half := len(r) / 2
		if err := w.Write([]byte(r[:half]), []byte(r[half:])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func readFrames(b []byte) (records []string, err error) {
	r, err := NewFrameReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	if h := r.Header(); h.Fingerprint != 0x0102030405060708 {
		return nil, fmt.Errorf("header %+v", h)
	}
	for {
		record, err := r.Next()
		if err == io.EOF {
			_, again := r.Next()
			if again != io.EOF {
				return nil, errors.New("the end was not the end")
			}
			return records, nil
		}
		if err != nil {
			return records, err
		}
		records = append(records, string(record))
	}
}

func TestFramesRoundTrip(t *testing.T) {
	for _, want := range [][]string{nil, {""}, {"a"}, {"", "abc", strings.Repeat("x", 200000), ""}} {
		got, err := readFrames(writeFrames(t, want...))
		if err != nil || len(got) != len(want) {
			t.Fatal(len(got), err)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("record %d differs", i)
			}
		}
	}
}

// TestFrameBytes pins version 1. The checksums are those of RFC 3720's CRC-32C, computed by hand of another tool:
// crc32c("123456789") = e3069283 is the check value of the algorithm's catalogue entry.
func TestFrameBytes(t *testing.T) {
	got := hex.EncodeToString(writeFrames(t, "123456789")[:8+8+8+9])
	want := "44524559ffffff01" + "0807060504030201" + "09000000" + "839206e3" + "313233343536373839"
	if got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
}

func TestBrokenFramesAreRefused(t *testing.T) {
	good := writeFrames(t, "one", "two", "three")
	for n := range good {
		if got, err := readFrames(good[:n]); err == nil {
			t.Fatalf("cut to %d of %d bytes: read %q", n, len(good), got)
		} else if e := new(FrameError); !errors.As(err, &e) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
	for n := range good {
		for bit := range 8 {
			bad := bytes.Clone(good)
			bad[n] ^= 1 << bit
			if got, err := readFrames(bad); err == nil {
				t.Fatalf("bit %d of byte %d flipped: read %q", bit, n, got)
			}
		}
	}
	if _, err := readFrames([]byte("\x00\x00\x00\x05hello world, this is another format")); err == nil {
		t.Fatal("a foreign stream was read")
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("DREY\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = readFrames(b)
	})
}
