package chart

import (
	"fmt"
	"math"
	"strings"
)

// Bars are the figures of several under one heading.
type Bars struct {
	Heading string
	Bars    []Bar
}

// Bar is one figure, with the words that stand behind it.
type Bar struct {
	Name  string
	Value float64 // NaN: not measured, then only the words are drawn
	Words string
	Own   bool // drawn in the colour of what the picture is about
}

const (
	barHeight, barGap, headingHeight = 16, 6, 30
	barLeft, barRight                = 150, 170
)

// Horizontal draws the figures as bars on one logarithmic axis that begins at 1, so that milliseconds and half minutes fit side by side.
func Horizontal(title, axis string, groups []Bars) string {
	height, most := 56, 10.0
	for _, g := range groups {
		height += headingHeight + len(g.Bars)*(barHeight+barGap)
		for _, b := range g.Bars {
			if b.Value > most {
				most = b.Value
			}
		}
	}
	var b strings.Builder
	Begin(&b, width, height+20, title+", "+axis+".", title)
	Text(&b, "t h", margin, 30, "start", title)
	Text(&b, "s", width-margin, 30, "end", axis)
	y := 44
	for _, g := range groups {
		Text(&b, "s h", margin, y+20, "start", g.Heading)
		y += headingHeight
		for _, bar := range g.Bars {
			Text(&b, "s", barLeft-8, y+barHeight-4, "end", bar.Name)
			long := 0.0
			if !math.IsNaN(bar.Value) {
				long = math.Max(2, tenth(math.Log10(math.Max(bar.Value, 1))/math.Log10(most)*(width-barLeft-barRight)))
				class := "o"
				if bar.Own {
					class = "g"
				}
				fmt.Fprintf(&b, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%g\" height=\"%d\"/>\n", class, barLeft, y, long, barHeight)
			}
			Text(&b, "s", barLeft+long+6, y+barHeight-4, "start", bar.Words)
			y += barHeight + barGap
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}
