// Package chart draws measurements as SVG, without a script and without anything that a page would have to load.
//
// No goroutine, no state.
package chart
