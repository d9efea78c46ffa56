# SPDX-License-Identifier: Apache-2.0
"""Specifications of models, and sizes of tasks."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgbench import config
from kgbench.config import names, specs
from kgbench.errors import ConfigurationError, ModelSpecError
from kgbench.tasks import catalogue
from tests.support.config_files import changed, write

MODEL = "https://w3id.org/kgbench/model/"


@pytest.mark.parametrize(
    ("spec", "connector", "model_id", "base_url", "sampling", "options"),
    [
        ("baseline:oracle", "baseline", "oracle", None, {}, {}),
        (
            *("baseline:noisy?rate=0.3&seed=7", "baseline", "noisy", None, {}),
            {"rate": 0.3, "seed": 7},
        ),
        ("openai:gpt-4o?temperature=0", "openai", "gpt-4o", None, {"temperature": 0}, {}),
        ("openai:gpt-4o?api=responses", "openai", "gpt-4o", None, {}, {"api": "responses"}),
        (
            *("openai:org/m:7b@https://8.8.8.8:8000/v1/?seed=1&top_p=0.5", "openai"),
            *("org/m:7b", "https://8.8.8.8:8000/v1", {"seed": 1, "top_p": 0.5}, {}),
        ),
        (
            *("openai:a@b@http://10.0.0.2/v1", "openai", "a@b", "http://10.0.0.2/v1"),
            *({"max_tokens": 1024}, {}),
        ),
        (
            *("vllm:a@http://host?max_completion_tokens=9", "vllm", "a", "http://host"),
            *({"max_completion_tokens": 9}, {}),
        ),
        ("openai:a%3Fb%20c", "openai", "a?b c", None, {}, {}),
        ('openai:m?stop=["a","b"]', "openai", "m", None, {"stop": ["a", "b"]}, {}),
        ('openai:m?stop="7"', "openai", "m", None, {"stop": "7"}, {}),
        ("openai:m?stop=null", "openai", "m", None, {"stop": "null"}, {}),
        ("openai:m?stop=NaN", "openai", "m", None, {"stop": "NaN"}, {}),
        ('openai:m?sampling={"new_one":2}', "openai", "m", None, {"new_one": 2}, {}),
        ("replay:0199-ab", "replay", "0199-ab", None, {}, {}),
        ("google:models/gemini-1.5", "google", "models/gemini-1.5", None, {}, {}),
    ],
)
def test_a_specification_names_connector_model_address_and_values(  # noqa: PLR0917
    spec, connector, model_id, base_url, sampling, options
):
    """The parts of a specification are separated, and numeric values are read as numbers."""
    found = config.model_setup(spec)

    assert (found.connector, found.model_id, found.base_url) == (connector, model_id, base_url)
    assert found.sampling == sampling
    assert found.options == options


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("oracle", "is not CONNECTOR:MODEL"),
        ("opnai:gpt-4o", "there is no connector 'opnai': did you mean openai"),
        ("openai:", "the name of the model is empty"),
        ("openai: ", "the name of the model is empty"),
        ("openai:a\nb", "unreadable"),
        ("openai:m?temperature", "come NAME=VALUE pairs"),
        ("openai:m?=1", "come NAME=VALUE pairs"),
        ("openai:m?seed=1&seed=2", "'seed' is given twice"),
        ("openai:m?temperature=hot", "temperature is 'hot'; allowed: a number"),
        ("openai:m?top_p=7", "top_p is 7; allowed: a number from 0 to 1"),
        ("openai:m?max_tokens=-5", "max_tokens is -5; allowed: a whole number from -1"),
        ("openai:m?max_tokens=2.5", "max_tokens is 2.5; allowed: a whole number from -1"),
        ("openai:m?seed=true", "seed is True; allowed: a whole number"),
        ("openai:m?temprature=1", "unknown parameter 'temprature': did you mean temperature?"),
        ("openai:m?maxTokens=1", "unknown parameter 'maxTokens': did you mean max_tokens?"),
        ("openai:m?sampling=1", "'sampling' must be an object"),
        ("openai:m@http:///v1", "is not the address of a server"),
        ("openai:m@http://host:port/v1", "is not the address of a server"),
        ("openai:m@http://host/v1?base_url=http://other", "the address must be one text"),
    ],
)
def test_what_no_connector_understands_is_refused(spec, message):
    """The message names the wrong part, and the nearest valid one."""
    with pytest.raises(ModelSpecError, match=message.replace("?", r"\?")):
        config.model_setup(spec)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/ada/models/llama-3-8b", "llama-3-8b"),
        ("/srv/models/llama-3-8b/", "llama-3-8b"),
        ("~/models/qwen.Q4_K_M.gguf", "qwen.Q4_K_M.gguf"),
        ("./checkpoints/run 7", "run%207"),
        ("../best", "best"),
        ("C:/Users/ada/phi", "phi"),
        ("C:\\Users\\ada\\phi", "phi"),
    ],
)
@pytest.mark.parametrize("address", ["", "@http://127.0.0.1:8080"])
def test_local_paths_are_in_no_label_and_no_iri(path, name, address):
    """Only the last part of a path is shown; specification and model id keep all of it."""
    setup = config.model_setup(f"vllm:{path}{address}")

    assert setup.model_id == path
    assert setup.label == name
    assert not any(word in setup.iri for word in ("ada", "home", "srv", "models", "checkpoints"))
    assert config.model_setup(setup.spec) == setup


@pytest.mark.parametrize(
    ("spec", "label"),
    [
        ("vllm:m?chat_template=/home/ada/t.jinja", "m?chat_template=t.jinja"),
        ("replay:first?store=/home/ada/store", "replay:first?store=store"),
        ("vllm:/home/ada/best", "best"),
    ],
)
def test_paths_are_shown_without_their_folders(spec, label):
    """Equal last parts have different IRIs; names with a slash, as on a hub, are no paths."""
    setup = config.model_setup(spec)

    assert (setup.label, setup.spec) == (label, spec)
    assert "home" not in setup.iri
    assert setup.iri != config.model_setup(spec.replace("ada", "eve")).iri
    assert config.model_setup("vllm:Qwen/Qwen2.5-7B").label == "Qwen/Qwen2.5-7B"


@pytest.mark.parametrize(
    ("spec", "way"),
    [
        ("ollama:llama3.2", "openai:llama3.2@http://127.0.0.1:11434"),
        ("Ollama:llama3:8b", "openai:llama3:8b@http://127.0.0.1:11434"),
        ("ollama:llama3.2@http://box:1", "openai:llama3.2@http://box:1"),
        ("lm-studio:qwen", "openai:qwen@http://127.0.0.1:1234"),
        ("llama.cpp:phi", "openai:phi@http://127.0.0.1:8080"),
        ("openrouter:m", "openai:m@https://openrouter.ai/api?key_env=OPENROUTER_API_KEY"),
    ],
)
def test_servers_without_a_connector_are_explained(spec, way):
    """The message has the specification that works."""
    with pytest.raises(ModelSpecError) as raised:
        config.model_setup(spec)

    assert str(raised.value).endswith(f" {way}")


def test_the_written_form_is_one():
    """Order and spelling of values make no difference; the default label is the short form."""
    first = config.model_setup("openai:m@http://host/v1/?temperature=0.0&seed=1")
    second = config.model_setup("openai:m@http://host/v1?seed=1&temperature=0")

    assert first == second
    assert first.spec == "openai:m@http://host/v1?seed=1&temperature=0"
    assert first.label == "m?seed=1&temperature=0"
    assert config.model_setup("baseline:oracle").label == "baseline:oracle"


@pytest.mark.parametrize(
    ("spec", "label", "iri"),
    [
        ("openai:gpt-4o-mini-2024-07-18", None, "gpt-4o-mini-2024-07-18"),
        ("openai:gpt-4o", "gpt-4o", "gpt-4o"),
        ("openai:gpt-4o", "mine", "gpt-4o~mine"),
        ("openai:gpt-4o@http://example.org/v1", None, "gpt-4o"),
        ("openai:gpt-4o?temperature=0", None, "gpt-4o~~2e132072"),
        ("openai:gpt-4o?temperature=0", "cold", "gpt-4o~cold~2e132072"),
        ("baseline:oracle", None, "baseline-oracle-5fb0e3"),
    ],
)
def test_the_iri_says_what_is_measured(spec, label, iri):
    """Without settings the IRI is the provider's name alone, as for published runs."""
    assert specs.model_setup(spec, label).iri == MODEL + iri


SETTINGS = st.dictionaries(
    st.sampled_from(sorted(names.sampling_parameters())) | st.sampled_from(["api", "delay"]),
    st.recursive(
        st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: (
            st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
        ),
        max_leaves=4,
    ),
    max_size=3,
)
IDS = st.text(string.ascii_letters + string.digits + "-._/:@?%&= ", min_size=1).filter(
    lambda text: text.strip() and not text.startswith("sk-")
)
WRITTEN = st.builds(
    specs.ParsedSpec,
    st.sampled_from(["openai", "baseline", "vllm"]),
    IDS,
    st.sampled_from([None, "http://host/v1", "https://[::1]:8000"]),
    SETTINGS,
)


def made(written, label=None):
    """Return the setup of ``written``, or ``None`` if it is refused."""
    try:
        return specs.setup(written, label)
    except ModelSpecError:
        return None


@settings(deadline=None)
@given(WRITTEN)
def test_a_written_specification_is_read_back(written):
    """The specification of any model, as written, gives the same model again."""
    found = made(written)

    assert found is None or specs.model_setup(found.spec) == found


@settings(deadline=None)
@given(WRITTEN, WRITTEN, st.sampled_from([None, "a", "~a"]), st.sampled_from([None, "a", "a~"]))
def test_different_models_have_different_iris(first, second, one, other):
    """Models with different settings have different IRIs; addresses do not matter."""
    a, b = made(first, one), made(second, other)
    if a is None or b is None or a.iri != b.iri or "baseline" in (a.connector, b.connector):
        return

    assert (a.model_id, a.label, a.sampling, a.options) == (
        b.model_id,
        b.label,
        b.sampling,
        b.options,
    )


def test_two_models_of_one_name_are_not_taken_for_one():
    """Specifications that differ under one label are refused; the same one twice is one."""
    one, other = (f"openai:m@http://127.0.0.1:{port}/v1" for port in (1, 2))
    assert len(config.quick_start(models=[one, one]).models) == 1
    with pytest.raises(ConfigurationError, match="there is another model 'm' already: write both"):
        config.quick_start(models=[one, other])


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("openai:m@http://host?apiversion=v1", "has no option 'apiversion'; it takes api_version"),
        ("openai:m@http://host?api_version=x", "cannot get 'x', which is no version of an API"),
        ("anthropic:m@http://host/v2", "ends in v2, but the version of the API is v1"),
        ("openai:m?api=chats", "must be one of chat, responses"),
        ("google:m?min_p=0.1", "does not take 'min_p'"),
        ("baseline:noisy?rate=2", "must be between 0 and 1"),
    ],
)
def test_what_a_connector_does_not_take_is_found_by_validation(spec, words, tmp_path):
    """``validate`` refuses unsupported parameters like a run, without a key and without a call."""
    (tmp_path / "c.yaml").write_text(f'tasks: ["*"]\nmodels: ["{spec}"]\niterations: 1\n')
    (finding,) = config.check(tmp_path / "c.yaml").findings

    assert words in finding.message
    assert finding.pointer == "/models/0"


LISTED = changed(
    "  - RdfFriendCount-turtle-1\n",
    "  - {label: mine, class: RdfFriendCount, params: {graphFormat: turtle, size: [1000, 8000]}}\n"
    "  - {class: TurtleSampleGeneration, params: {size: [10, 20]}}\n",
)


def test_each_listed_size_is_a_task(tmp_path):
    """The size is part of the label and of the parameters, and is recorded."""
    plan = config.load(write(tmp_path, LISTED))
    assert {task.label: task.parameters["size"] for task in plan.tasks} == {
        "mine-1000": 1000,
        "mine-8000": 8000,
        "TurtleSampleGeneration-10": 10,
        "TurtleSampleGeneration-20": 20,
    }
    again = config.load(write(tmp_path, plan.source_ttl, "recorded.ttl"))
    assert again == plan


def test_sizes_of_the_run_leave_listed_ones_alone(tmp_path):
    """Sizes of an entry take precedence over those of the run."""
    plan = config.load(write(tmp_path, LISTED + "sizes: [4000, 5000]\n"))
    assert [task.parameters["size"] for task in plan.tasks] == [1000, 8000, 10, 20]


def test_each_wrong_size_is_named(tmp_path):
    """A size that is invalid, too small, or given to a task without sizes has a finding."""
    wrong = LISTED.replace("[10, 20]", "[2, many]").replace("RdfFriendCount", "RdfSyntaxFixList")
    found = [str(one) for one in config.validate(write(tmp_path, wrong))]
    assert ["/params/size:" in one for one in found] == [True] * 3, found
    assert "no parameter 'size'" in found[0]
    assert "at least 3" in found[1]
    assert "'many'" in found[2]


def test_a_task_that_has_a_size_of_its_own_keeps_it(tmp_path, monkeypatch):
    """A label that another package declares with a size has only that size."""
    theirs = catalogue.make_task("RdfFriendCount", "theirs", {"size": 800})
    monkeypatch.setattr(catalogue, "labelled_tasks", lambda: {"theirs": theirs})
    path = write(tmp_path, changed("RdfFriendCount-turtle-1", "theirs") + "sizes: [4000, 5000]\n")
    plan = config.load(path)
    assert [(task.label, task.parameters["size"]) for task in plan.tasks] == [("theirs", 800)]


def test_sizes_of_the_run_are_refused_where_a_task_cannot_have_them(tmp_path):
    """A size of the run is refused for a class that cannot have it (8,000 persons)."""
    wrong = changed(
        "  - RdfFriendCount-turtle-1\n",
        "  - RdfFriendCount-turtle-1\n  - class: TurtleSampleGeneration\nsizes: [1000, 8000]\n",
    )
    found = [str(one) for one in config.validate(write(tmp_path, wrong))]
    assert len(found) == 2
    assert all("must be at least 3 and at most 200 persons" in one for one in found), found
    assert ["8000" in one for one in found] == [False, True]


def test_a_size_is_refused_that_does_not_go_with_other_parameters(tmp_path):
    """A size that does not fit the other parameters is refused before any call."""
    params = "{size: 600, knowsCount: 2}"
    wrong = LISTED.replace("{graphFormat: turtle, size: [1000, 8000]}", params)
    (found,) = [str(one) for one in config.validate(write(tmp_path, wrong))]
    assert "/params/size:" in found
    assert "needs a size of at least 764 characters, but size is 600" in found
