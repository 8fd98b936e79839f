# Two commands set everything up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tools whose pins fight ours live in environments of their own: the AWS emulator, the SAM command line, and what a
# Lambda function finds in its runtime beside its own folder.
TOOLS := .tools
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-sam check serve bench setup setup-dev tools package packages lock sbom clean

demo: setup ## a built-in brief becomes out/demo.mp4 through the real job flow
	$(BIN)/spokesmodel demo --out out

test: setup-dev tools packages ## every test
	$(BIN)/python -m pytest -q -n 2 --dist loadscope

test-sam: $(TOOLS)/sam/.installed ## every function in its Lambda container, with its recorded event; needs Docker
	SAM_CLI_TELEMETRY=0 $(TOOLS)/sam/bin/sam build
	for event in events/*.json; do \
		SAM_CLI_TELEMETRY=0 $(TOOLS)/sam/bin/sam local invoke "$$(basename "$$event" .json)" -e "$$event" || exit 1; done

check: setup-dev $(TOOLS)/sam/.installed ## style, types, import contracts, template, links
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.architecture.links
	$(TOOLS)/sam/bin/cfn-lint template.yaml
	SAM_CLI_TELEMETRY=0 $(TOOLS)/sam/bin/sam validate --lint --region eu-central-1

serve: setup ## the whole backend on loopback
	$(BIN)/spokesmodel serve

bench: setup-dev ## figures into benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks

# The folder that every function is made of: our code beside lambdas/requirements.txt as wheels of the runtime's Python.
# `sam build` comes in by build-*Function. Tests want one for the Python that they run on, too.
LAMBDA_PYTHON ?= 3.13
OUR_PYTHON = $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
STAGED = build/lambda-$(LAMBDA_PYTHON)
STAGED_FROM := $(shell find lambdas services -type f -not -path '*/__pycache__/*')

package: $(STAGED)/.staged ## the functions' folder, below build/

packages:
	$(MAKE) --no-print-directory package
	$(MAKE) --no-print-directory package LAMBDA_PYTHON=$(OUR_PYTHON)

build/wheels-%/.installed: lambdas/requirements.txt
	rm -rf $(@D)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: --no-compile \
		--implementation cp --python-version $* --platform manylinux_2_28_x86_64 \
		--platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 --target $(@D) -r lambdas/requirements.txt
	rm -rf $(@D)/bin
	-python$* -m compileall -q --invalidation-mode unchecked-hash $(@D) # else each cold start does it
	touch $@

$(STAGED)/.staged: build/wheels-$(LAMBDA_PYTHON)/.installed $(STAGED_FROM)
	rm -rf $(STAGED)
	cp -R $(<D) $(STAGED)
	cp -R lambdas services $(STAGED)/
	find $(STAGED)/lambdas $(STAGED)/services -name __pycache__ -prune -exec rm -rf {} +
	-python$(LAMBDA_PYTHON) -m compileall -q --invalidation-mode unchecked-hash $(STAGED)/lambdas $(STAGED)/services
	rm $(STAGED)/.installed
	mkdir $(STAGED)/spokesmodel-$(VERSION).dist-info # for the version that /v1/health tells
	printf 'Metadata-Version: 2.1\nName: spokesmodel\nVersion: $(VERSION)\n' > $(STAGED)/spokesmodel-$(VERSION).dist-info/METADATA
	touch $@

build-%Function: package
	cp -R $(STAGED)/. $(ARTIFACTS_DIR)/

# Exact versions with checksums: of the product for every platform and Python that it takes, and of the functions' folder.
LOCK := $(TOOLS)/supply/bin/uv pip compile --quiet --upgrade --generate-hashes --no-annotate \
	--custom-compile-command 'make lock' -c constraints.txt

lock: $(TOOLS)/supply/.installed ## locks/, from pyproject.toml, lambdas/requirements.txt and constraints.txt
	$(LOCK) --universal --python-version 3.11 --extra speech pyproject.toml -o locks/product.txt
	$(LOCK) --python-version $(LAMBDA_PYTHON) --python-platform x86_64-manylinux_2_28 lambdas/requirements.txt \
		-o locks/functions.txt

sbom: build/sbom.cdx.json ## the software bill of materials: CycloneDX of a clean installation, with the model files

build/product/.installed: locks/product.txt pyproject.toml
	rm -rf $(@D)
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r locks/product.txt
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps .
	touch $@

build/sbom.cdx.json: build/product/.installed $(TOOLS)/supply/.installed models/weights.toml
	$(TOOLS)/supply/bin/cyclonedx-py environment --pyproject pyproject.toml --sv 1.6 --output-reproducible -o $@ \
		build/product/bin/python
	build/product/bin/python -m models.bill_of_materials $@

setup: $(VENV)/.installed
setup-dev: $(VENV)/.installed-dev

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt models/weights.toml | $(VENV)/bin/python
	$(PIP_INSTALL) -e '.[speech]'
	$(BIN)/python -m models.weights embedded
	$(BIN)/python -c "import pymatting" # it compiles itself when first imported: here, and not while somebody waits
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP_INSTALL) -e '.[speech,training,dev]'
	$(BIN)/python -m models.weights embedded test
	touch $@

tools: $(TOOLS)/ministack/.installed $(TOOLS)/sam/.installed $(TOOLS)/runtime/.installed $(TOOLS)/supply/.installed

$(TOOLS)/%/.installed: tests/cloud/requirements/%.txt
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

clean: ## what was built and made; not the fetched model files
	rm -rf $(VENV) $(TOOLS) build out .spokesmodel .mypy_cache .ruff_cache .pytest_cache
