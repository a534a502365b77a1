import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * What takes longest, longest first: none of these may be left alone at the end while the other cores have nothing to do.
 * The order costs time only; files that are not named here follow, the largest first.
 */
const longest = `
  package cli/demo operate/deploy conformance/gateway inspector/page clients/serve-ai-sdk
  terminal/interrupt replicas/stores replicas/processes cli/run terminal/chat sandbox/hostile
  mcp/gateway-cli terminal/turn mcp/hostile store/store mcp/host clients/serve-openai
  mcp/processes mcp/gateway-questions messages/faults terminal/hostile mcp/gateway-tools mcp/gateway-scripts
  mcp/gateway-http mcp/hostile-lists mcp/hostile-questions mcp/safety-pins mcp/hostile-output terminal/servers
  mcp/gateway-calls users/personal-servers agent/tools-bash clients/ai-sdk mcp/hostile-offers mcp/oauth
  conformance/host-2025-11-25 conformance/host-2026-07-28 cli/import-binary results/long-runs cli/surroundings examples
`
  .trim()
  .split(/\s+/)
  .map((name) => `/test/${name}.test.ts`)

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification) => {
      const index = longest.findIndex((name) => moduleId.endsWith(name))
      return index < 0 ? longest.length : index
    }
    return (await super.sort(files)).sort((a, b) => placeOf(a) - placeOf(b))
  }
}

export default defineConfig({
  // A chat that a test runs in its process uses React's production build, as the package does.
  oxc: { jsx: { runtime: 'automatic', development: false } },
  test: {
    pool: 'forks',
    include: ['test/**/*.test.ts'],
    exclude: ['**/node_modules/**'],
    // A process runs many files: to load the sources anew for each took longer than most of these tests. So they leave
    // nothing behind in it: no variables, handlers or globals.
    isolate: false,
    // More than there are cores, since many tests wait for programs that they start.
    maxWorkers: Math.min(8, Math.ceil(availableParallelism() * 2.5)),
    // Most of this code runs a few times only: to optimise it as early as Node 20 does costs a tenth more. Later versions
    // have no such option.
    execArgv: process.version.startsWith('v20.') ? ['--interrupt-budget=600000'] : [],
    // Limits for a machine that is busy with other work; what a test waits for ends its wait.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', './scripts/closing-line-reporter.mjs'],
  },
})
