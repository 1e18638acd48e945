"""Readers of agent logs: from files of many formats to conversations of calls and answers."""
