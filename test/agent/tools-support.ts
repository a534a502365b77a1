// What the tests of the built-in tools share: a folder of their own, and ways to run a tool in it.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { createBuiltInTools } from '../../packages/agent/src/tools/built-in.ts'
import type { AgentTool, ToolInput } from '../../packages/agent/src/types.ts'
import type { Content } from '../../packages/core/src/calls.ts'
import { textIn } from './support.ts'

export type Workplace = {
  readonly directory: string
  readonly tools: readonly AgentTool[]
  readonly run: (name: string, input: ToolInput) => Promise<Content>
  /** What a tool answers, as text. */
  readonly text: (name: string, input: ToolInput) => Promise<string>
  /** Why a tool fails. */
  readonly failure: (name: string, input: ToolInput) => Promise<string>
  readonly put: (path: string, content: string | Buffer) => string
  readonly get: (path: string) => string
}

/** Until the test is over. */
export function newFolder(): string {
  const directory = mkdtempSync(join(tmpdir(), 'toolshelf-tools-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

export function workplace(directory = newFolder()): Workplace {
  const tools = createBuiltInTools({ directory })
  const run = async (name: string, input: ToolInput) => {
    const tool = tools.find((one) => one.name === name)!
    const { signal } = new AbortController()
    return tool.run(input, { call: { id: 'toolu_1', name, input }, signal, emit: () => {} })
  }
  return {
    directory,
    tools,
    run,
    async text(name, input) {
      const output = await run(name, input)
      return typeof output === 'string'
        ? output
        : textIn({ content: 'content' in output ? output.content : output })
    },
    failure: (name, input) =>
      run(name, input).then(
        (output) => expect.fail(`it ran: ${JSON.stringify(output)}`),
        (error: Error) => error.message,
      ),
    put(path, content) {
      const file = join(directory, path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, content)
      return file
    },
    get: (path) => readFileSync(join(directory, path), 'utf8'),
  }
}
