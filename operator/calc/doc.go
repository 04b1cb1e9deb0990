// Package calc filters and projects: the WHERE and the SELECT list of an INSERT, and a source's watermark expression.
package calc
