# SPDX-License-Identifier: Apache-2.0
"""A language model of random weights in GGUF, small enough for any machine: 100 KB.

Runs in an environment that has the package ``gguf``: ``python tiny_gguf.py FILE``. Its output is
meaningless; a server loads it, counts its tokens and applies limits as with any other model.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

WIDTH, LAYERS, HEADS, INNER, CONTEXT = 32, 1, 4, 64, 8192
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"


def write(path: str) -> None:
    """Write the model to ``path``."""
    gguf: Any = importlib.import_module("gguf")
    numpy: Any = importlib.import_module("numpy")
    chance = numpy.random.default_rng(7)
    kind = gguf.TokenType
    special = [("<unk>", kind.UNKNOWN), ("<s>", kind.CONTROL), ("</s>", kind.CONTROL)]
    tokens = special + [(f"<0x{byte:02X}>", kind.BYTE) for byte in range(256)]
    tokens += [(chr(letter), kind.NORMAL) for letter in range(ord("a"), ord("z") + 1)]

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([token for _, token in tokens])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)

    def random(*shape: int) -> Any:
        return chance.normal(0.0, 0.1, shape).astype(numpy.float32)

    ones = numpy.ones(WIDTH, dtype=numpy.float32)
    writer.add_tensor("token_embd.weight", random(len(tokens), WIDTH))
    writer.add_tensor("output_norm.weight", ones)
    writer.add_tensor("output.weight", random(len(tokens), WIDTH))
    for layer in range(LAYERS):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", random(WIDTH, WIDTH))
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", ones)
        writer.add_tensor(f"blk.{layer}.ffn_gate.weight", random(INNER, WIDTH))
        writer.add_tensor(f"blk.{layer}.ffn_up.weight", random(INNER, WIDTH))
        writer.add_tensor(f"blk.{layer}.ffn_down.weight", random(WIDTH, INNER))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write(sys.argv[1])
