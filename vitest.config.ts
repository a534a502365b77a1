import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * What takes longest, longest first: none of these may be left alone at the end while the other cores have nothing to do.
 * The order costs time only; files that are not named here follow, the largest first.
 */
const longest = [
  ...[
    'conformance/gateway',
    'clients/serve-ai-sdk',
    'inspector/page',
    'package',
    'cli/demo',
    'replicas/processes',
  ],
  ...[
    'replicas/stores',
    'operate/deploy',
    'terminal/turn',
    'mcp/hostile',
    'terminal/interrupt',
    'mcp/processes',
  ],
  ...[
    'terminal/chat',
    'mcp/hostile-output',
    'cli/run',
    'mcp/host',
    'mcp/gateway-questions',
    'messages/faults',
  ],
  ...[
    'mcp/gateway-cli',
    'sandbox/hostile',
    'mcp/hostile-lists',
    'mcp/hostile-questions',
    'mcp/hostile-storms',
  ],
  ...['store/store', 'clients/serve-openai', 'conformance/host-2025-11-25', 'conformance/host-2026-07-28'],
  ...[
    'terminal/hostile',
    'mcp/real-servers',
    'users/personal-servers',
    'users/gateway-users',
    'sandbox/scripts',
  ],
  ...[
    'mcp/gateway-http',
    'mcp/gateway-scripts',
    'examples',
    'terminal/servers',
    'otel/processes',
    'agent/long',
  ],
].map((name) => `/test/${name}.test.ts`)

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
