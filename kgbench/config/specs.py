# SPDX-License-Identifier: Apache-2.0
"""Model specifications: ``CONNECTOR:ID[@URL][?NAME=VALUE&...]``.

The identifier ends at ``@http://`` or ``@https://``, else at the first ``?``; without an address,
an ``@`` in it is written ``%40``, so that an address without a scheme is not mistaken for a name.
After the ``?`` come sampling parameters and options of the connector. A value is JSON if it parses
as JSON (``0.3``, ``["a"]``), else a string; blanks and special characters are percent-encoded.

**The IRI of a model** is ``model/ID``, where ``ID`` is the slug of the provider's identifier, so
that a model has the same IRI here and in published runs. Two parts follow if they are set, each
after a ``~`` (which no slug contains): the slug of a chosen label, and eight hex digits of the
digest of sampling parameters and options, and of the content of a local model's file. Models
without a provider (``baseline``, ``replay``) have the slug of their whole specification. Address,
connector and the folder of a file are not part of the IRI.

A local model, and one at an ``openai`` or ``vllm`` address on this machine or in a private network,
gets ``max_tokens=1024`` unless the specification sets a limit, because small models repeat
themselves until something ends them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from kgbench.config import names
from kgbench.config.trees import ADVICE, hidden, without_keys
from kgbench.connectors.declared import ANSWER_LIMITS
from kgbench.connectors.local_models import declared, facts, path_of
from kgbench.errors import Finding, ModelSpecError, nearest
from kgbench.model import Json, ModelSetup
from kgbench.net.limits import is_near
from kgbench.rdf import canonical_json, digest
from kgbench.secrets import contains_pasted_key, is_secret_field
from kgbench.store.iris import Iris, slug

# Connectors without a provider: calls are free, and answers depend on options only, not on sampling
# parameters.
WITHOUT_PROVIDER = ("baseline", "replay")
LOCAL = "local"  # the connector to models in files on this machine
VLLM = "vllm"  # without an address, the engine runs on this machine, too
WITHOUT_COST = (*WITHOUT_PROVIDER, LOCAL)  # connectors whose calls are free and never in batches
ANSWER_LIMIT = 1024  # tokens of an answer of an own model, unless the specification has a limit
SYSTEMS = ("text2sparql",)  # connectors to systems, not to models
SAMPLING = "sampling"  # key of an object with parameters that kgbench does not know
ADDRESS = ("base_url", "baseUrl", "baseURL")

_ADDRESS = re.compile(r"@(?=https?://)")
# An address without a scheme, as in NAME@127.0.0.1:4111/v1: a host with a port or an API path.
_BARE_ADDRESS = re.compile(
    r"@(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:]+\]|[\w.-]+(?=:\d+(?:/|$)|/v\d))(?=[:/]|$)"
)
_PATH = re.compile(r"[/~\\]|\.{1,2}[/\\]|[A-Za-z]:[/\\]")  # the beginning of a path
_OF_PATH = 6  # hex digits of a path's digest in a model's IRI
_DIGEST = 8  # hex digits of the settings' digest in a model's IRI
_EXACT = 2**53  # below it, integers are represented exactly as floats


@dataclass(frozen=True, slots=True)
class ParsedSpec:
    """The parsed parts of a specification, or of an entry with class and params."""

    connector: str
    model_id: str
    base_url: str | None = None
    values: Mapping[str, Json] = field(default_factory=dict)


def model_setup(spec: str, label: str | None = None) -> ModelSetup:
    """Return the model that ``spec`` names; ``label`` replaces its default label.

    The default label is the specification without connector and address (for models without a
    provider, the whole specification).

    Raises :class:`~kgbench.errors.ModelSpecError` for an unknown connector or parameter (with the
    nearest names), and for an API key in the specification (without repeating it).
    """
    return setup(parse_spec(spec), label)


def parse_spec(spec: str) -> ParsedSpec:
    """Parse ``spec``; see :func:`model_setup` for the errors."""
    if contains_pasted_key(spec) or contains_pasted_key(unquote(spec)):
        raise ModelSpecError(f"the model specification holds an API key; {ADVICE}")
    connector, colon, rest = spec.partition(":")
    if not colon:
        known = nearest(spec, names.known_connectors())
        raise ModelSpecError(f"'{spec}' is not CONNECTOR:MODEL, such as baseline:oracle: {known}")
    address_mark = _ADDRESS.search(rest)
    if address_mark is None:
        identifier, _, query = rest.partition("?")
        address = None
        if "@" in identifier:
            raise _without_scheme(identifier)
    else:
        identifier = rest[: address_mark.start()]
        address, _, query = rest[address_mark.end() :].partition("?")
    return ParsedSpec(connector, unquote(identifier), address, _query(spec, query))


def _without_scheme(identifier: str) -> ModelSpecError:
    return ModelSpecError(
        f"'{hidden(identifier)}': after '@' comes an address that begins with http:// or https:// "
        f"(an '@' in the name of a model is written %40)"
    )


def setup(written: ParsedSpec, label: str | None = None) -> ModelSetup:
    """Return the setup of a model; see :func:`model_setup`."""
    if written.connector not in names.known_connectors():
        raise ModelSpecError(
            f"there is no connector '{hidden(written.connector)}': {_way_to_call(written)}"
        )
    if not written.model_id.strip() or not written.model_id.isprintable():
        raise ModelSpecError(f"{written.connector}: the name of the model is empty or unreadable")
    base_url, values = _address(written)
    if base_url is None and _BARE_ADDRESS.search(written.model_id):
        raise _without_scheme(written.model_id)
    sampling, options = _divided(written.connector, values)
    query = _written_query(sampling, options)
    shown = {key: _public_names(v)[0] if isinstance(v, str) else v for key, v in options.items()}
    shown_query = _written_query(sampling, shown)
    path: Path | None = None
    file: Mapping[str, Json] = {}
    model_id = written.model_id
    if written.connector == LOCAL:
        path = path_of(model_id)
        file = facts(path)
        model_id = model_id if model_id in declared() else path.stem
    if _is_own(written.connector, base_url) and not any(name in sampling for name in ANSWER_LIMITS):
        sampling = {"max_tokens": ANSWER_LIMIT, **sampling}
    known_as, segment = _public_names(model_id)
    short = quote(known_as, safe="/:@+,.~-_") + shown_query
    local = written.connector in WITHOUT_PROVIDER
    address = "" if base_url is None else f"@{base_url}"
    name = quote(written.model_id, safe="/:+,.~-_" if base_url is None else "/:@+,.~-_")
    spec = f"{written.connector}:{name}{address}{query}"
    default_label = f"{written.connector}:{name}{address}{shown_query}" if local else short
    if local:
        segment = slug(default_label)
        segment += "" if default_label == spec else f"-{digest(spec)[:_OF_PATH]}"
    part = "" if label in (None, default_label) else slug(str(label))
    segments = [segment, part]
    if (sampling or options) and not local:
        segments.append(_settings_digest(sampling, options, file))
    return ModelSetup(
        iri=Iris().mint("model", model="~".join(segments).rstrip("~")),
        label=default_label if label is None else label,
        connector=written.connector,
        model_id=model_id,
        spec=spec,
        base_url=base_url,
        sampling=sampling,
        options=options,
        is_system=written.connector in SYSTEMS,
        path=None if path is None else str(path),
        file=file,
    )


def _is_own(connector: str, base_url: str | None) -> bool:
    """Return whether a model runs on this machine, or on a server of the user's own."""
    if base_url is None:
        return connector in (LOCAL, VLLM)
    return connector in ("openai", VLLM) and is_near(urlsplit(base_url).hostname or "")


def _public_names(model_id: str) -> tuple[str, str]:
    """Return the name of a model for its label, and that for its IRI.

    Of the path of a file or folder on this machine, they have the last part only, because labels
    and IRIs are published; the digest in the IRI tells models in different folders apart.
    """
    if not _PATH.match(model_id):
        return model_id, slug(model_id)
    name = re.split(r"[/\\]", model_id.rstrip("/\\"))[-1].strip(".~") or "model"
    return name, f"{slug(name)}-{digest(model_id)[:_OF_PATH]}"


def _way_to_call(written: ParsedSpec) -> str:
    """Return how to call a model of a known server without a connector, else the nearest names."""
    server = re.sub(r"[\W_]", "", written.connector.lower())
    known = names.models_without_connector().get(server)
    if known is None:
        return nearest(written.connector, names.known_connectors())
    if written.base_url is not None:
        known = re.sub(r"(?<=NAME@)[^?\s]+", lambda _: hidden(written.base_url or ""), known)
    return known.replace("NAME", hidden(written.model_id), 1)


def _settings_digest(
    sampling: Mapping[str, Json], options: Mapping[str, Json], file: Mapping[str, Json]
) -> str:
    settings: dict[str, Json] = {"sampling": dict(sampling), "options": dict(options)}
    if file:
        settings["file"] = file["digest"]
    return digest(canonical_json(settings))[:_DIGEST]


def _query(spec: str, query: str) -> dict[str, Json]:
    values: dict[str, Json] = {}
    for part in query.split("&") if query else ():
        name, equals, text = part.partition("=")
        name = unquote(name)
        if not equals or not name:
            raise ModelSpecError(f"'{spec}': after '?' come NAME=VALUE pairs, joined by '&'")
        if name in values:
            raise ModelSpecError(f"'{spec}': '{name}' is given twice")
        values[name] = _read_value(unquote(text))
    return values


def _read_value(text: str) -> Json:
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return text
    return text if value is None else value


def _refuse_constant(name: str) -> Json:
    raise ValueError(name)


def _written_value(value: Json) -> str:
    if isinstance(value, str) and _read_value(value) == value:
        return quote(value, safe="/:@,.~-_")
    return quote(canonical_json(value), safe="/:,.~-_")


def _written_query(sampling: Mapping[str, Json], options: Mapping[str, Json]) -> str:
    """Return ``?...`` with all values, ordered by name, as :func:`parse_spec` reads it."""
    known = names.sampling_parameters()
    unknown = {name: value for name, value in sampling.items() if name not in known}
    values = {name: value for name, value in sampling.items() if name in known} | dict(options)
    if unknown:
        values[SAMPLING] = unknown
    pairs = [f"{quote(k, safe='')}={_written_value(v)}" for k, v in sorted(values.items())]
    return f"?{'&'.join(pairs)}" if pairs else ""


def _address(written: ParsedSpec) -> tuple[str | None, dict[str, Json]]:
    """Return the base URL, from the specification or the params, and the other values."""
    values = dict(written.values)
    urls = [written.base_url] if written.base_url is not None else []
    urls += [values.pop(name) for name in ADDRESS if name in values]
    if not urls:
        return None, values
    url = urls[0]
    if len(urls) > 1 or not isinstance(url, str):
        raise ModelSpecError(f"{written.connector}: the address must be one text")
    try:
        split = urlsplit(url)
        _ = split.port
    except ValueError:
        split = urlsplit("")
    if split.scheme not in ("http", "https") or not split.hostname or not url.isprintable():
        raise ModelSpecError(f"'{hidden(url)}' is not the address of a server (http://host/path)")
    if split.username or split.password or split.query or split.fragment:
        raise ModelSpecError(f"an address has no user, password or query; {ADVICE}")
    return url.rstrip("/"), values


def _divided(connector: str, values: Mapping[str, Json]) -> tuple[dict[str, Json], dict[str, Json]]:
    """Divide ``values`` into sampling parameters for the provider, and connector options."""
    known = names.sampling_parameters()
    sampling: dict[str, Json] = {}
    options: dict[str, Json] = {}
    for name, value in sorted(values.items()):
        if _holds_key({name: value}):
            raise ModelSpecError(f"{connector}: a parameter is for an API key; {ADVICE}")
        if connector in WITHOUT_PROVIDER:
            options[name] = _plain(value)
        elif name == SAMPLING:
            if not isinstance(value, Mapping):
                raise ModelSpecError(f"{connector}: '{SAMPLING}' must be an object")
            sampling |= {key: _plain(item) for key, item in value.items()}
        elif name in known:
            sampling[name] = _plain(value)
            _check_value(connector, name, sampling[name])
        else:
            _check_spelling(connector, name)
            options[name] = _plain(value)
    return sampling, options


def _holds_key(value: Json) -> bool:
    if isinstance(value, Mapping):
        return any(is_secret_field(key) or _holds_key(item) for key, item in value.items())
    if isinstance(value, list):
        return any(_holds_key(item) for item in value)
    return isinstance(value, str) and contains_pasted_key(value)


def _check_spelling(connector: str, name: str) -> None:
    """Refuse a misspelt sampling parameter; connectors check their options themselves."""
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    close = get_close_matches(plain, names.sampling_parameters(), n=1, cutoff=0.75)
    if close:
        raise ModelSpecError(
            f"{connector}: unknown parameter '{name}': did you mean {close[0]}? "
            f"(others are passed to a provider inside '{SAMPLING}')"
        )


def _check_value(connector: str, name: str, value: Json) -> None:
    """Refuse a value of a sampling parameter that every provider refuses; ``None`` is unset."""
    allowed = names.sampling_ranges().get(name)
    if allowed is not None and value is not None and value not in allowed:
        raise ModelSpecError(f"{connector}: {name} is {value!r}; allowed: {allowed}")


def _plain(value: Json) -> Json:
    """Convert whole floats to integers, because 0.0 and 0 are the same request."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value


def option_finding(spec: str, message: str) -> Finding:
    """Return a finding about a specification on the command line."""
    return without_keys(Finding(f"--model {spec}", "", message))
