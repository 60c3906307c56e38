"""The paper's findings and tables beside what was measured."""
