// Reports only test files that could not be run at all: whether a test fails is the runner's concern.
export default class QuietReporter {
  onTestModuleEnd(module) {
    for (const { message } of module.errors()) console.error(`${module.relativeModuleId}: ${message}`)
  }
}
