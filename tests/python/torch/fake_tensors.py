"""A torch of NumPy arrays, as far as deferring tensors touches it: tensors, an optimizer, modules
and backward passes, with PyTorch's hooks at PyTorch's moments."""

import contextlib
import functools
import types

import numpy


class Hooks(list):
    def add(self, hook, **_options):
        self.append(hook)
        return types.SimpleNamespace(remove=lambda: self.remove(hook))


class Tensor:
    is_cuda = False

    def __init__(self, values, requires_grad=False):
        self.values = values
        self.requires_grad = requires_grad
        self.grad = None
        self.hooks, self.accumulated = Hooks(), Hooks()
        self._version = 0

    data = property(lambda own: own, lambda own, other: setattr(own, "values", other.values))
    shape = property(lambda own: own.values.shape)
    dtype = property(lambda own: own.values.dtype)

    def numel(self):
        return self.values.size

    def element_size(self):
        return self.values.itemsize

    def data_ptr(self):
        return self.values.__array_interface__["data"][0]

    def is_contiguous(self):
        return self.values.flags["C_CONTIGUOUS"]

    def detach(self):
        return Tensor(self.values)

    def copy_(self, other):
        self.values[...] = other.values
        self._version += 1

    def view(self, to):
        return Tensor(self.values.reshape(to) if isinstance(to, tuple) else self.values.view(to))

    def register_hook(self, hook):
        return self.hooks.add(hook)

    def register_post_accumulate_grad_hook(self, hook):
        return self.accumulated.add(hook)


class Optimizer:
    """Momentum, kept for each parameter."""

    def __init__(self, parameters):
        self.param_groups = [{"params": list(parameters)}]
        self.state = {}
        self.before, self.after, self.saved, self.loaded = Hooks(), Hooks(), Hooks(), Hooks()
        self.register_step_pre_hook = self.before.add
        self.register_step_post_hook = self.after.add
        self.register_state_dict_post_hook = self.saved.add
        self.register_load_state_dict_post_hook = self.loaded.add
        self.seen = []  # how many parameters the plain steps saw
        self.fails_at = None

    @staticmethod
    def profile_hook_step(function):
        @functools.wraps(function)
        def hooked(self, *arguments):
            for hook in self.before:
                hook(self, arguments, {})
            result = function(self, *arguments)
            for hook in self.after:
                hook(self, arguments, {})
            return result

        return hooked

    def step(self, closure=None):
        assert closure is None, "it has been called by then"
        parameters = self.param_groups[0]["params"]
        self.seen.append(len(parameters))
        if len(self.seen) == self.fails_at:
            raise RuntimeError("the step fails")
        for one in parameters:
            state = self.state.setdefault(one, {
                "step": Tensor(numpy.zeros(1, "f4")), "name": "text",
                "sum": Tensor(numpy.zeros_like(one.grad))})
            state["sum"].values += one.grad
            state["step"].values += 1
            one.values -= one.grad

    def state_dict(self):
        saved = {"state": dict(enumerate(self.state.values()))}
        for hook in self.saved:
            saved = hook(self, saved) or saved
        return saved

    def load_state_dict(self, saved):
        self.state = {key: dict(state) for key, state in zip(self.state, saved["state"].values())}
        for hook in self.loaded:
            hook(self)


Optimizer.step = Optimizer.profile_hook_step(Optimizer.step)
Optimizer.step.hooked = True


class Module:
    def __init__(self, *children, **parameters):
        self._children, self._parameters = list(children), parameters
        self.before, self.after = Hooks(), Hooks()
        self.saved, self.loading, self.loaded = Hooks(), Hooks(), Hooks()
        self.register_forward_pre_hook = self.before.add
        self.register_forward_hook = self.after.add
        self.register_state_dict_post_hook = self.saved.add
        self.register_load_state_dict_pre_hook = self.loading.add
        self.register_load_state_dict_post_hook = self.loaded.add

    def children(self):
        return iter(self._children)

    def modules(self):
        yield self
        for child in self._children:
            yield from child.modules()

    def named_parameters(self, recurse=True):
        for module in self.modules() if recurse else [self]:
            yield from module._parameters.items()

    def parameters(self, recurse=True):
        return (one for _, one in self.named_parameters(recurse))

    def forward(self, given):
        """The sum of its parameters and its input."""
        return Tensor(given.values + sum(float(one.values.sum()) for one in self.parameters()),
                      requires_grad=True)

    def __call__(self, given):
        for hook in self.before:
            hook(self, (given,), {})
        result = None
        try:
            result = self.forward(given)
        finally:
            for hook in self.after:
                hook(self, (given,), result)
        return result

    def state_dict(self, prefix=""):
        state = {prefix + name: one for name, one in self._parameters.items()}
        for number, child in enumerate(self._children):
            state.update(child.state_dict(f"{prefix}{number}."))
        for hook in self.saved:
            hook(self, state, prefix, {})
        return state

    def load_state_dict(self, state, prefix=""):
        for hook in self.loading:
            hook(self, state, prefix)
        for name, one in self._parameters.items():
            one.copy_(state[prefix + name])
        for number, child in enumerate(self._children):
            child.load_state_dict(state, f"{prefix}{number}.")
        for hook in self.loaded:
            hook(self, None)


class ModuleList(Module):
    pass


class Sequential(Module):
    pass


class Backward:
    """A pass through modules that were called one after another: `tensors` are what went between
    them, and `run` has the gradients come in PyTorch's order."""

    def __init__(self):
        self.callbacks = []

    def run(self, modules, tensors, missing=()):
        for module, given, result in reversed(list(zip(modules, tensors, tensors[1:]))):
            for hook in result.hooks:
                hook(None)
            for one in module.parameters():
                if one.requires_grad and one not in missing:
                    one.grad = numpy.full_like(one.values, float(one.values.ravel()[0]))
                    for hook in one.accumulated:
                        hook(one)
            yield module
        for hook in tensors[0].hooks:
            hook(None)
        while self.callbacks:
            self.callbacks.pop(0)()


def fake_torch():
    made = types.ModuleType("torch")
    made.Tensor, made.uint8 = Tensor, "u1"
    made.frombuffer = lambda owner, dtype: Tensor(numpy.frombuffer(owner, dtype))
    made.enable_grad = contextlib.nullcontext
    made.is_grad_enabled = lambda: True
    made.OutOfMemoryError = type("OutOfMemoryError", (RuntimeError,), {})
    made.emptied = []
    made.cuda = types.SimpleNamespace(empty_cache=lambda: made.emptied.append(True))
    made.nn = types.SimpleNamespace(ModuleList=ModuleList, Sequential=Sequential, Module=Module)
    made.backward = Backward()
    engine = types.SimpleNamespace(queue_callback=made.backward.callbacks.append)
    made.autograd = types.SimpleNamespace(
        Variable=types.SimpleNamespace(_execution_engine=engine))
    return made
