"""Imports point one way, lowest first, and the command line starts fast."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import obverse

HOME = Path(obverse.__file__).parent
LAYERS = [
    {"errors", "sampling", "log", "records", "provenance", "text_table"},
    {"identity", "inputs", "files"},
    {"stages", "onnx_model", "models", "model_digest", "trec", "endpoint", "mteb_adapter"},
    {"sample", "read", "search", "corpus_vectors", "filed_docs"},
    {"mine", "llm", "write", "split", "dedup"},
    {"mix", "ledger", "cards"},
    {"synthesis", "filters", "training", "measures", "rankers"},
    {"check", "audit", "benchmarks", "measuring"},
    {"evaluate"},
    {"results", "prompts"},
    {"set_means", "mteb_results"},
    {"compare", "probe", "probe_kinds", "probe_input", "moves", "gate"},
    {"report"},
    {"demo"},
    {"recipes"},
    {"cli"},
]
HEAVY = {
    "torch",
    "sentence_transformers",
    "transformers",
    "bm25s",
    "pyarrow",
    "datasets",
    "aiohttp",
}


def _layer(name: str) -> int:
    for number, names in enumerate(LAYERS):
        if name in names:
            return number
    raise AssertionError(f"obverse.{name} has no layer: give it one in {__file__}")


def _imports(path: Path, *, top_level: bool) -> set[str]:
    tree = ast.parse(path.read_text())
    nodes = ast.walk(tree) if not top_level else iter(tree.body)
    found = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def _modules() -> list[tuple[str, Path]]:
    paths = [
        p
        for p in sorted(HOME.rglob("*.py"))
        if p.relative_to(HOME).parts[0] not in ("__main__.py", "__init__.py")
    ]
    return [(p.relative_to(HOME).parts[0].removesuffix(".py"), p) for p in paths]


def test_imports_point_one_way() -> None:
    wrong = []
    for name, path in _modules():
        for module in _imports(path, top_level=True):
            if module.startswith("obverse."):
                other = module.split(".")[1]
                if _layer(other) > _layer(name):
                    wrong.append(f"{path.relative_to(HOME)} imports obverse.{other}")
    assert not wrong, wrong


def test_heavy_packages_are_imported_inside_the_stage_that_needs_them() -> None:
    for name, path in _modules():
        if name in ("training", "llm"):  # the command imports them when it runs
            continue
        heavy = {m for m in _imports(path, top_level=True) if m.split(".")[0] in HEAVY}
        assert not heavy, f"{path.relative_to(HOME)} imports {heavy} at its top"


def test_the_command_line_starts_without_heavy_packages() -> None:
    code = (
        "import sys; from obverse.cli import _register; _register(); "
        f"print(sorted(set(sys.modules) & {HEAVY!r}))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
