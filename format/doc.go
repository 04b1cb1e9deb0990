// Package format has the contracts between bytes and columns.
package format
