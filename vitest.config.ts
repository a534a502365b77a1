import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * What takes longest, longest first. The order costs time only. The first begin; the others are spread over the whole run,
 * because they wait for programs that they start, and the files between them keep the cores busy meanwhile.
 */
const longest = `
  operate/image package cli/demo operate/deploy conformance/gateway inspector/page clients/serve-ai-sdk suites/cli/processes
  runtimes/runtimes terminal/interrupt replicas/stores replicas/processes cli/run terminal/chat sandbox/hostile
  mcp/gateway-cli terminal/turn suites/store mcp/host clients/serve-openai
  mcp/processes mcp/gateway-questions messages/faults terminal/hostile mcp/gateway-tools mcp/gateway-scripts
  suites/servers/hostile suites/servers/laws mcp/gateway-http mcp/hostile-questions mcp/safety-pins mcp/hostile-output terminal/servers
  mcp/gateway-calls users/personal-servers agent/tools-bash clients/ai-sdk mcp/hostile-offers mcp/oauth
  conformance/host-2025-11-25 conformance/host-2026-07-28 cli/connect-binary results/long-runs cli/surroundings examples
`
  .trim()
  .split(/\s+/)
  .map((name) => `/test/${name}.test.ts`)

/** How many of the longest begin. */
const FIRST = 12

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const named = longest.flatMap((name) => sorted.filter(({ moduleId }) => moduleId.endsWith(name)))
    const others = sorted.filter((file) => !named.includes(file))
    const spread = named.slice(FIRST)
    const share = Math.ceil(others.length / (spread.length + 1))
    const mixed = spread.flatMap((file, index) => [...others.slice(index * share, (index + 1) * share), file])
    return [...named.slice(0, FIRST), ...mixed, ...others.slice(spread.length * share)]
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
    // have no such option. Room for young objects saves a twentieth, in garbage collections.
    execArgv: [
      '--max-semi-space-size=64',
      ...(process.version.startsWith('v20.') ? ['--interrupt-budget=600000'] : []),
    ],
    // Limits for a machine that is busy with other work; what a test waits for ends its wait.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', './scripts/closing-line-reporter.mjs'],
  },
})
