"""The datacenter network: aggregation blocks joined directly through OCSes ([LF] 2.1; Jupiter Evolving)."""
