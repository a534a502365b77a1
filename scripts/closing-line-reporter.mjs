// Ends a test run with one plain line, for people and scripts that read only the tail of the output.
export default class ClosingLineReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 }
    for (const module of modules) {
      // A file or suite that breaks outside a test (bad import, failing hook) counts as one failure.
      if (module.errors().length > 0) count.failed += 1
      for (const suite of module.children.allSuites()) if (suite.errors().length > 0) count.failed += 1
      for (const test of module.children.allTests()) count[test.result().state] += 1
    }
    const skipped = count.skipped + count.pending
    const tail = skipped > 0 ? `, ${skipped} skipped` : ''
    process.stdout.write(`${count.passed} passed, ${count.failed} failed${tail}\n`)
  }
}
