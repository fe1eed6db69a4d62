package main

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

func sample() picture {
	return picture{
		Title: "n2 holds 10.77.0.100, and dies", Nodes: 3, Victim: 2, Taker: 3,
		Adverts: []sign{{2, -90 * ms}, {3, 301 * ms}, {3, 401 * ms}, {3, 2 * time.Second}},
		Bound:   302 * ms, Announce: []time.Duration{303 * ms}, Gone: 1 * ms, Back: 304 * ms, Lost: 303,
	}
}

func TestPictureIsWellFormed(t *testing.T) {
	svg := draw(sample())
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
	}
	assert.Contains(t, svg, "no answer for 303 ms")
	assert.Contains(t, svg, "n3 hears none for three intervals and its Skew_Time, binds the address after 302 ms and announces it after 303 ms.")
	assert.Equal(t, 3, strings.Count(svg, `<line class="a"`), "what is beyond the end is left out")
	assert.NotContains(t, svg, "script")
	assert.NotContains(t, strings.ReplaceAll(svg, "http://www.w3.org/2000/svg", ""), "http")
}

func TestPictureKeepsTheOrderOfWhatHappened(t *testing.T) {
	assert.Less(t, x(-90*ms), x(0))
	assert.Less(t, x(0), x(303*ms))
	assert.LessOrEqual(t, x(time.Hour), float64(width-right))
	assert.InDelta(t, left, x(-time.Hour), 0)
}
