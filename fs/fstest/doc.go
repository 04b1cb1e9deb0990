// Package fstest is what every implementation of fs.FS must do. An implementation's tests call Run.
package fstest
