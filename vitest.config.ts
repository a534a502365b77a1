import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * What takes longest, longest first: none of these may be left alone at the end while the other cores have nothing to do.
 * The order costs time only; files that are not named here follow, the largest first.
 */
const longest = [
  ...[
    'package',
    'inspector/page',
    'terminal/turn',
    'terminal/chat',
    'mcp/hostile-output',
    'terminal/interrupt',
  ],
  ...['mcp/hostile', 'mcp/processes', 'cli/demo', 'cli/run', 'mcp/gateway-questions', 'clients/inspector'],
  ...['conformance/gateway', 'clients/serve-ai-sdk', 'terminal/hostile', 'mcp/host', 'mcp/hostile-http'],
  ...['clients/serve-openai', 'messages/faults', 'terminal/servers', 'mcp/real-servers', 'sandbox/hostile'],
  ...[
    'mcp/gateway-cli',
    'terminal/start',
    'clients/mcporter',
    'mcp/gateway-tools',
    'conformance/host-2025-11-25',
  ],
  ...[
    'examples',
    'mcp/gateway-resources',
    'mcp/safety-pins',
    'clients/serve-pi',
    'clients/opencode',
    'cli/servers',
  ],
  ...['terminal/using', 'terminal/resume', 'agent/tools-bash', 'mcp/gateway-skills', 'otel/processes'],
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
  test: {
    pool: 'forks',
    include: ['test/**/*.test.ts'],
    exclude: ['**/node_modules/**'],
    // A process runs many files: to load the sources anew for each took longer than most of these tests. So they leave
    // nothing behind in it: no variables, handlers or globals.
    isolate: false,
    // More than there are cores, since many tests wait for programs that they start.
    maxWorkers: Math.min(8, Math.ceil(availableParallelism() * 2.5)),
    // Limits for a machine that is busy with other work; what a test waits for ends its wait.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', './scripts/closing-line-reporter.mjs'],
  },
})
