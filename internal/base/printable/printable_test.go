package printable

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestClean(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 10, ""},
		{"n1", 10, "n1"},
		{"a\nb\xffc", 10, "a b c"},
		{"\x1b[31m", 10, " [31m"},
		{"ää", 3, "ä"},
		{"abc", 0, ""},
	} {
		assert.Equal(t, c.want, Clean(c.text, c.most), "%q", c.text)
	}
}
