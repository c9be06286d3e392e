"""A floor.yaml that would reproduce the engines that run already. Pure: what was found comes from
`floor.box.foreign`."""
