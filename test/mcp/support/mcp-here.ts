// `toolshelf mcp` on pipes inside the test's process, with the official client at their other end. To start it as a process
// takes a CPU second.
import { PassThrough } from 'node:stream'
import { onTestFinished } from 'vitest'
import { runCli } from '../../../packages/cli/src/main.ts'
import { enter, type Where } from '../../../packages/testkit/src/cli-here.ts'
import { type ClientOptions, connectWith, type Desk, streamTransport } from './gateway.ts'

export type McpHere = Omit<Desk, 'told'> & {
  /** What it says to the person. */
  told(): string
  /** Disconnects the client; resolves with the exit code. */
  close(): Promise<number>
}

/** Starts it in a folder and an environment of its own; it ends with the test, if not before. */
export async function startMcpHere(
  { folder, environment }: Where,
  words: readonly string[],
  options: ClientOptions = {},
): Promise<McpHere> {
  const [input, output] = [new PassThrough(), new PassThrough()]
  let told = ''
  const leave = enter(folder, environment)
  const code = runCli(['mcp', ...words], {
    print: () => {},
    report: (text) => {
      told += `${text}\n`
    },
    isInteractive: false,
    client: { input, output },
  }).finally(leave)
  onTestFinished(async () => {
    input.end()
    await code
  })
  const desk = await connectWith(streamTransport(output, input), options)
  const close = async () => {
    await desk.client.close()
    return code
  }
  return { ...desk, told: () => told, close }
}
