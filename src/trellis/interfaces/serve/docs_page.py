"""The page of /docs: every address with what it takes, made from the OpenAPI description; no scripts."""

from __future__ import annotations

import json
from typing import Any

from trellis.display.html import element, page

EXAMPLES: dict[str, dict[str, Any]] = {
    "/v1/predict": {"text": "The dog barks."},
    "/v1/kbest": {"sentence": ["the", "dog", "barks"], "k": 3},
    "/v1/marginals": {"sentence": ["the", "dog", "barks"]},
    "/v1/spans": {"text": "Ann lives in Rome."},
    "/v1/explain": {"sentence": ["the", "dog", "barks"], "allowed": {"1": "N"}},
}


def docs_page(openapi: dict[str, Any], address: str) -> str:
    """The page of a server at this address, such as ``localhost:8000``."""
    parts = [
        element("h1", f"{openapi['info']['title']} {openapi['info']['version']}"),
        element(
            "p", "JSON over HTTP. The description for programs: ", element("a", "/openapi.json", href="/openapi.json")
        ),
    ]
    for path, methods in openapi["paths"].items():
        for method, about in methods.items():
            parts.append(element("h2", f"{method.upper()} {path}"))
            parts.append(element("p", about.get("description", about.get("summary", ""))))
            if path in EXAMPLES:
                body = json.dumps(EXAMPLES[path])
                line = f"curl -s {address}{path} -H 'content-type: application/json' -d '{body}'"
                parts.append(element("pre", line))
            schema = about.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            if schema is not None:
                name = schema["$ref"].rsplit("/", 1)[-1]
                fields = openapi["components"]["schemas"][name]["properties"]
                rows = [
                    element("li", element("code", key), f": {one.get('description', one.get('title', ''))}")
                    for key, one in fields.items()
                ]
                parts.append(element("ul", *rows))
    return page("trellis", *parts)
