"""TAP for test scripts in Python: one object counts, prints and knows the exit status.

    tap = Tap()                           Tap(plan=N) where the number of tests is known before
    tap.check(good, "name", *details)     details are shown if the test fails, a line each; a list's items, too
    tap.skip("name", "why")
    sys.exit(tap.end())                   prints the plan if none was given
"""
DETAILS, COLUMNS = 10, 700  # limits on the details of a failure


class Tap:
    def __init__(self, plan=None):
        self.number, self.failed, self.plan = 0, False, plan
        if plan is not None:
            print(f"1..{plan}")

    def check(self, good, name, *details):
        """One test; True if it passed."""
        self.number += 1
        self.failed = self.failed or not good
        print(f"{'ok' if good else 'not ok'} {self.number} - {name}")
        if not good:
            items = [item for detail in details for item in (detail if isinstance(detail, list) else [detail])]
            self.note(*[line for item in items for line in str(item).splitlines()][:DETAILS])
        return bool(good)

    def note(self, *lines):
        """Comments below the last test, whether it passed or not."""
        for line in lines:
            print(f"# {line}"[:COLUMNS])

    def skip(self, name, why):
        self.number += 1
        print(f"ok {self.number} - {name} # SKIP {why}")

    def skip_all(self, names, why):
        """Skips the last tests of the script, which have these names. Returns the exit status."""
        for name in names:
            self.skip(name, why)
        return self.end()

    def end(self):
        """The exit status."""
        if self.plan is None:
            print(f"1..{self.number}")
        elif self.number != self.plan:
            self.note(f"{self.number} tests ran, {self.plan} were planned")
            return 1
        return int(self.failed)
