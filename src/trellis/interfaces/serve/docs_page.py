"""The OpenAPI description, and the /docs page: all endpoints with their parameters; without scripts."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
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
ERRORS = {
    400: "the body is not valid UTF-8 JSON",
    401: "the token is missing or wrong",
    403: "the Host or Origin header is not allowed",
    404: "unknown model or path",
    408: "timeout while reading the request",
    413: "too many bytes, sentences, tokens or output values",
    422: "invalid input, or the task of the model does not support this endpoint",
    429: "too many concurrent requests; retry after the time in Retry-After",
    503: "timeout while computing the response",
}
ABOUT = (
    'Predictions of trellis models: taggers, parsers, word segmenters and rerankers. Errors are `{"error": "message"}`.'
)


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

    errors = {str(status): content(meaning, ErrorAnswer) for status, meaning in ERRORS.items()}
    paths: dict[str, Any] = {}
    for path, (function, body, answer) in addresses.items():
        summary, details = _described(function)
        operation: dict[str, Any] = {"summary": summary, "operationId": path.strip("/").replace("/", "_")}
        operation |= {"description": details} if details else {}
        responses = {"200": content("success", answer)}
        if body is None:
            paths[path] = {"get": {**operation, "responses": responses}}
            continue
        request = content("input and options", body, "validation")
        if path in EXAMPLES:
            request["content"]["application/json"]["example"] = EXAMPLES[path]
        request["required"] = True
        paths[path] = {"post": {**operation, "requestBody": request, "responses": {**responses, **errors}}}
    info = {"title": "trellis", "version": trellis.__version__, "description": ABOUT}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": defined["$defs"]}}


def _described(function: Callable[..., Any]) -> tuple[str, str]:
    """Summary and details of a docstring; quoted names are in Markdown."""
    summary, _, details = (inspect.getdoc(function) or "").partition("\n\n")
    return summary, " ".join(details.split()).replace("``", "`")


def docs_page(addresses: Mapping[str, Address], host: str) -> str:
    """The page of a server at this host, such as ``localhost:8000``."""
    link = element("a", "/openapi.json", href="/openapi.json")
    parts = [element("h1", f"trellis {trellis.__version__}")]
    parts.append(element("p", "JSON over HTTP. OpenAPI description: ", link))
    for path, (function, body, _) in addresses.items():
        parts.append(element("h2", f"{'GET' if body is None else 'POST'} {path}"))
        parts += [element("p", text) for text in _described(function) if text]
        if body is not None:
            example = f"-H 'content-type: application/json' -d '{json.dumps(EXAMPLES[path])}'"
            parts.append(element("pre", f"curl -s {host}{path} {example}"))
            fields = body.model_json_schema()["properties"]
            names = {name: field.get("description", field.get("title", "")) for name, field in fields.items()}
            parts.append(element("ul", *(element("li", element("code", n), f": {text}") for n, text in names.items())))
    return page("trellis", *parts)
