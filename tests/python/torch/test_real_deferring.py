"""Deferred optimizers and modules with the real PyTorch, on a simulated GPU: what is touched while
it is away ends the program. Each test is a program of its own."""

import pytest
import test_real_torch

pytestmark = test_real_torch.needs("torch")

MODEL = """
import gc
import torch
import tidemark
import tidemark.torch
from torch.utils.checkpoint import checkpoint

MIB = 1 << 20
torch.set_num_threads(1)


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.before = torch.nn.LayerNorm(width)
        self.wide = torch.nn.Linear(width, 2 * width)
        self.narrow = torch.nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.narrow(torch.nn.functional.gelu(self.wide(self.before(x))))


class Model(torch.nn.Module):
    def __init__(self, through):
        super().__init__()
        self.words = torch.nn.Embedding(100, 512)
        self.blocks = torch.nn.ModuleList(Block(512) for _ in range(5))
        self.through = through

    def forward(self, words):
        x = self.words(words)
        for block in self.blocks:
            x = self.through(block, x)
        return x @ self.words.weight.T


def step(model, number):
    words = torch.arange(32).view(2, 16) + number
    loss = torch.nn.functional.cross_entropy(model(words).flatten(0, 1), (words + 1).flatten())
    loss.backward()
    return loss.item()


def opened(gpu=24):
    return tidemark.DeferrableMemory(tidemark.Context("sim"), gpu * MIB, 256 * MIB)
"""


def said(program, folder):
    (folder / "model.py").write_text(MODEL)
    return test_real_torch.run_text("from model import *\n" + program, folder)[0]


@pytest.mark.parametrize("through", ["lambda block, x: block(x)",
                                     "lambda *given: checkpoint(*given, use_reentrant=False)",
                                     "lambda *given: checkpoint(*given, use_reentrant=True)"])
def test_a_training_is_the_same_in_a_third_of_its_memory(tmp_path, through):
    assert said(f"""
def train(memory):
    torch.manual_seed(1)
    model = Model({through})
    kept = [memory and tidemark.torch.defer_module(model, memory)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    kept.append(memory and tidemark.torch.defer_optimizer(optimizer, memory))
    losses = []
    for number in range(3):
        losses.append(step(model, number))
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step()
    if memory:
        assert sum(one.size for one in kept) > 55 * MIB
        assert memory.statistics().retrievals > 20 and memory.statistics().pins == 0
    state = [one.sum().item() for one in model.state_dict().values()]
    return losses, state, [one["exp_avg"].sum().item()
                           for one in optimizer.state_dict()["state"].values()]

print(train(None) == train(opened()))
""", tmp_path) == "True\n"


@pytest.mark.parametrize("name, options", [("Adam", "foreach=True"), ("Adam", "fused=True"),
                                           ("SGD", "momentum=0.9"), ("Adagrad", "")])
def test_optimizers_go_in_pieces(tmp_path, name, options):
    assert said(f"""
def train(memory):
    torch.manual_seed(1)
    model = Model(lambda block, x: block(x))
    optimizer = torch.optim.{name}(model.parameters(), lr=1e-2, {options})
    if memory:
        tidemark.torch.defer_optimizer(optimizer, memory)
    def closure():
        optimizer.zero_grad()
        loss = step(model, 1)
        return loss
    return [optimizer.step(closure) for _ in range(3)]

print(train(None) == train(opened(16)))
""", tmp_path) == "True\n"


def test_a_checkpoint_is_taken_up_again(tmp_path):
    assert said("""
import io
torch.manual_seed(1)

def made(memory):
    model = Model(lambda block, x: block(x))
    tidemark.torch.defer_module(model, memory)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    tidemark.torch.defer_optimizer(optimizer, memory)
    return model, optimizer

model, optimizer = made(opened())
step(model, 0), optimizer.step(), optimizer.zero_grad()
file = io.BytesIO()
torch.save([model.state_dict(), optimizer.state_dict()], file)
file.seek(0)
states = torch.load(file)
other, its_optimizer = made(opened())
other.load_state_dict(states[0]), its_optimizer.load_state_dict(states[1])
results = []
for one, steps in ((model, optimizer), (other, its_optimizer)):
    step(one, 1), steps.step(), steps.zero_grad()
    results.append(step(one, 2))
print(results[0] == results[1])
""", tmp_path) == "True\n"


def test_scaled_gradients_of_short_numbers(tmp_path):
    assert said("""
def train(memory):
    torch.manual_seed(1)
    model = Model(lambda block, x: block(x)).bfloat16()
    kept = [memory and tidemark.torch.defer_module(model, memory, minimum=1 << 19)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    kept.append(memory and tidemark.torch.defer_optimizer(optimizer, memory, minimum=1 << 19))
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    losses = []
    for number in range(3):
        words = torch.arange(32).view(2, 16) + number
        loss = model(words).float().logsumexp(-1).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert not memory or sum(one.size for one in kept) >= 30 * MIB
    return losses

print(train(None) == train(opened(16)))
""", tmp_path) == "True\n"


def test_frozen_parameters_and_gradients_of_inputs(tmp_path):
    assert said("""
def gradients(memory):
    torch.manual_seed(1)
    model = Model(lambda block, x: block(x))
    for block in model.blocks:
        block.wide.requires_grad_(False)
    if memory:
        tidemark.torch.defer_module(model, memory)
    step(model, 0), step(model, 1)
    x = torch.ones(2, 512, requires_grad=True)
    asked = torch.autograd.grad(model.blocks[1](model.blocks[0](x)).sum(), x)[0]
    with torch.no_grad():
        seen = model(torch.arange(8)).sum().item()
    return [one.grad.sum().item() for one in model.parameters() if one.requires_grad], \\
        asked.sum().item(), seen

memory = opened(12)
print(gradients(None) == gradients(memory), memory.statistics().pins)
""", tmp_path) == "True 0\n"
