// Package connectortest checks connectors against the contracts of package connector.
package connectortest
