"""Runs the tests of one file in this process, for prove_torch_tests.py: FILE POLICY [WORDS]. The names
of tests to leave out are read as JSON from standard input."""
import importlib.util
import json
import os
import sys
import unittest


def say(**event):
    print("@@" + json.dumps(event), flush=True)


class Result(unittest.TestResult):
    def startTest(self, test):
        super().startTest(test)
        self.outcome, self.message = "ok", ""
        say(test=test.id(), outcome="begins")

    def stopTest(self, test):
        super().stopTest(test)
        say(test=test.id(), outcome=self.outcome, message=self.message[-3000:])

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.outcome, self.message = "fail", self._exc_info_to_string(error, test)

    def addError(self, test, error):
        super().addError(test, error)
        self.outcome, self.message = "error", self._exc_info_to_string(error, test)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.outcome, self.message = "fail", self._exc_info_to_string(error, test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.outcome = "skip"

    def addExpectedFailure(self, test, error):
        super().addExpectedFailure(test, error)
        self.outcome = "ok"


def tests_of(suite):
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from tests_of(one)
        else:
            yield one


def main():
    file, policy, words = sys.argv[1], sys.argv[2], [w for w in sys.argv[3].split(",") if w]
    left_out = set(json.load(sys.stdin))
    sys.argv = [file]
    if policy != "native":
        import tidemark.torch

        tidemark.torch.use(policy)
    os.chdir(os.path.dirname(file))
    # Tests start processes that import it by this name.
    name = os.path.splitext(os.path.basename(file))[0]
    spec = importlib.util.spec_from_file_location(name, file)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if hasattr(module, "load_tests"):
        del module.load_tests  # it picks shards
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    chosen = [test for test in tests_of(suite) if test.id() not in left_out and
              (not words or any(word in test.id().lower() for word in words))]
    result = Result()
    for test in chosen:
        test(result)


if __name__ == "__main__":
    main()
