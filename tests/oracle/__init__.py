# SPDX-License-Identifier: Apache-2.0
"""A second executor of H13 task descriptors, written from the public facts and from nothing of ours.

It shares no code and no tables with the engine: what both say is said twice, by two readers of the same facts. It is slow, plain and complete rather
than careful about hostile input; tests/test_oracle.py compares its bytes with those of the command.
"""
