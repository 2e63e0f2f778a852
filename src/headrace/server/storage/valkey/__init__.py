"""The live log in Valkey or Redis, beside a store in PostgreSQL."""
