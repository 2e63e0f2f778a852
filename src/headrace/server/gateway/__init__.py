"""The gateway: models of providers for the clients of every door, with the keys of the operator."""

from headrace.server.gateway.config import GatewayConfig, read_gateway_config
from headrace.server.gateway.gateway import Gateway

__all__ = ["Gateway", "GatewayConfig", "read_gateway_config"]
