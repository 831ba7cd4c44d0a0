"""The OpenAPI description, and the /docs page: all endpoints with their parameters; without scripts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

import trellis
from trellis.display.html import element, page
from trellis.interfaces.serve.messages import ErrorAnswer
from trellis.interfaces.serve.questions import Address

EXAMPLES: dict[str, dict[str, Any]] = {
    "/v1/predict": {"text": "The dog barks."},
    "/v1/kbest": {"sentence": ["the", "dog", "barks"], "k": 3},
    "/v1/marginals": {"sentence": ["the", "dog", "barks"]},
    "/v1/spans": {"text": "Ann lives in Rome."},
    "/v1/explain": {"sentence": ["the", "dog", "barks"], "allowed": {"1": "N"}},
}
ERRORS = (400, 401, 403, 404, 408, 413, 422, 429, 503)


def openapi(addresses: Mapping[str, Address]) -> dict[str, Any]:
    """OpenAPI description of these endpoints, from the docstrings of their functions."""
    kinds: dict[tuple[type[BaseModel], JsonSchemaMode], None] = {(ErrorAnswer, "serialization"): None}
    for address in addresses.values():
        kinds |= {} if address.body is None else {(address.body, "validation"): None}
        kinds |= {} if address.answer is None else {(address.answer, "serialization"): None}
    schemas, defined = models_json_schema(list(kinds), ref_template="#/components/schemas/{model}")

    def content(name: str, kind: type[BaseModel] | None, mode: JsonSchemaMode = "serialization") -> dict[str, Any]:
        if kind is None:
            return {"description": name}
        return {"description": name, "content": {"application/json": {"schema": schemas[kind, mode]}}}

    errors = {str(status): content("error message", ErrorAnswer) for status in ERRORS}
    paths: dict[str, Any] = {}
    for path, (function, body, answer) in addresses.items():
        responses = {"200": content("response", answer)}
        if body is None:
            paths[path] = {"get": {"description": function.__doc__, "responses": responses}}
            continue
        request_body = {**content("request", body, "validation"), "required": True}
        operation = {"description": function.__doc__, "requestBody": request_body, "responses": {**responses, **errors}}
        paths[path] = {"post": operation}
    info = {"title": "trellis", "version": trellis.__version__}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": defined["$defs"]}}


def docs_page(addresses: Mapping[str, Address], host: str) -> str:
    """The page of a server at this host, such as ``localhost:8000``."""
    link = element("a", "/openapi.json", href="/openapi.json")
    parts = [element("h1", f"trellis {trellis.__version__}")]
    parts.append(element("p", "JSON over HTTP. OpenAPI description: ", link))
    for path, (function, body, _) in addresses.items():
        parts.append(element("h2", f"{'GET' if body is None else 'POST'} {path}"))
        parts.append(element("p", function.__doc__))
        if body is not None:
            example = f"-H 'content-type: application/json' -d '{json.dumps(EXAMPLES[path])}'"
            parts.append(element("pre", f"curl -s {host}{path} {example}"))
            fields = body.model_json_schema()["properties"]
            names = {name: field.get("description", field.get("title", "")) for name, field in fields.items()}
            parts.append(element("ul", *(element("li", element("code", n), f": {text}") for n, text in names.items())))
    return page("trellis", *parts)
