package checksum

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The example of RFC 1071 section 3.
func TestFoldIsTheSumOfTheStandard(t *testing.T) {
	b := []byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}
	assert.Equal(t, uint16(0xddf2), Fold(Add(0, b)))
	assert.Equal(t, Fold(Add(0, b)), Fold(Add(Add(0, b[:4]), b[4:])))
	assert.Equal(t, Fold(Add(0, append(b, 0x12, 0))), Fold(Add(0, append(b, 0x12))), "padded with a zero")
}
