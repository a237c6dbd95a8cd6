"""How people drive it: the command line, the gateway, experiments, benchmarks, deployment."""
