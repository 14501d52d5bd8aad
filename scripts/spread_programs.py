"""PyTorch programs with several streams, whose peak of reserved memory differs from run to run.

Each program passes memory between streams with record_stream, so what it reserves depends on when the
device finishes. With the same seed, they request the same sizes in the same order. One GPU is enough:
instead of a collective, they copy on a stream of its own. scripts/prove_spread.py runs them and passes
torch.
"""
import typing


def matrices(torch, count, rows, columns):
    return [torch.randn(rows, columns, device="cuda") * rows ** -0.5 for _ in range(count)]


class Sharded:
    """Weights in two halves that are joined on a separate stream before they are used."""

    def __init__(self, torch, count, width):
        self.torch, self.width = torch, width
        self.main, self.comm = torch.cuda.current_stream(), torch.cuda.Stream()
        self.shards = [matrices(torch, 2, width // 2, width) for _ in range(count)]
        self.ahead = {}

    def gather(self, layer):
        if layer not in self.ahead and 0 <= layer < len(self.shards):
            with self.torch.cuda.stream(self.comm):
                full = self.torch.cat(self.shards[layer])
                self.ahead[layer] = full, self.comm.record_event()

    def take(self, layer):
        self.gather(layer)
        full, ready = self.ahead.pop(layer)
        self.main.wait_event(ready)
        full.record_stream(self.main)
        return full

    def reduce(self, layer, gradient):
        self.comm.wait_stream(self.main)
        with self.torch.cuda.stream(self.comm):
            half = gradient[: self.width // 2].clone()
            self.shards[layer][0].add_(half, alpha=-1e-6)
        gradient.record_stream(self.comm)


def fsdp_step(torch, model, rows, ahead):
    """Forward and backward over gathered weights, `ahead` layers in advance."""
    count, hidden, kept = len(model.shards), torch.randn(rows, model.width, device="cuda"), []
    for layer in range(count):
        for following in range(layer, layer + ahead + 1):
            model.gather(following)
        weight = model.take(layer)
        kept.append(hidden)
        hidden = torch.relu(hidden @ weight)
        del weight
    gradient = hidden
    for layer in reversed(range(count)):
        for following in range(layer, layer - ahead - 1, -1):
            model.gather(following)
        weight, source = model.take(layer), kept.pop()
        model.reduce(layer, source.t() @ gradient)
        gradient = gradient @ weight.t()
        del weight, source


def fsdp(torch, steps, chance):
    """Weights gathered two layers ahead, gradients scattered on the same side stream."""
    model = Sharded(torch, 12, 1536)
    for _ in range(steps):
        fsdp_step(torch, model, 128 * chance.randint(2, 12), 2)


def fsdp_large(torch, steps, chance):
    """The same with matrices that keep the device busy: the host runs far ahead of it."""
    model = Sharded(torch, 8, 3072)
    for _ in range(steps):
        fsdp_step(torch, model, 512 * chance.randint(2, 12), 3)


class Buckets:
    """Gradients copied into buckets, which a side stream reduces during the backward pass."""

    def __init__(self, torch, parameters, most):
        self.torch, self.most, self.size = torch, most, 0
        self.main, self.comm = torch.cuda.current_stream(), torch.cuda.Stream()
        self.waiting, self.reduced = [], []
        for parameter in parameters:
            parameter.register_post_accumulate_grad_hook(self.add)

    def add(self, parameter):
        self.waiting.append(parameter)
        self.size += parameter.numel() * 4
        if self.size >= self.most:
            self.send()

    def send(self):
        if not self.waiting:
            return
        bucket = self.torch.cat([each.grad.flatten() for each in self.waiting])
        for each in self.waiting:
            each.grad = None
        self.comm.wait_stream(self.torch.cuda.current_stream())
        with self.torch.cuda.stream(self.comm):
            summed = bucket.clone().add_(bucket).mul_(0.5)
        bucket.record_stream(self.comm)
        self.reduced.append((self.waiting, summed))
        self.waiting, self.size = [], 0

    def finish(self):
        self.send()
        self.main.wait_stream(self.comm)
        for parameters, summed in self.reduced:
            at = 0
            for parameter in parameters:
                part = summed[at:at + parameter.numel()].view_as(parameter)
                parameter.data.add_(part, alpha=-1e-6)
                at += parameter.numel()
            summed.record_stream(self.main)
        self.reduced = []


def perceptron(torch, width, count):
    layers = []
    for _ in range(count):
        layers += [torch.nn.Linear(width, width), torch.nn.GELU(), torch.nn.LayerNorm(width)]
    return torch.nn.Sequential(*layers).to("cuda")


def ddp(torch, steps, chance):
    """Gradients in buckets of 16 MiB, reduced during the backward pass (autograd)."""
    model = perceptron(torch, 1536, 14)
    buckets = Buckets(torch, model.parameters(), 16 << 20)
    for _ in range(steps):
        model(torch.randn(128 * chance.randint(2, 20), 1536, device="cuda")).square().mean() \
            .backward()
        buckets.finish()


def optimizer_stream(torch, steps, chance):
    """Half-precision gradients cast and applied on a side stream, parameter by parameter."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    model = perceptron(torch, 2048, 8).to(torch.bfloat16)
    masters = {each: each.detach().float() for each in model.parameters()}

    def apply(parameter):
        gradient, parameter.grad = parameter.grad, None
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            exact = gradient.float()
            masters[parameter].add_(exact, alpha=-1e-6)
            exact.mul_(exact)
        gradient.record_stream(side)

    for each in model.parameters():
        each.register_post_accumulate_grad_hook(apply)
    for _ in range(steps):
        source = torch.randn(256 * chance.randint(1, 16), 2048, device="cuda", dtype=torch.bfloat16)
        model(source).float().square().mean().backward()
        side.wait_stream(main)
        with torch.cuda.stream(side):
            copies = [(each, masters[each].to(torch.bfloat16)) for each in model.parameters()]
        main.wait_stream(side)
        for each, copy in copies:
            each.data.copy_(copy)
            copy.record_stream(main)


def pipeline(torch, steps, chance):
    """Four stages, each on its own stream, through which micro-batches go forward and backward."""
    stages, width = [torch.cuda.Stream() for _ in range(4)], 1536
    weights = [matrices(torch, 3, width, width) for _ in stages]
    torch.cuda.synchronize()

    def run(stage, source, backward):
        stream = stages[stage]
        with torch.cuda.stream(stream):
            result = source
            for weight in weights[stage]:
                result = torch.relu(result @ (weight.t() if backward else weight))
            done = stream.record_event()
        source.record_stream(stream)
        return result, done

    for _ in range(steps):
        rows = [64 * chance.randint(2, 16) for _ in range(6)]
        kept = []
        for count in rows:
            with torch.cuda.stream(stages[0]):
                hidden, done = torch.randn(count, width, device="cuda"), stages[0].record_event()
            for stage, stream in enumerate(stages):
                stream.wait_event(done)
                hidden, done = run(stage, hidden, False)
            kept.append((hidden, done))
        for hidden, done in reversed(kept):
            for stage in reversed(range(4)):
                stages[stage].wait_event(done)
                hidden, done = run(stage, hidden, True)
        del kept, hidden


def prefetch(torch, steps, chance):
    """Batches of changing size copied from the host two steps ahead, on a loader's stream."""
    main, loader, width = torch.cuda.current_stream(), torch.cuda.Stream(), 1024
    weights = matrices(torch, 6, width, width)
    host = torch.randn(16384, width).pin_memory()
    queue = []

    def load():
        with torch.cuda.stream(loader):
            batch = host[: 256 * chance.randint(2, 60)].to("cuda", non_blocking=True)
            queue.append(((batch - 0.1).mul_(2.0), loader.record_event()))

    for step in range(steps):
        while len(queue) < 3:
            load()
        batch, ready = queue.pop(0)
        main.wait_event(ready)
        batch.record_stream(main)
        hidden = batch
        del batch
        for weight in weights:
            hidden = torch.relu(hidden @ weight)
        if step % 16 == 15:
            hidden.sum().item()
        del hidden


def offload(torch, steps, chance):
    """Activations copied to the host on one stream, and back on another for the backward pass."""
    main, out, back = torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()
    width, count = 1024, 10
    weights = matrices(torch, count, width, width)
    room = [torch.empty(6144, width, pin_memory=True) for _ in range(count)]
    for _ in range(steps):
        rows = 256 * chance.randint(2, 24)
        hidden = torch.randn(rows, width, device="cuda")
        for layer in range(count):
            out.wait_stream(main)
            with torch.cuda.stream(out):
                room[layer][:rows].copy_(hidden, non_blocking=True)
            hidden.record_stream(out)
            hidden = torch.relu(hidden @ weights[layer])
        gradient = hidden
        back.wait_stream(out)
        for layer in reversed(range(count)):
            with torch.cuda.stream(back):
                source = room[layer][:rows].to("cuda", non_blocking=True)
                ready = back.record_event()
            main.wait_event(ready)
            source.record_stream(main)
            weights[layer].add_(source.t() @ gradient, alpha=-1e-9)
            gradient = gradient @ weights[layer].t()
            del source
        del hidden, gradient


def experts(torch, steps, chance):
    """Four experts on four streams; how many rows each gets changes every step."""
    main, width = torch.cuda.current_stream(), 1024
    streams = [torch.cuda.Stream() for _ in range(4)]
    layers = [[(*matrices(torch, 1, width, 4 * width), *matrices(torch, 1, 4 * width, width))
               for _ in streams] for _ in range(3)]
    for _ in range(steps):
        hidden = torch.randn(4096, width, device="cuda")
        for layer in layers:
            shares = [chance.randint(1, 12) for _ in streams]
            parts, results, at = [], [], 0
            for share in shares:
                rows = 4096 * share // sum(shares)
                parts.append(hidden[at:at + rows].clone())
                at += rows
            for stream, part, (up, down) in zip(streams, parts, layer):
                stream.wait_stream(main)
                with torch.cuda.stream(stream):
                    results.append(torch.relu(part @ up) @ down)
                part.record_stream(stream)
            del parts, part
            for stream, result in zip(streams, results):
                main.wait_stream(stream)
                result.record_stream(main)
            hidden = torch.cat(results)
            del results, result


def graphs(torch, steps, chance):
    """A captured graph with a side stream of its own, fed and drained by two others."""
    main, feed, drain = torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()
    width = 1024
    weights = matrices(torch, 6, width, width)
    inner, source = torch.cuda.Stream(), torch.randn(4096, width, device="cuda")
    torch.relu(source @ weights[0])
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        here = torch.cuda.current_stream()
        inner.wait_stream(here)
        with torch.cuda.stream(inner):
            other = source @ weights[0]
        hidden = source
        for weight in weights[1:]:
            hidden = torch.relu(hidden @ weight)
        here.wait_stream(inner)
        target = hidden + other
    for _ in range(steps):
        rows = 64 * chance.randint(8, 64)
        with torch.cuda.stream(feed):
            batch = torch.randn(rows, width, device="cuda").mul_(0.5).add_(0.1)
        main.wait_stream(feed)
        batch.record_stream(main)
        source[:rows].copy_(batch)
        graph.replay()
        result = target[:rows].clone()
        drain.wait_stream(main)
        with torch.cuda.stream(drain):
            wide = torch.cat([result, batch], dim=1)
            (wide @ wide.t()).relu_()
        result.record_stream(drain)
        batch.record_stream(drain)
        del batch, result, wide


def serving(torch, steps, chance):
    """Caches of keys that grow every step, and a stream that copies parts of them away."""
    main, away, width = torch.cuda.current_stream(), torch.cuda.Stream(), 2048
    weights, caches = matrices(torch, 4, width, width), []
    for _ in range(steps):
        if len(caches) < 10 and chance.random() < 0.6:
            caches.append(torch.randn(chance.randint(128, 3000), width, device="cuda"))
        for number, cache in enumerate(caches):
            hidden = torch.randn(16, width, device="cuda")
            for weight in weights:
                hidden = torch.relu(hidden @ weight)
            scores = (hidden @ cache.t()).softmax(-1)
            caches[number] = torch.cat([cache, scores @ cache])
            if chance.random() < 0.3:
                away.wait_stream(main)
                with torch.cuda.stream(away):
                    packed = (cache * 0.5).to(torch.bfloat16)
                    packed.float().sum(0)
                cache.record_stream(away)
            del cache
        if caches and chance.random() < 0.4:
            caches.pop(chance.randrange(len(caches)))


def chunked(torch, steps, chance):
    """A product in chunks: each is gathered, and its result scattered, during the next one."""
    main, comm, width = torch.cuda.current_stream(), torch.cuda.Stream(), 2048
    weights = matrices(torch, 4, width, width)
    for _ in range(steps):
        hidden = [torch.randn(128 * chance.randint(1, 12), width, device="cuda") for _ in range(4)]
        for weight in weights:
            gathered, results = [], []
            for part in hidden:
                comm.wait_stream(main)
                with torch.cuda.stream(comm):
                    gathered.append((torch.cat([part, part]), comm.record_event()))
                part.record_stream(comm)
            del part
            hidden = []
            for chunk, ready in gathered:
                main.wait_event(ready)
                result = torch.relu(chunk @ weight)
                chunk.record_stream(main)
                comm.wait_stream(main)
                with torch.cuda.stream(comm):
                    results.append(result[: len(result) // 2] + result[len(result) // 2:])
                result.record_stream(comm)
            del gathered, chunk, result
            main.wait_stream(comm)
            for each in results:
                each.record_stream(main)
            hidden = results
            del each, results
        del hidden


def recommender(torch, steps, chance):
    """Rows of large tables looked up one step ahead on a side stream; the rest is autograd's."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    tables = matrices(torch, 6, 50000, 128)
    model = perceptron(torch, 768, 4)
    torch.cuda.synchronize()

    def look_up():
        batch = 256 * chance.randint(2, 40)
        with torch.cuda.stream(side):
            parts = [table[torch.randint(0, 50000, (batch,), device="cuda")] for table in tables]
            return torch.cat(parts, dim=1), side.record_event()

    following = look_up()
    for _ in range(steps):
        source, ready = following
        following = look_up()
        main.wait_event(ready)
        source.record_stream(main)
        model(source).square().mean().backward()
        del source
        for parameter in model.parameters():
            parameter.data.add_(parameter.grad, alpha=-1e-6)
            parameter.grad = None


def averaged(torch, steps, chance):
    """Training, with long evaluations of weight copies on a stream of low priority."""
    main, low = torch.cuda.current_stream(), torch.cuda.Stream(priority=0)
    width = 1536
    weights, inputs = matrices(torch, 8, width, width), torch.randn(4096, width, device="cuda")
    for step in range(steps):
        rows = 128 * chance.randint(2, 24)
        hidden = torch.randn(rows, width, device="cuda")
        for weight in weights:
            hidden = torch.relu(hidden @ weight)
        if step % 3 == 2:
            copies = [weight.clone() for weight in weights]
            low.wait_stream(main)
            with torch.cuda.stream(low):
                seen = inputs[: 128 * chance.randint(4, 32)]
                for copy in copies:
                    seen = torch.relu(seen @ copy)
                    copy.record_stream(low)
            del copies, copy, seen
        if step % 12 == 11:
            hidden.mean().item()
        del hidden


def rollout(torch, steps, chance):
    """An actor and a learner on two streams, which exchange their results."""
    actor, learner, width = torch.cuda.Stream(), torch.cuda.Stream(), 1024
    weights = matrices(torch, 5, width, width)
    torch.cuda.synchronize()
    queue = []
    for step in range(steps):
        with torch.cuda.stream(actor):
            states = torch.randn(64 * chance.randint(1, 16), width, device="cuda")
            kept = [states]
            for _ in range(chance.randint(2, 10)):
                states = torch.tanh(states @ weights[0])
                kept.append(states)
            queue.append((torch.stack(kept), actor.record_event()))
            del kept, states
        if len(queue) > 2:
            batch, ready = queue.pop(chance.randrange(2))
            learner.wait_event(ready)
            with torch.cuda.stream(learner):
                hidden = batch
                for weight in weights[1:]:
                    hidden = torch.relu(hidden @ weight)
                hidden.mean()
            batch.record_stream(learner)
            del batch, hidden
        if step % 20 == 19:
            learner.synchronize()


def train_loaded(torch, model, copied, steps, read):
    """Batches that `copied` makes on a loader's stream, one step ahead; the loss is read at every
    `read`-th step."""
    optimizer = torch.optim.AdamW(model.parameters())
    main, loader = torch.cuda.current_stream(), torch.cuda.Stream()

    def load():
        with torch.cuda.stream(loader):
            return copied()

    following = load()
    for step in range(steps):
        main.wait_stream(loader)
        source = following
        source.record_stream(main)
        following = load()
        loss = model(source).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % read == read - 1:
            loss.item()
        del source, loss


def convolutional(torch, steps, chance):
    """Images of one size; the loss is read every ten steps."""
    layers, channels = [], 3
    for wider in (64, 128, 256):
        layers += [torch.nn.Conv2d(channels, wider, 3, stride=2, padding=1), torch.nn.ReLU()]
        channels = wider
    model = torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                                torch.nn.Linear(channels, 100)).to("cuda")
    host = torch.randn(96, 3, 192, 192).pin_memory()
    train_loaded(torch, model, lambda: host.to("cuda", non_blocking=True).mul_(0.5), steps, 10)


def prefetched_text(torch, steps, chance):
    """A transformer with batches of changing length; the loss is read at every step."""
    layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).to("cuda")
    host = torch.randn(16, 512, 512).pin_memory()

    def copied():
        length = 32 * chance.randint(2, 16)
        return host[:, :length].to("cuda", non_blocking=True)

    train_loaded(torch, model, copied, steps, 1)


def one_rank(torch):
    """A process group that has only this process, on NCCL."""
    torch.distributed.init_process_group("nccl", store=torch.distributed.HashStore(), rank=0,
                                         world_size=1, device_id=torch.device("cuda", 0))


def ddp_of_torch(torch, steps, chance):
    """torch's DistributedDataParallel, of one rank, with batches from a loader's stream."""
    one_rank(torch)
    model = torch.nn.parallel.DistributedDataParallel(perceptron(torch, 1536, 10))
    optimizer = torch.optim.AdamW(model.parameters())
    main, loader = torch.cuda.current_stream(), torch.cuda.Stream()
    for _ in range(steps):
        with torch.cuda.stream(loader):
            source = torch.randn(128 * chance.randint(2, 20), 1536, device="cuda")
        main.wait_stream(loader)
        source.record_stream(main)
        model(source).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        del source
    torch.distributed.destroy_process_group()


def fsdp_of_torch(torch, steps, chance):
    """torch's fully_shard, of one rank: gathers and scatters on its streams."""
    from torch.distributed.fsdp import fully_shard

    one_rank(torch)
    model = perceptron(torch, 1536, 10)
    for layer in model:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(steps):
        model(torch.randn(128 * chance.randint(2, 20), 1536, device="cuda")).square().mean() \
            .backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.distributed.destroy_process_group()


class Program(typing.NamedTuple):
    run: typing.Callable  # (torch, steps, chance)
    steps: int
    third: str  # its third setting, in addition to the default and expandable segments


SPLIT, ROUND = "max_split_size_mb:32", "roundup_power2_divisions:4"

PROGRAMS = {
    "fsdp": Program(fsdp, 30, SPLIT),
    "ddp": Program(ddp, 30, ROUND),
    "pipeline": Program(pipeline, 20, SPLIT),
    "prefetch": Program(prefetch, 80, ROUND),
    "offload": Program(offload, 25, SPLIT),
    "experts": Program(experts, 30, ROUND),
    "graphs": Program(graphs, 60, SPLIT),
    "optimizer_stream": Program(optimizer_stream, 30, SPLIT),
    "serving": Program(serving, 50, ROUND),
    "chunked": Program(chunked, 25, SPLIT),
    "recommender": Program(recommender, 40, ROUND),
    "averaged": Program(averaged, 60, SPLIT),
    "rollout": Program(rollout, 60, ROUND),
    "fsdp_large": Program(fsdp_large, 20, SPLIT),
    "convolutional": Program(convolutional, 40, SPLIT),
    "prefetched_text": Program(prefetched_text, 30, ROUND),
    "ddp_of_torch": Program(ddp_of_torch, 20, SPLIT),
    "fsdp_of_torch": Program(fsdp_of_torch, 20, SPLIT),
}
