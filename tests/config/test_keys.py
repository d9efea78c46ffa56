# SPDX-License-Identifier: Apache-2.0
"""API keys in configurations are found in any place and never repeated."""

import pytest

from kgbench import config
from kgbench.errors import ModelSpecError
from kgbench.secrets import contains_pasted_key, is_secret_field
from tests.support.config_files import GOOD, changed, write

# Assembled here, so that no scanner reports them as leaked keys.
KEYS = {
    "openai": "sk-" + "Ab3dEf6hIj9k",
    "openai project": "sk-" + "proj-" + "A1b2C3d4E5f6G7h8",
    "anthropic": "sk-" + "ant-api03-" + "x9Y8z7W6v5U4",
    "google": "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "github": "ghp_" + "0123456789abcdefABCDEF0123456789abcd",
    "hugging face": "hf_" + "abcdefghijklmnopqrstuvwxyz",
    "groq": "gsk_" + "abcdefghijklmnopqrst",
    "bearer": "Bearer " + "abcdef0123456789",
    "password in an address": "https://me:" + "hunter2hunter2@host/v1",
}
PLACES = {
    "spec": lambda key: changed("baseline:oracle", f'"openai:m?stop={key}"'),
    "parameter": lambda key: changed(
        "  - baseline:oracle", f'  - {{class: openai, params: {{model: m, stop: "{key}"}}}}'
    ),
    "name": lambda key: changed("name: small", f'name: "{key}"'),
    "unknown key": lambda key: GOOD + f'"{key}": 1\n',
    "comment": lambda key: GOOD + f"# {key}\n",
    "broken file": lambda key: GOOD + f'x: "{key}" : [\n',
    "task": lambda key: changed("RdfFriendCount-turtle-1", f'"{key}"'),
    "include": lambda key: GOOD + f'include: ["{key}.yaml"]\n',
}


def told(tmp_path, text, name="small.yaml"):
    """Return all findings about a file, as text."""
    return "\n".join(str(finding) for finding in config.validate(write(tmp_path, text, name)))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KEYS)
def test_a_key_is_refused_and_not_repeated(tmp_path, kind, place):
    """A key of any provider in any place is refused and not quoted, comments included."""
    key = KEYS[kind]
    text = PLACES[place](key)
    line = next(number for number, each in enumerate(text.splitlines(), 1) if key in each)

    said = told(tmp_path, text)

    assert f"small.yaml:{line}: " in said
    assert "this looks like an API key; keys are read from the environment" in said
    secret = key.removeprefix("https://me:").removesuffix("@host/v1").removeprefix("Bearer ")
    assert secret not in said


@pytest.mark.parametrize(
    "field", ["api_key", "apiKey", "api-key", "OPENAI_API_KEY", "token", "accessToken", "password"]
)
def test_a_field_for_a_key_is_refused_whatever_it_holds(tmp_path, field):
    """A field with the name of a credential is refused, and its value is not quoted."""
    entry = f"  - {{class: openai, params: {{model: m, {field}: correcthorse}}}}"

    said = told(tmp_path, changed("  - baseline:oracle", entry))

    assert f"small.yaml:5: /models/0/params/{field}: the field '{field}' is for an API key" in said
    assert "correcthorse" not in said


def test_escapes_do_not_hide_a_key(tmp_path):
    """A key is found if JSON or Turtle writes its first letter as an escape.

    A property of Turtle with the name of a credential is refused like a field.
    """
    key = "\\u0073k-" + "Ab3dEf6hIj9kL2"
    turtle = (
        "@prefix kgb: <https://w3id.org/kgbench/ns#> .\n"
        '[] a kgb:Configuration ; kgb:iterations 1 ; kgb:tasks ("*") ; kgb:models ("%s") .\n'
    )

    for said in (
        told(tmp_path, f'{{"name": "{key}"}}', "a.json"),
        told(tmp_path, turtle % f"openai:m?stop={key}", "a.ttl"),
    ):
        assert "looks like an API key" in said
        assert "Ab3dEf6h" not in said
    said = told(
        tmp_path,
        "@prefix param: <https://w3id.org/kgbench/parameter#> .\n"
        + turtle.replace('"%s"', '[ kgb:className "openai"; kgb:params [ param:apiKey "horse" ] ]'),
        "b.ttl",
    )
    assert "b.ttl: /models/0/params/apiKey: the field 'apiKey' is for an API key" in said
    assert "horse" not in said


@pytest.mark.parametrize(
    "spec",
    [
        "openai:m?api_key=correcthorse",
        "openai:m?apiKey=correcthorse",
        "openai:m?sampling=%7B%22api_key%22:%22correcthorse%22%7D",
        "openai:m@http://me:correcthorse@host/v1",
        "openai:m@http://me:correcthorse?9@host/v1",
        "openai:m@http://me:1correcthorse?9@host/v1",
        "openai:m@http://me:1correcthorse#9@host/v1",
        "openai:m@http://me:12:correcthorse?9@host/v1",
        "openai:m@http://me:12?correcthorse@host/v1",
        "openai:m@http://host/v1#correcthorse",
        "openai:" + "sk-" + "correcthorse1",
        "openai:m?stop=" + "%73k-" + "correcthorse1",
    ],
)
def test_a_key_in_a_specification_is_refused_and_not_repeated(spec):
    """A key in a specification on the command line is refused and not quoted."""
    with pytest.raises(ModelSpecError) as caught:
        config.model_setup(spec)

    assert "correcthorse" not in str(caught.value)


@pytest.mark.parametrize(
    "harmless",
    [
        "task-class-with-a-long-name",
        "max_tokens",
        "key_env: OPENAI_KEY_OF_PROJECT",
        "RdfConnectionExplainStatic-turtle",
        "desk-research-questions-2026",
        "gpt-4o-2024-05-13",
        "claude-3-5-sonnet-20241022",
        "http://localhost:8000/v1",
        "openai:m@http://localhost:8000?user=me:you@home",
        "openai:m@http://[::1]:8000?user=@",
        "openai:m@http://host?user=me:you@home",
        "http://host:8000?user=me@home.org&a=b",
    ],
)
def test_ordinary_text_is_no_key(harmless):
    """Names of models, tasks and options are not taken for keys."""
    assert not contains_pasted_key(harmless)
    assert not is_secret_field(harmless.partition(":")[0])
