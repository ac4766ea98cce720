package javamap_test

import (
	"fmt"
	"strings"
	"testing"

	"drey/native/javamap"
)

// The orders were printed by the HashMap of OpenJDK 17: computeIfAbsent of keys (7919 * i) mod 211, whose hashCode is theirs
// times 0x9E3779B9, masked; after each fifth the one of three steps before is removed; twice, with clear between.
func TestMapWalksAsJavaDoes(t *testing.T) {
	for _, test := range []struct {
		mask  int32
		steps int
		want  string
	}{
		{-1, 10, "52 0 125 13 151 26 164 138"},
		{-1, 13, "52 0 177 125 13 151 26 78 65 164 138"},
		{-1, 14, "52 0 190 177 125 13 151 26 78 65 164 138"},
		{-1, 40, "0 208 125 44 83 5 36 164 135 203 10 52 117 130 122 109 138 190 18 148 151 26 195 57 143 65 156 13 182 78 91 70"},
		{-1, 130, "0 87 85 83 77 174 160 164 166 168 10 93 176 158 2 101 20 22 184 61 28 69 30 95 12 119 4 111 103 43 124 127 208 41 " +
			"125 44 205 38 207 203 122 142 192 109 138 189 106 190 26 59 108 57 9 156 74 75 173 140 25 91 82 5 90 179 155 163 171 62 " +
			"187 151 195 143 13 54 78 70 46 36 135 199 52 51 114 117 130 35 134 200 147 18 17 148 150 65 197 98 100 67 181 182 116 49 132 33"},
		{-16776961, 10, "0 164 52 125 13 138 26 151"},
		{-16776961, 13, "0 164 52 125 13 177 65 138 26 78 151"},
		{-16776961, 14, "0 164 52 125 13 177 65 138 26 190 78 151"},
		{-16776961, 40, "0 18 91 36 164 109 182 26 44 117 190 135 208 52 125 70 143 5 78 151 13 122 195 57 130 203 148 65 10 138 83 156"},
		{112, 10, "164 26 13 0 52 151 138 125"},
		{112, 13, "177 164 26 13 0 78 65 52 151 138 125"},
		{112, 14, "190 177 164 26 13 0 78 65 52 151 138 125"},
	} {
		var m javamap.Map[int]
		key := func(i int) (n int, bytes []byte, hash int32) {
			n = i * 7919 % 211
			return n, fmt.Append(nil, n), int32(uint32(n)*0x9E3779B9) & test.mask
		}
		for range 2 {
			m.Clear()
			for i := range test.steps {
				n, bytes, hash := key(i)
				*m.Of(bytes, hash) = n
				if i%5 == 4 {
					_, bytes, hash := key(i - 3)
					m.Remove(bytes, hash)
				}
			}
		}
		var got []string
		m.All(func(_ []byte, n *int) { got = append(got, fmt.Sprint(*n)) })
		if strings.Join(got, " ") != test.want {
			t.Errorf("mask %#x, %d steps:\n%s\nwant\n%s", test.mask, test.steps, strings.Join(got, " "), test.want)
		}
	}
}
