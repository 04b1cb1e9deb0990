// Package all names every plug-in of the binary, one line each.
package all
