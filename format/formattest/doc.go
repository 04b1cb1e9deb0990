// Package formattest has what every format must keep: a suite for decoders and one for file writers, each run by the format's own tests,
// and columns of random values to feed them.
package formattest
