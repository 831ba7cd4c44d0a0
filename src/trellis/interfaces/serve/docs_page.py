"""The OpenAPI description, and the page of /docs made from it: every address with what it takes; no scripts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

import trellis
from trellis.display.html import element, page
from trellis.interfaces.serve import messages
from trellis.interfaces.serve.questions import Question

EXAMPLES: dict[str, dict[str, Any]] = {
    "/v1/predict": {"text": "The dog barks."},
    "/v1/kbest": {"sentence": ["the", "dog", "barks"], "k": 3},
    "/v1/marginals": {"sentence": ["the", "dog", "barks"]},
    "/v1/spans": {"text": "Ann lives in Rome."},
    "/v1/explain": {"sentence": ["the", "dog", "barks"], "allowed": {"1": "N"}},
}
ERRORS = (400, 401, 403, 404, 408, 413, 422, 429, 503)


def openapi(questions: Mapping[str, Question], pages: Mapping[str, Any]) -> dict[str, Any]:
    """The description of these addresses, questions asked by POST and pages by GET, by their docstrings."""
    kinds: dict[tuple[type[BaseModel], JsonSchemaMode], None] = {}
    kinds[messages.ModelList, "serialization"] = kinds[messages.ErrorAnswer, "serialization"] = None
    for question in questions.values():
        kinds[question.kind, "validation"] = kinds[question.answer, "serialization"] = None
    schemas, defined = models_json_schema(list(kinds), ref_template="#/components/schemas/{model}")

    def content(kind: type[BaseModel], mode: JsonSchemaMode, what: str) -> dict[str, Any]:
        return {"description": what, "content": {"application/json": {"schema": schemas[kind, mode]}}}

    errors = {str(status): content(messages.ErrorAnswer, "serialization", "an error, in one line") for status in ERRORS}
    paths: dict[str, Any] = {}
    for path, function in pages.items():
        paths[path] = {"get": {"description": function.__doc__, "responses": {"200": {"description": "as described"}}}}
    paths["/v1/models"]["get"]["responses"]["200"] = content(messages.ModelList, "serialization", "the models")
    for path, (kind, function, answer) in questions.items():
        body = {**content(kind, "validation", "what is asked"), "required": True}
        responses = {"200": content(answer, "serialization", "the answer"), **errors}
        paths[path] = {"post": {"description": function.__doc__, "requestBody": body, "responses": responses}}
    about = {"title": "trellis", "version": trellis.__version__}
    return {"openapi": "3.1.0", "info": about, "paths": paths, "components": {"schemas": defined["$defs"]}}


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
            parts.append(element("p", about["description"]))
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
