"""`regroup what-if`: predict a group's rebalances under other settings, from a lake's evidence.

The prediction itself is coordinator_core.whatif.  This package reads its input and prints the
result.  The evidence of a group is read by SQL that all engines run (schemas/evidence), and one
class computes from it.  Therefore the advice of a nightly run and `regroup what-if` are predicted
from the same evidence.

One group is read with DuckDB, without a JVM; jobs.what_if_sweep predicts all groups by the engine
of the run into the tables process_lives, what_if, advice and migration_advice; jobs.advice_outcomes
keeps the advice.

- evidence:          a group's evidence: baseline, observed figures, conversions, blockers

One group:

- command:           `regroup what-if`: observed, model and predicted figures; advice
- plan:              `regroup plan`: what each way to deploy the group costs
- autoscale:         `regroup plan --autoscaler`: the observed load under other policies
- scaled_object:     the policy of a KEDA ScaledObject
- gate:              `regroup gate`: whether a deployment is complete

All groups:

- sweep_command:     `regroup what-if-sweep`: runs the job, and prints the advice
- screen:            which groups are simulated within a budget, and which share their advice
- shared_advice:     the advice of a group that a simulated group is like
- sweep:             what all predictions have in common: periods, changes, earlier outcomes
- predicted_groups:  the prediction of one group from its evidence
- result_rows:       rows of process_lives, what_if and advice
- migration_rows:    rows of migration_advice
- kept_advice: rows of advice_outcomes: advice that was given, and its outcome

Both:

- periods:           the period of a group's evidence that its advice is about
- earlier_outcomes:  outcomes of simulations that are not repeated
- advice_columns:    the fields of advice that table and JSON share
"""
