package chart

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCurvesAreWellFormed(t *testing.T) {
	svg := Curves("Growth & more", "connections", []int{100, 1000, 100_000}, []Curve{
		{"processor, %", []float64{0.3, 0.5, 3}}, {"memory, MiB", []float64{14, math.NaN(), 15}}, {"nothing, ms", []float64{0, 0, 0}},
	})
	wellFormed(t, svg)
	assert.Contains(t, svg, "Growth &amp; more, for 100 to 100,000 connections.")
	assert.NotContains(t, svg, "NaN")
	assert.NotContains(t, svg, "script")
	assert.NotContains(t, strings.ReplaceAll(svg, "http://www.w3.org/2000/svg", ""), "http")
	assert.Equal(t, 3, strings.Count(svg, `class="a"`), "a curve in each panel")
}

func TestCurveIsBelowLinearGrowth(t *testing.T) {
	p := panel{width: 100, counts: []int{1, 10, 1000}, most: 50}
	assert.InDelta(t, 0, p.x(1), 0)
	assert.InDelta(t, 33.3, p.x(10), 0.1)
	assert.InDelta(t, 100, p.x(1000), 0)
	assert.Greater(t, p.y(0), p.y(50))
	linear := p.linear([]float64{2, 3, 50})
	assert.Equal(t, []float64{2, 20}, linear[:2])
	assert.True(t, math.IsNaN(linear[2]), "it is beyond the panel")
}

func TestNumbersOfAnAxis(t *testing.T) {
	assert.Equal(t, "100,000", grouped(100_000))
	assert.Equal(t, "1,000", grouped(1000))
	assert.Equal(t, "100", grouped(100))
	assert.Equal(t, "0.33", short(0.334))
	assert.Equal(t, "12", short(12.4))
}
