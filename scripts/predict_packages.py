"""Programs of predict_programs.py that use other packages than PyTorch and transformers, and other
parts of PyTorch: detection, segmentation, video, diffusion, other optimizers and kernels, beam
search.

They were written after the figures of the others were known, and predicted before they first ran.
"""
import random

import torch
import torch.nn.functional as F
from predict_programs import (STEPS, VOCABULARY, adamw, by_configuration, program, sgd, small,
                              tokens, train, train_images, train_text)
from torch import nn


def images_of(batch, size, channels=3):
    return torch.randn(batch, channels, size, size, device="cuda")


@program("detection")
def other_fasterrcnn():
    import torchvision

    model = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_fpn(
        weights=None, weights_backbone=None, num_classes=10).cuda()

    def loss_of(_step):
        boxes = torch.tensor([[10., 20., 100., 200.], [50., 60., 280., 220.]])
        targets = [{"boxes": boxes.cuda(), "labels": torch.tensor([1, 2]).cuda()} for _ in range(2)]
        return sum(model([image for image in images_of(2, 320)], targets).values())

    train(model, loss_of, sgd(model.parameters()))


@program("segmentation")
def other_deeplab():
    import torchvision

    model = torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=8).cuda()

    def loss_of(_step):
        size = random.choice((224, 288))
        labels = torch.randint(0, 8, (4, size, size), device="cuda")
        return F.cross_entropy(model(images_of(4, size))["out"], labels)

    train(model, loss_of, sgd(model.parameters()), "bf16")


def vision_program(name, model_name, optimizer, precision=None, **named):
    @program("vision", "other_" + name)
    def run():
        import torchvision

        model = getattr(torchvision.models, model_name)(num_classes=100).cuda()
        if named.get("channels_last"):
            model = model.to(memory_format=torch.channels_last)
        train_images(model.train(), optimizer(model.parameters()), precision, **named)


vision_program("convnext", "convnext_tiny", adamw, "bf16", channels_last=True)
vision_program("wide_resnet", "wide_resnet50_2", sgd, "bf16")
vision_program("shufflenet", "shufflenet_v2_x1_0", sgd)
vision_program("vit", "vit_b_16", adamw, "bf16", sizes=(224,))
vision_program("swin", "swin_v2_t", adamw, "bf16", sizes=(224,))


@program("video")
def other_video():
    import torchvision

    model = torchvision.models.video.r3d_18(num_classes=20).cuda()

    def loss_of(_step):
        clips = torch.randn(random.randint(2, 4), 3, 8, 96, 96, device="cuda")
        return F.cross_entropy(model(clips), torch.randint(0, 20, (len(clips),), device="cuda"))

    train(model, loss_of, sgd(model.parameters()), "bf16")


def text_unet():
    import diffusers

    return diffusers.UNet2DConditionModel(
        sample_size=32, block_out_channels=(64, 128, 256, 256), cross_attention_dim=256,
        attention_head_dim=8)


@program("diffusion")
def other_unet():
    import diffusers

    model, schedule = text_unet().cuda(), diffusers.DDPMScheduler()

    def loss_of(_step):
        latents = images_of(random.randint(2, 6), 32, 4)
        noise = torch.randn_like(latents)
        times = torch.randint(0, 1000, (len(latents),), device="cuda")
        text = torch.randn(len(latents), 77, 256, device="cuda")
        return F.mse_loss(model(schedule.add_noise(latents, noise, times), times, text).sample,
                          noise)

    train(model, loss_of, adamw(model.parameters()), "bf16")


@program("diffusion")
def other_sampling():
    import diffusers

    model = text_unet().to("cuda", torch.float16).eval()
    decoder = diffusers.AutoencoderKL(
        block_out_channels=(32, 64, 64, 64), down_block_types=("DownEncoderBlock2D",) * 4,
        up_block_types=("UpDecoderBlock2D",) * 4).to("cuda", torch.float16).eval()
    schedule = diffusers.DDIMScheduler()
    schedule.set_timesteps(6)
    with torch.inference_mode():
        for batch in (2, 4):
            latents = images_of(batch, 32, 4).half()
            text = torch.randn(batch, 77, 256, device="cuda", dtype=torch.float16)
            for time in schedule.timesteps:
                latents = schedule.step(model(latents, time, text).sample, time,
                                        latents).prev_sample
            print(decoder.decode(latents).sample.cpu().shape, flush=True)


@program("diffusion")
def other_dit():
    import diffusers

    model = diffusers.DiTTransformer2DModel(num_attention_heads=6, attention_head_dim=64,
                                            num_layers=6, sample_size=32, in_channels=4,
                                            out_channels=8).cuda()

    def loss_of(_step):
        latents = images_of(random.randint(4, 8), 32, 4)
        count = len(latents)
        out = model(latents, torch.randint(0, 1000, (count,), device="cuda"),
                    torch.randint(0, 1000, (count,), device="cuda")).sample
        return out.square().mean()

    train(model, loss_of, adamw(model.parameters()), "bf16")


@program("diffusion")
def other_autoencoder():
    import diffusers

    model = diffusers.AutoencoderKL(
        block_out_channels=(32, 64, 64), down_block_types=("DownEncoderBlock2D",) * 3,
        up_block_types=("UpDecoderBlock2D",) * 3).cuda()

    def loss_of(_step):
        images = images_of(random.randint(2, 4), 128)
        return F.mse_loss(model(images).sample, images)

    train(model, loss_of, adamw(model.parameters()), "bf16")


@program("llm")
def other_liger():
    from liger_kernel.transformers import apply_liger_kernel_to_llama

    apply_liger_kernel_to_llama()
    model = by_configuration(small("Llama", num_key_value_heads=4, dtype=torch.bfloat16))
    train_text(model, torch.optim.AdamW(model.parameters(), fused=True))


@program("llm")
def other_accelerate():
    """Gradients over two batches, clipped; data from workers."""
    import accelerate

    accelerator = accelerate.Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2)
    model = by_configuration(small("Qwen3", num_key_value_heads=2, head_dim=64))
    data = torch.utils.data.DataLoader(torch.randint(0, VOCABULARY, (48, 256)), batch_size=4,
                                       num_workers=2, pin_memory=True)
    model, optimizer, data = accelerator.prepare(model, adamw(model.parameters()), data)
    for text in data:
        with accelerator.accumulate(model):
            accelerator.backward(model(input_ids=text, labels=text).loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()


@program("compiled")
def other_tuned():
    """Kernels that torch.compile chooses by autotuning, and graphs."""
    body = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.LayerNorm(2048),
                         nn.Linear(2048, 512)).cuda()
    model = torch.compile(body, mode="max-autotune")
    optimizer = adamw(body.parameters())
    train(model, lambda _step: model(torch.randn(256, 512, device="cuda")).square().mean(),
          optimizer)


@program("inference")
def other_beams():
    model = by_configuration(small("Llama")).to(torch.bfloat16).eval()
    with torch.inference_mode():
        for batch, length in ((2, 64), (3, 90)):
            out = model.generate(tokens(batch, length), max_new_tokens=24, num_beams=4,
                                 do_sample=False, eos_token_id=None, pad_token_id=0)
            print(out.shape, flush=True)


@program("inference")
def other_sampled():
    """Sampling with all logits processors, and a cache of a fixed size."""
    model = by_configuration(small("Qwen2", num_key_value_heads=2)).to(torch.bfloat16).eval()
    with torch.inference_mode():
        for batch in (2, 5):
            out = model.generate(tokens(batch, 100), max_new_tokens=30, do_sample=True, top_k=40,
                                 top_p=0.9, temperature=0.8, cache_implementation="static",
                                 eos_token_id=None, pad_token_id=0)
            print(out.shape, flush=True)


@program("vision")
def other_clip():
    """Contrastive: two encoders, all pairs."""
    import transformers

    sizes = dict(hidden_size=256, num_hidden_layers=3, num_attention_heads=4,
                 intermediate_size=512)
    model = by_configuration(transformers.CLIPConfig(
        text_config={**sizes, "vocab_size": 1000}, vision_config={**sizes, "image_size": 128},
        projection_dim=128), "AutoModel")

    def loss_of(_step):
        count = random.randint(8, 16)
        return model(input_ids=tokens(count, 32, 1000), pixel_values=images_of(count, 128),
                     return_loss=True).loss

    train(model, loss_of, adamw(model.parameters()), "bf16")


@program("reinforcement")
def other_ppo():
    """A policy and a value on frames, from a buffer on the device."""
    net = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
                        nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 512),
                        nn.ReLU()).cuda()
    heads = nn.ModuleList([nn.Linear(512, 6), nn.Linear(512, 1)]).cuda()
    optimizer = torch.optim.Adam([*net.parameters(), *heads.parameters()], lr=1e-4)
    frames = torch.zeros(256, 4, 84, 84, dtype=torch.uint8, device="cuda")
    returns = torch.zeros(256, device="cuda")
    for _ in range(STEPS):
        with torch.no_grad():
            for at in range(0, 256, 32):
                seen = torch.randint(0, 255, (32, 4, 84, 84), dtype=torch.uint8).cuda()
                frames[at:at + 32] = seen
                features = net(seen.float() / 255)
                torch.distributions.Categorical(logits=heads[0](features)).sample()
                returns[at:at + 32] = heads[1](features).squeeze(1)
        for rows in torch.randperm(256, device="cuda").split(64):
            features = net(frames[rows].float() / 255)
            chosen = torch.distributions.Categorical(logits=heads[0](features))
            loss = F.mse_loss(heads[1](features).squeeze(1), returns[rows]) - \
                0.01 * chosen.entropy().mean()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimizer.step()
            optimizer.zero_grad()
