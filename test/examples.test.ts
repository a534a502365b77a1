// The examples run. Each asserts for itself that tools were found, loaded once and called.
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, vi } from 'vitest'
import { isThorough } from '../packages/testkit/src/runs.ts'

const project = fileURLToPath(new URL('..', import.meta.url))
const run = promisify(execFile)

/** Everything in the folder that is not there for the others. */
const shared = ['loop.ts', 'offline-model.ts', 'offline-responses.ts', 'tools.ts']
const examples = readdirSync(`${project}/examples`).filter(
  (file) => file.endsWith('.ts') && !shared.includes(file),
)

it('there is one for each SDK', () => {
  expect(examples).toEqual([
    'ai-sdk.ts',
    'anthropic-plain.ts',
    'anthropic-tool-runner.ts',
    'openai-responses.ts',
  ])
})

/** What an example prints, run in this process. */
async function printedBy(file: string): Promise<string> {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  try {
    await import(`../examples/${file.replace('.ts', '')}.ts`)
    return log.mock.calls.flat().join('\n')
  } finally {
    log.mockRestore()
  }
}

/** As a person starts it, until it ends by itself. tsx compiles the sources for four CPU seconds. */
async function printedByProcess(file: string): Promise<string> {
  const words = ['--import', 'tsx', `examples/${file}`]
  return (await run(process.execPath, words, { cwd: project, timeout: 380_000 })).stdout
}

it.each(examples)('%s runs, asserts, and says what was saved', { timeout: 400_000 }, async (file) => {
  const isProcess = isThorough && file === 'anthropic-plain.ts'
  const printed = isProcess ? await printedByProcess(file) : await printedBy(file)
  const [, without, used, share] =
    /: (\d+) without Toolshelf, (\d+) with it, (\d+) % saved/.exec(printed) ?? []
  expect(Number(used)).toBeGreaterThan(0)
  expect(Number(used)).toBeLessThan(Number(without) / 2)
  expect(Number(share)).toBeGreaterThan(50)
})
