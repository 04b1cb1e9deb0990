package tmpdeps
import (
 _ "github.com/apache/arrow-go/v18/arrow/array"
 _ "github.com/apache/arrow-go/v18/parquet/pqarrow"
 _ "github.com/apache/arrow-go/v18/parquet/file"
 _ "github.com/twmb/franz-go/pkg/kgo"
 _ "github.com/twmb/franz-go/pkg/kadm"
 _ "github.com/twmb/franz-go/pkg/kmsg"
 _ "github.com/twmb/franz-go/pkg/kfake"
 _ "github.com/klauspost/compress/snappy"
 _ "github.com/prometheus/client_golang/prometheus/promhttp"
 _ "github.com/spf13/cobra"
 _ "go.yaml.in/yaml/v3"
 _ "github.com/cockroachdb/apd/v3"
 _ "pgregory.net/rapid"
 _ "golang.org/x/sys/unix"
)
