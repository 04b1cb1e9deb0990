// Package fault classifies errors at the place that knows what they mean. The restart strategy and the exit code look at the class only.
package fault
