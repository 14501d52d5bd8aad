"""A language model, trained by Hugging Face's Trainer on texts of different lengths.

    python -m tidemark.tune examples/trainer.py

Each batch is padded to its longest text, as is usual. So no two batches have the same shape, and
PyTorch's allocator caches memory of sizes that it can't reuse. The model and the texts are
synthetic: nothing is downloaded. It needs torch, transformers and accelerate.
"""
import argparse
import random
import tempfile

import torch
import transformers

VOCABULARY = 128256
PADDING = -100  # a label that the loss ignores


def made_up_texts(count, longest):
    generator = random.Random(1)
    return [{"input_ids": [generator.randrange(VOCABULARY)
                           for _ in range(generator.randint(64, longest))]} for _ in range(count)]


def padded(texts):
    longest = max(len(text["input_ids"]) for text in texts)
    tokens = torch.zeros(len(texts), longest, dtype=torch.long)
    labels = torch.full((len(texts), longest), PADDING)
    for row, text in enumerate(texts):
        tokens[row, :len(text["input_ids"])] = torch.tensor(text["input_ids"])
        labels[row, :len(text["input_ids"])] = torch.tensor(text["input_ids"])
    return {"input_ids": tokens, "labels": labels}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--longest", type=int, default=1024, help="the most tokens of a text")
    options = parser.parse_args()
    transformers.set_seed(1)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=512, intermediate_size=1408, num_hidden_layers=4,
        num_attention_heads=8, num_key_value_heads=8, max_position_embeddings=options.longest))
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            folder, max_steps=options.steps, per_device_train_batch_size=options.batch, bf16=True,
            logging_steps=10, report_to=[], save_strategy="no", seed=1)
        transformers.Trainer(model, arguments, data_collator=padded, train_dataset=made_up_texts(
            options.steps * options.batch, options.longest)).train()


if __name__ == "__main__":
    main()
