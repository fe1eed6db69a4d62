package chart

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBarsAreWellFormedAndInProportion(t *testing.T) {
	svg := Horizontal("A & B", "ms", []Bars{{Heading: "x < y", Bars: []Bar{
		{Name: "one", Value: 10, Words: "10", Own: true}, {Name: "two", Value: 100, Words: "100"}, {Name: "three", Value: math.NaN(), Words: "does not know"},
	}}})
	wellFormed(t, svg)
	assert.Contains(t, svg, `<rect class="g" x="150" y="74" width="320"`) // half of the logarithm of the most
	assert.Contains(t, svg, `<rect class="o" x="150" y="96" width="640"`)
	assert.Equal(t, 1, strings.Count(svg, `class="g"`))
	assert.Contains(t, svg, "does not know")
}
