"""Adapters: one module per framework; nothing else imports a framework."""
