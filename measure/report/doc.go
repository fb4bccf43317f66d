// Package report presents results: as one HTML page, and every plot as SVG, PNG, CSV and JSON.
//
// The page needs no network and no other file. It has a light and a dark theme, and prints.
//
// # From a result to a picture
//
//	result.Figure + runs → chart     the values to draw: newChart
//	chart + width        → layout    their places: scales, ticks, legend: lay
//	layout               → canvas    lines, bars and words: draw
//
// All of these are pure. A canvas is SVG or an image, so both files show the same picture. The page has each plot twice,
// for wide and for narrow windows, so that words keep their size.
//
// # Rules of the pictures
//
// Values begin at 0. Whiskers are one standard deviation. The theoretical peak is a dotted line. With one run a colour is
// a condition; with several it is a run, and dashes are conditions. A measure without the label of the axis is a line
// from side to side: published maxima often do not give the number of clients. Estimates are marked as estimates.
//
// # Text
//
// Titles, labels and notes come from files of unknown origin. gomponents escapes those in the page, and the SVG canvas
// those in plots.
package report
