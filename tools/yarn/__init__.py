"""Runs nightly on Hadoop's mini clusters, YARN and HDFS; compares its tables with a local run's."""
