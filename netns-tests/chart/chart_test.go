package chart

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func wellFormed(t *testing.T, svg string) {
	d, err := xml.NewDecoder(strings.NewReader(svg)), error(nil)
	for err == nil {
		_, err = d.Token()
	}
	require.ErrorIs(t, err, io.EOF)
}
