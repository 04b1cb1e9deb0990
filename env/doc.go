// Package env is the only way in which the engine meets time, chance and concurrency, so that the same code runs in production and, from
// one seed, in simulation (internal/sim).
//
// The engine blocks in two places only: in Signal.Wait and inside an fs or client call. It holds no lock across either.
package env
