// Reads dashboards with the types that Grafana publishes for its dashboard schema.  Fails for an
// unknown field, a missing required field, or a value of a wrong type.
//
//	go run . FILE...
package main

import (
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

func main() {
	types := cog.NewRuntime()
	types.RegisterPanelcfgVariant(stat.VariantConfig())
	types.RegisterPanelcfgVariant(table.VariantConfig())
	types.RegisterPanelcfgVariant(timeseries.VariantConfig())
	types.RegisterDataqueryVariant(prometheus.VariantConfig())
	for _, file := range os.Args[1:] {
		if err := check(file); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", file, err)
			os.Exit(1)
		}
	}
}

func check(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var model dashboard.Dashboard
	// Without errors the result is an empty list, which is not nil.
	if err := model.UnmarshalJSONStrict(text); err != nil && err.Error() != "" {
		return err
	}
	return model.Validate()
}
