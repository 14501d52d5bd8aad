#!/usr/bin/env python3
"""Training runs and other programs that `scripts/prove-on-gpu predict` predicts first and then runs.

Usage: scripts/predict_programs.py NAME     (without a name: the list)

Each resembles a user's script: a model from a configuration, seeded batches with varying sizes, an
optimizer, a few steps. It doesn't know Tidemark. At the end, it prints PyTorch's own statistics as
one line of JSON.
"""
import contextlib
import importlib
import json
import math
import os
import random
import sys

import torch
import torch.nn.functional as F
from torch import nn

STEPS = int(os.environ.get("TRAIN_STEPS", 4))
TIMES_BATCH = float(os.environ.get("TIMES_BATCH", 1))  # for prove_scale.py, as are these
TIMES_LENGTH = float(os.environ.get("TIMES_LENGTH", 1))
ROUND_BATCH = {"up": math.ceil, "down": math.floor}.get(os.environ.get("ROUND_BATCH"), round)
RUN_STEPS = int(os.environ.get("RUN_STEPS", 24))
# ONE_SIZE: all batches are of the largest size.
MEMORY_LIMIT = int(os.environ.get("MEMORY_LIMIT", 0))
PROGRAMS = {}
VOCABULARY = 32000


def program(kind, name=None):
    """Registers a function as a program of a kind."""
    def add(function):
        PROGRAMS[name or function.__name__] = (kind, function)
        return function
    return add


def autocast(precision):
    kinds = {"bf16": torch.bfloat16, "fp16": torch.float16}
    return torch.autocast("cuda", kinds[precision]) if precision in kinds \
        else contextlib.nullcontext()


def train(model, loss_of, optimizer, precision=None, steps=STEPS):
    """Trains on `loss_of(step)` of each step; with fp16, through a GradScaler."""
    scaler = torch.amp.GradScaler("cuda", enabled=precision == "fp16")
    for step in range(steps):
        with autocast(precision):
            loss = loss_of(step)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        print(f"step {step}: {loss.item():.3f}", flush=True)


def grown(batch):
    return max(1, ROUND_BATCH(TIMES_BATCH * batch))


def tokens(batch, length, vocabulary=VOCABULARY):
    return torch.randint(0, vocabulary, (batch, int(TIMES_LENGTH * length)), device="cuda")


def batches(largest=6, lengths=(128, 192, 256, 384)):
    """(batch, length) of each step."""
    while True:
        yield grown(random.randint(2, largest)), random.choice(lengths)


def train_text(model, optimizer, precision=None, vocabulary=VOCABULARY, **named):
    shapes = batches(**named)

    def loss_of(_step):
        text = tokens(*next(shapes), vocabulary)
        return model(input_ids=text, labels=text).loss

    train(model, loss_of, optimizer, precision)


def train_images(model, optimizer, precision=None, sizes=(160, 192, 224), largest=12,
                 channels_last=False):
    def loss_of(_step):
        size = random.choice(sizes)
        images = torch.randn(grown(random.randint(4, largest)), 3, size, size, device="cuda")
        if channels_last:
            images = images.to(memory_format=torch.channels_last)
        out = model(images)
        logits = getattr(out, "logits", out)
        return F.cross_entropy(logits, torch.randint(0, logits.shape[1], (len(images),),
                                                     device="cuda"))

    train(model, loss_of, optimizer, precision)


def by_configuration(config, kind="AutoModelForCausalLM", **named):
    import transformers

    with torch.device("cuda"):
        return getattr(transformers, kind).from_config(config, **named)


def small(name, **changes):
    """A transformers configuration of moderate size."""
    import transformers

    sizes = dict(hidden_size=512, num_hidden_layers=4, num_attention_heads=8,
                 intermediate_size=1408, vocab_size=VOCABULARY, max_position_embeddings=1024)
    return getattr(transformers, name + "Config")(**{**sizes, **changes})


def text_program(name, config, optimizer, precision=None, kind="AutoModelForCausalLM", after=None,
                 **named):
    @program("llm", name)
    def run():
        model = by_configuration(config(), kind)
        if after:
            model = after(model) or model
        model.train()
        train_text(model, optimizer(model.parameters()), precision, **named)


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=1e-4)


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


def gpt2_config():
    import transformers

    return transformers.GPT2Config(n_layer=6, n_embd=768, n_head=12)


text_program("gpt2_amp", gpt2_config, adamw, "bf16", vocabulary=50257)
text_program("gpt2_fp32", gpt2_config, sgd, vocabulary=50257)
text_program("gpt2_scaler", gpt2_config, adamw, "fp16", vocabulary=50257)
text_program("llama_bf16", lambda: small("Llama", num_key_value_heads=4, dtype=torch.bfloat16),
             adamw, after=lambda model: model.to(torch.bfloat16))
text_program("llama_checkpointed", lambda: small("Llama", num_hidden_layers=8), adamw, "bf16",
             after=lambda model: model.gradient_checkpointing_enable())
text_program("mistral", lambda: small("Mistral", num_key_value_heads=2), adamw, "bf16")
text_program("qwen2_fused", lambda: small("Qwen2", num_key_value_heads=2),
             lambda some: torch.optim.AdamW(some, lr=1e-4, fused=True), "bf16")
text_program("qwen3", lambda: small("Qwen3", num_key_value_heads=2, head_dim=64), adamw, "bf16")
text_program("gemma2", lambda: small("Gemma2", num_key_value_heads=2, head_dim=64), adamw, "bf16")
text_program("phi3", lambda: small("Phi3", num_key_value_heads=8, pad_token_id=0), adamw, "bf16")
text_program("gpt_neox", lambda: small("GPTNeoX"), adamw, "bf16")
text_program("opt", lambda: small("OPT", ffn_dim=2048, word_embed_proj_dim=512), adamw, "fp16")
text_program("bloom", lambda: small("Bloom", n_layer=4, n_head=8), adamw, "bf16")
text_program("falcon", lambda: small("Falcon"), adamw, "bf16")
text_program("bert_mlm", lambda: small("Bert"), adamw, "bf16", "AutoModelForMaskedLM")
text_program("roberta_rmsprop", lambda: small("Roberta"),
             lambda some: torch.optim.RMSprop(some, lr=1e-4), None, "AutoModelForMaskedLM")
text_program("distilbert", lambda: small("DistilBert", dim=512, n_layers=4, n_heads=8,
                                         hidden_dim=2048), adamw, "bf16", "AutoModelForMaskedLM")
text_program("albert", lambda: small("Albert", embedding_size=128), adamw, "bf16",
             "AutoModelForMaskedLM")
text_program("deberta", lambda: small("DebertaV2", relative_attention=True,
                                      position_buckets=64, pos_att_type=["p2c", "c2p"]), adamw,
             None, "AutoModelForMaskedLM")
text_program("t5_adafactor", lambda: small("T5", d_model=512, d_kv=64, d_ff=1024, num_layers=4,
                                           num_heads=8, decoder_start_token_id=0),
             lambda some: torch.optim.Adafactor(some, lr=1e-3), "bf16", "AutoModelForSeq2SeqLM")
text_program("bart", lambda: small("Bart", d_model=512, encoder_layers=3, decoder_layers=3,
                                   encoder_attention_heads=8, decoder_attention_heads=8,
                                   encoder_ffn_dim=2048, decoder_ffn_dim=2048), adamw, "bf16",
             "AutoModelForSeq2SeqLM")
text_program("mamba", lambda: small("Mamba", num_hidden_layers=2), adamw, "bf16",
             lengths=(32, 48))


@program("llm")
def llama_lora():
    import peft

    model = by_configuration(small("Llama", num_hidden_layers=8)).to(torch.bfloat16)
    model = peft.get_peft_model(model, peft.LoraConfig(r=16, target_modules=["q_proj", "v_proj"],
                                                       task_type="CAUSAL_LM"))
    train_text(model, adamw(one for one in model.parameters() if one.requires_grad))


@program("llm")
def llama_compiled():
    model = torch.compile(by_configuration(small("Llama", num_hidden_layers=2)))
    train_text(model, adamw(model.parameters()), "bf16", lengths=(128,), largest=2)


@program("inference")
def llama_generate():
    model = by_configuration(small("Llama")).to(torch.bfloat16).eval()
    for batch, length in ((4, 96), (8, 64), (2, 200)):
        with torch.inference_mode():
            out = model.generate(tokens(batch, length), max_new_tokens=40, do_sample=False,
                                 eos_token_id=None, pad_token_id=0)
        print(out.shape, flush=True)


@program("inference")
def cached_decode():
    """Generates a token at a time with a growing cache; each token is a named step."""
    model = by_configuration(small("Llama")).to(torch.bfloat16).eval()
    text, cache = tokens(grown(256), 8), None
    for step in range(RUN_STEPS):
        with torch.inference_mode(), torch.profiler.record_function(f"step {step}"):
            out = model(input_ids=text, past_key_values=cache, use_cache=True)
            text, cache = out.logits[:, -1:].argmax(-1), out.past_key_values
    print(text.shape, flush=True)


@program("inference")
def gpt2_padded():
    """Texts of different lengths, padded by a tokenizer: the mask comes from the host."""
    import transformers

    model = by_configuration(gpt2_config()).eval()
    for _ in range(STEPS):
        lengths = [random.randint(20, 200) for _ in range(6)]
        mask = torch.zeros(6, max(lengths), dtype=torch.long)
        for row, length in enumerate(lengths):
            mask[row, :length] = 1
        text = torch.randint(0, 50257, mask.shape) * mask
        with torch.inference_mode():
            out = model(text.cuda(), attention_mask=mask.cuda()).logits
            longest = mask.cuda().sum(1).max()
        print(out.shape, longest.shape, transformers.__version__, flush=True)


@program("vision")
def vit():
    import transformers

    model = by_configuration(transformers.ViTConfig(hidden_size=384, num_hidden_layers=6,
                                                    num_attention_heads=6, intermediate_size=1536,
                                                    num_labels=100), "AutoModelForImageClassification")
    train_images(model, adamw(model.parameters()), "bf16", sizes=(224,))


@program("vision")
def whisper():
    import transformers

    config = transformers.WhisperConfig(d_model=384, encoder_layers=2, decoder_layers=2,
                                        encoder_attention_heads=6, decoder_attention_heads=6,
                                        decoder_ffn_dim=1536, encoder_ffn_dim=1536)
    with torch.device("cuda"):
        model = transformers.WhisperForConditionalGeneration(config)

    def loss_of(_step):
        size = grown(random.randint(2, 5))
        sound = torch.randn(size, 80, 3000, device="cuda")
        return model(input_features=sound,
                     labels=tokens(size, random.randint(20, 60), 50000)).loss

    train(model, loss_of, adamw(model.parameters()), "bf16")


def timm_program(name, model_name, optimizer, precision=None, benchmark=False, **named):
    @program("convolution", name)
    def run():
        import timm

        torch.backends.cudnn.benchmark = benchmark
        model = timm.create_model(model_name, num_classes=100).cuda()
        if named.get("channels_last"):
            model = model.to(memory_format=torch.channels_last)
        train_images(model.train(), optimizer(model.parameters()), precision, **named)


timm_program("resnet50", "resnet50", sgd)
timm_program("resnet50_amp", "resnet50", sgd, "bf16", channels_last=True)
timm_program("resnet18", "resnet18", adamw)
timm_program("efficientnet", "efficientnet_b0", adamw, "fp16")
timm_program("convnext", "convnext_tiny", adamw, "bf16", channels_last=True)
timm_program("mobilenet", "mobilenetv3_large_100", sgd, "bf16")
timm_program("densenet", "densenet121", sgd)
timm_program("regnet", "regnety_016", sgd, "bf16")
timm_program("resnext", "resnext50_32x4d", sgd, "fp16", channels_last=True)
timm_program("vgg", "vgg11_bn", sgd)
timm_program("resnet_benchmark", "resnet34", sgd, benchmark=True, sizes=(192,))
timm_program("swin", "swin_tiny_patch4_window7_224", adamw, "bf16", sizes=(224,))
timm_program("mixer", "mixer_s32_224", adamw, "bf16", sizes=(224,))
timm_program("vit_timm", "vit_small_patch16_224", adamw, "fp16", sizes=(224,))


class Block(nn.Module):
    """Two convolutions with a time embedding, as diffusion models have them."""

    def __init__(self, narrow, wide):
        super().__init__()
        self.first = nn.Conv2d(narrow, wide, 3, padding=1)
        self.second = nn.Conv2d(wide, wide, 3, padding=1)
        self.time = nn.Linear(128, wide)
        self.norms = nn.ModuleList([nn.GroupNorm(8, narrow), nn.GroupNorm(8, wide)])
        self.skip = nn.Conv2d(narrow, wide, 1)

    def forward(self, x, time):
        y = self.first(F.silu(self.norms[0](x))) + self.time(time)[:, :, None, None]
        return self.second(F.silu(self.norms[1](y))) + self.skip(x)


class Unet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.enter = nn.Conv2d(3, width, 3, padding=1)
        self.down = nn.ModuleList([Block(width, width), Block(width, 2 * width)])
        self.middle = Block(2 * width, 2 * width)
        self.attention = nn.MultiheadAttention(2 * width, 4, batch_first=True)
        self.up = nn.ModuleList([Block(4 * width, width), Block(2 * width, width)])
        self.leave = nn.Conv2d(width, 3, 3, padding=1)
        self.time = nn.Sequential(nn.Linear(1, 128), nn.SiLU(), nn.Linear(128, 128))

    def forward(self, x, time):
        time = self.time(time[:, None])
        x = self.enter(x)
        kept = []
        for block in self.down:
            x = block(x, time)
            kept.append(x)
            x = F.avg_pool2d(x, 2)
        x = self.middle(x, time)
        flat = x.flatten(2).transpose(1, 2)
        flat = flat + self.attention(flat, flat, flat, need_weights=False)[0]
        x = flat.transpose(1, 2).view_as(x)
        for block in self.up:
            x = F.interpolate(x, scale_factor=2)
            x = block(torch.cat([x, kept.pop()], 1), time)
        return self.leave(x)


@program("diffusion")
def unet_sizes():
    """A fixed number of images, of several sizes."""
    with torch.device("cuda"):
        model = Unet()

    def loss_of(step):
        side = (48, 64, 96, 80)[step]
        images = torch.randn(grown(6), 3, side, side, device="cuda")
        return F.mse_loss(model(images, torch.rand(len(images), device="cuda")), images)

    train(model, loss_of, adamw(model.parameters()), "bf16")


@program("diffusion")
def diffusion():
    with torch.device("cuda"):
        model = Unet()

    def loss_of(_step):
        images = torch.randn(grown(random.randint(4, 10)), 3, 64, 64, device="cuda")
        noise = torch.randn_like(images)
        time = torch.rand(len(images), device="cuda")
        return F.mse_loss(model(images + noise * time[:, None, None, None], time), noise)

    train(model, loss_of, adamw(model.parameters()), "bf16")


@program("graph")
def gcn():
    import torch_geometric.nn as geometric

    model = geometric.GCN(64, 256, 3, 16).cuda()

    def loss_of(_step):
        nodes = grown(random.randint(20000, 40000))
        edges = torch.randint(0, nodes, (2, 8 * nodes))
        out = model(torch.randn(nodes, 64, device="cuda"), edges.cuda())
        return F.cross_entropy(out, torch.randint(0, 16, (nodes,), device="cuda"))

    train(model, loss_of, adamw(model.parameters()))


@program("graph")
def gat():
    import torch_geometric.nn as geometric

    model = geometric.GAT(64, 128, 2, 16, heads=4).cuda()

    def loss_of(_step):
        nodes = grown(random.randint(10000, 20000))
        edges = torch.randint(0, nodes, (2, 6 * nodes))
        out = model(torch.randn(nodes, 64, device="cuda"), edges.cuda())
        return F.cross_entropy(out, torch.randint(0, 16, (nodes,), device="cuda"))

    train(model, loss_of, adamw(model.parameters()))


@program("recurrent")
def lstm():
    model = nn.ModuleList([nn.Embedding(10000, 256), nn.LSTM(256, 512, 2, batch_first=True),
                           nn.Linear(512, 10000)]).cuda()

    def loss_of(_step):
        text = tokens(grown(random.randint(8, 32)), random.randint(40, 80), 10000)
        out = model[2](model[1](model[0](text))[0])
        return F.cross_entropy(out.flatten(0, 1), text.flatten())

    train(model, loss_of, adamw(model.parameters()))


@program("captured")
def captured():
    with torch.device("cuda"):
        model = nn.Sequential(*[nn.Sequential(nn.Linear(1024, 1024), nn.GELU())
                                for _ in range(6)])
    model = torch.cuda.make_graphed_callables(model, (torch.randn(64, 1024, device="cuda",
                                                                  requires_grad=True),))
    train(model, lambda _step: model(torch.randn(64, 1024, device="cuda",
                                                 requires_grad=True)).square().mean(),
          sgd(model.parameters()))


@program("llm")
def mixtral():
    model = by_configuration(small("Mixtral", num_key_value_heads=2, num_local_experts=4,
                                   num_hidden_layers=2))
    train_text(model, adamw(model.parameters()), "bf16")


# Written after the results of everything above were known; each was predicted before it first ran.

def kept_text(name, precision="bf16", kind="AutoModelForCausalLM", optimizer=adamw,
              prefix="kept_", **changes):
    text_program(prefix + name.lower(), lambda: small(name, **changes), optimizer, precision, kind)


GROUPED = dict(num_key_value_heads=2)
kept_text("Olmo2", **GROUPED)
kept_text("Granite", **GROUPED)
kept_text("Starcoder2", **GROUPED)
kept_text("StableLm", precision=None, num_key_value_heads=8)
kept_text("Cohere", **GROUPED)
kept_text("Phi", precision="fp16", num_key_value_heads=8)
kept_text("GPTJ", n_embd=512, n_layer=4, n_head=8, rotary_dim=32, n_inner=None)
kept_text("GPTBigCode", n_embd=512, n_layer=4, n_head=8, n_positions=1024)
kept_text("CodeGen", n_embd=512, n_layer=4, n_head=8, rotary_dim=32, n_inner=None)
kept_text("Mpt", d_model=512, n_heads=8, n_layers=4)
kept_text("SmolLM3", pad_token_id=0, **GROUPED)
kept_text("Glm4", pad_token_id=0, head_dim=64, **GROUPED)
kept_text("Nemotron", **GROUPED)
kept_text("Gemma3Text", head_dim=64, **GROUPED)
kept_text("Helium", head_dim=64, **GROUPED)
kept_text("Lfm2", **GROUPED)
kept_text("Qwen3Moe", num_experts=8, num_experts_per_tok=2, moe_intermediate_size=512, head_dim=64,
          **GROUPED)
kept_text("Electra", kind="AutoModelForMaskedLM", embedding_size=256)
kept_text("MPNet", kind="AutoModelForMaskedLM", optimizer=sgd)
kept_text("XLMRoberta", precision=None, kind="AutoModelForMaskedLM")
kept_text("ModernBert", kind="AutoModelForMaskedLM", pad_token_id=0, cls_token_id=1,
          sep_token_id=2, bos_token_id=1, eos_token_id=2)
kept_text("FNet", precision=None, kind="AutoModelForMaskedLM", optimizer=sgd)
kept_text("Pegasus", kind="AutoModelForSeq2SeqLM", d_model=512, encoder_layers=3, decoder_layers=3,
          encoder_attention_heads=8, decoder_attention_heads=8, encoder_ffn_dim=2048,
          decoder_ffn_dim=2048)
kept_text("MT5", precision=None, kind="AutoModelForSeq2SeqLM", d_model=512, d_kv=64, d_ff=1024,
          num_layers=4, num_heads=8, decoder_start_token_id=0)


def kept_images(name, kind="AutoModelForImageClassification", precision="bf16", **changes):
    @program("vision", "kept_" + name.lower())
    def run():
        import transformers

        config = getattr(transformers, name + "Config")(num_labels=100, **changes)
        model = by_configuration(config, kind)
        train_images(model.train(), adamw(model.parameters()), precision, sizes=(224,))


VIT_SIZES = dict(hidden_size=384, num_hidden_layers=4, num_attention_heads=6)
kept_images("Dinov2", **VIT_SIZES)
kept_images("Beit", intermediate_size=1536, **VIT_SIZES)
kept_images("ConvNextV2", precision=None)
kept_images("Segformer", precision=None)
kept_images("ResNet", precision="fp16")
kept_images("MobileViT")


@program("speech")
def kept_wav2vec2():
    import transformers

    model = by_configuration(transformers.Wav2Vec2Config(
        hidden_size=384, num_hidden_layers=4, num_attention_heads=6, intermediate_size=1536,
        num_labels=20), "AutoModelForAudioClassification").cuda()

    def loss_of(_step):
        size = grown(random.randint(2, 5))
        sound = torch.randn(size, 16000 * random.randint(2, 4), device="cuda")
        return model(sound, labels=torch.randint(0, 20, (size,), device="cuda")).loss

    train(model, loss_of, adamw(model.parameters()), "bf16")


timm_program("kept_efficientnetv2", "efficientnetv2_rw_t", adamw, "bf16", channels_last=True)
timm_program("kept_ghostnet", "ghostnet_100", sgd)
timm_program("kept_inception", "inception_v3", sgd, "fp16", sizes=(224, 299))
timm_program("kept_dla", "dla34", sgd)
timm_program("kept_hrnet", "hrnet_w18_small", adamw, "bf16")
timm_program("kept_darknet", "darknet53", sgd, "bf16", channels_last=True)
timm_program("kept_maxvit", "maxvit_tiny_rw_224", adamw, "bf16", sizes=(224,))
timm_program("kept_repvgg", "repvgg_a0", sgd, "fp16")
timm_program("kept_res2net", "res2net50_26w_4s", sgd, None, sizes=(160, 192))
timm_program("kept_poolformer", "poolformer_s12", adamw, None)
timm_program("kept_xcit", "xcit_tiny_12_p16_224", adamw, "bf16", sizes=(224,))
timm_program("kept_mlp", "gmlp_s16_224", adamw, "bf16", sizes=(224,))


@program("trainer")
def kept_trainer():
    """transformers' Trainer, with padded texts of different lengths."""
    import tempfile

    import transformers

    generator = random.Random(5)
    texts = [{"input_ids": (ids := [generator.randrange(32000) for _ in
                                    range(generator.randint(40, 300))]), "labels": ids}
             for _ in range(64)]

    def collate(some):
        longest = max(len(one["input_ids"]) for one in some)
        return {name: torch.tensor([one["input_ids"] + [fill] * (longest - len(one["input_ids"]))
                                    for one in some])
                for name, fill in (("input_ids", 0), ("labels", -100))}

    model = transformers.AutoModelForCausalLM.from_config(small("Llama"))
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            folder, per_device_train_batch_size=4, max_steps=STEPS + 2, bf16=True, report_to=[],
            gradient_accumulation_steps=2, save_strategy="no", logging_steps=1, seed=3)
        transformers.Trainer(model, arguments, train_dataset=texts, data_collator=collate).train()


@program("lightning")
def kept_lightning():
    import lightning

    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(3, 64, 3, 2, 1), nn.BatchNorm2d(64), nn.ReLU(),
                nn.Conv2d(64, 128, 3, 2, 1), nn.BatchNorm2d(128), nn.ReLU(),
                nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(2048, 10))

        def training_step(self, batch, _number):
            images, labels = batch
            return F.cross_entropy(self.body(images), labels)

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=1e-3)

    data = torch.utils.data.TensorDataset(torch.randn(200, 3, 96, 96), torch.arange(200) % 10)
    trainer = lightning.Trainer(max_epochs=STEPS // 2, accelerator="gpu", devices=1, logger=False,
                                enable_checkpointing=False, enable_progress_bar=False,
                                precision="16-mixed")
    trainer.fit(Classifier(), torch.utils.data.DataLoader(data, batch_size=32))


# Written after the results of those were known too.

for name, changes in {
        "Olmo": GROUPED, "Ministral": {**GROUPED, "head_dim": 64}, "Exaone4": GROUPED,
        "Ernie4_5": {**GROUPED, "head_dim": 64}, "SeedOss": {**GROUPED, "head_dim": 64},
        "GraniteMoe": {**GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2},
        "Persimmon": {}, "XGLM": {"d_model": 512, "ffn_dim": 2048, "num_layers": 4,
                                  "attention_heads": 8}}.items():
    kept_text(name, prefix="last_", **changes)
for name, model_name, optimizer, precision, sizes in (
        ("rexnet", "rexnet_100", sgd, "bf16", (160, 224)),
        ("cspdarknet", "cspdarknet53", sgd, None, (192,)),
        ("gernet", "gernet_s", adamw, "bf16", (160, 224)),
        ("convmixer", "convmixer_768_32", adamw, "bf16", (160,)),
        ("nfnet", "nfnet_l0", sgd, None, (160, 192)),
        ("tinyvit", "tiny_vit_5m_224", adamw, "bf16", (224,)),
        ("hiera", "hiera_tiny_224", adamw, "bf16", (224,)),
        ("vovnet", "ese_vovnet19b_dw", sgd, "bf16", (192, 224))):
    timm_program("last_" + name, model_name, optimizer, precision, sizes=sizes)

# Written after the workspaces of convolutions had been learned from the others.

for name, model_name, optimizer, precision, sizes in (
        ("resnetv2", "resnetv2_50", sgd, None, (160, 224)),
        ("selecsls", "selecsls42b", sgd, None, (192, 224)),
        ("xception", "xception41", adamw, None, (160,)),
        ("dpn", "dpn48b", sgd, None, (192,)),
        ("skresnet", "skresnet18", adamw, None, (160, 192)),
        ("resnest", "resnest14d", sgd, None, (192,)),
        ("fbnet", "fbnetc_100", sgd, "bf16", (160, 224)),
        ("efficientnet_lite", "tf_efficientnet_lite0", adamw, "bf16", (192, 224)),
        ("edgenext", "edgenext_small", adamw, "bf16", (224,)),
        ("inception_next", "inception_next_tiny", adamw, "bf16", (192, 224)),
        ("visformer", "visformer_tiny", adamw, "bf16", (224,)),
        ("davit", "davit_tiny", adamw, "bf16", (224,)),
        ("ecaresnet", "ecaresnet26t", sgd, "bf16", (160, 256)),
        ("hardcore", "hardcorenas_a", sgd, None, (192,))):
    timm_program("late_" + name, model_name, optimizer, precision, sizes=sizes)


def ranks_program(name, spread, **of_optimizer):
    """A text model on two GPUs, as torchrun starts it."""
    @program("ranks", "two_" + name)
    def run():
        import torch.distributed as dist

        rank = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(rank)
        dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
        random.seed(rank + 1)
        model = spread(by_configuration(small("Llama", num_hidden_layers=6)))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **of_optimizer)
        train_text(model, optimizer, "bf16", lengths=(256, 384, 512))
        dist.barrier()
        dist.destroy_process_group()


def spread_ddp(model):
    return nn.parallel.DistributedDataParallel(model, device_ids=[torch.cuda.current_device()])


def spread_fsdp2(model):
    from torch.distributed.fsdp import fully_shard

    for layer in model.model.layers:
        fully_shard(layer)
    return fully_shard(model)


def spread_fsdp1(model):
    import functools

    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy

    return FullyShardedDataParallel(
        model, device_id=torch.cuda.current_device(), use_orig_params=True,
        auto_wrap_policy=functools.partial(size_based_auto_wrap_policy, min_num_params=2_000_000))


def spread_tp(model):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import parallel

    random.seed(1)  # all ranks see the same batches
    mesh = init_device_mesh("cuda", (2,))
    by_columns, by_rows = parallel.ColwiseParallel, parallel.RowwiseParallel
    for layer in model.model.layers:
        parallel.parallelize_module(layer, mesh, {
            "self_attn.q_proj": by_columns(), "self_attn.k_proj": by_columns(),
            "self_attn.v_proj": by_columns(), "self_attn.o_proj": by_rows(),
            "mlp.gate_proj": by_columns(), "mlp.up_proj": by_columns(), "mlp.down_proj": by_rows()})
    return model


ranks_program("ddp", spread_ddp)
ranks_program("fsdp2", spread_fsdp2)
ranks_program("fsdp1", spread_fsdp1)
ranks_program("tp", spread_tp, foreach=False)


def main():
    sys.modules["predict_programs"] = sys.modules["__main__"]
    importlib.import_module("predict_packages")
    if len(sys.argv) < 2:
        for name, (kind, _) in PROGRAMS.items():
            print(name, kind)
        return
    random.seed(1)
    if os.environ.get("ONE_SIZE"):
        random.randint, random.choice = lambda _least, most: most, lambda all_of: all_of[-1]
    torch.manual_seed(1)
    if MEMORY_LIMIT:
        torch.cuda.set_per_process_memory_fraction(
            MEMORY_LIMIT / torch.cuda.get_device_properties(0).total_memory)
    PROGRAMS[sys.argv[1]][1]()
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    print(json.dumps({**{key: stats[f"{key}_bytes.all.peak"]
                         for key in ("reserved", "allocated", "requested")},
                      "rank": int(os.environ.get("RANK", 0))}))


if __name__ == "__main__":
    main()
