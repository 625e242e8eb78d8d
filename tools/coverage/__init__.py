"""How often the predicted ranges hold the truth, and the widening that makes them hold it.

    make -C tools coverage-of-ranges

Each group of each capture with truth is predicted under its own settings and under those of its
twins, the groups that played the same script with other settings.  A figure of a prediction is a
row: the range and the median over the seeds, and the truth.  Ranges are too narrow where the model
has errors that no seed draws, so they are widened by the errors of the captures
(schemas/prediction_ranges.json).  A script is judged by the widening of the other scripts.

- captures: the captures with their truth; the settings of twins
- rows:     predictions of captures and of deployments beside the truth
- widening: the widening that the rows give; how often widened ranges hold the truth
"""
