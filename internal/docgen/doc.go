// Command docgen writes the reference pages from the tables in the code, so that they cannot fall behind.
//
//	go run ./internal/docgen            write docs/reference
//
// Its test fails when a page in the tree differs from what it would write: `make docs` and commit.
package main
