# Two commands set everything up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tools whose pins fight ours live in environments of their own: the AWS emulator, the SAM command line, and what a
# Lambda function finds in its runtime beside its own folder.
TOOLS := .tools
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test check serve bench setup setup-dev tools clean

demo: setup ## a built-in brief becomes out/demo.mp4 through the real job flow
	$(BIN)/spokesmodel demo --out out

test: setup-dev tools ## every test
	$(BIN)/python -m pytest -q -n 2 --dist loadscope

check: setup-dev ## style, types, import contracts, template, links
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.architecture.links

serve: setup ## the whole backend on loopback
	$(BIN)/spokesmodel serve

bench: setup-dev ## figures into benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks

setup: $(VENV)/.installed
setup-dev: $(VENV)/.installed-dev

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt models/weights.toml | $(VENV)/bin/python
	$(PIP_INSTALL) -e '.[speech]'
	$(BIN)/python -m models.weights embedded
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP_INSTALL) -e '.[speech,dev]'
	$(BIN)/python -m models.weights embedded test
	touch $@

tools: $(TOOLS)/ministack/.installed $(TOOLS)/sam/.installed $(TOOLS)/runtime/.installed

$(TOOLS)/%/.installed: tests/cloud/requirements/%.txt
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

clean: ## what was built and made; not the fetched model files
	rm -rf $(VENV) $(TOOLS) out .spokesmodel .mypy_cache .ruff_cache .pytest_cache
