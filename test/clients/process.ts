// A server that a test starts: it is there once it has said where.
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'

export type Place = { readonly cwd: string; readonly env: { readonly [name: string]: string } }

export type Started = {
  readonly url: string
  readonly child: ChildProcessByStdio<null, Readable, Readable>
  /** Some agents take their time over a gentler signal. */
  stop(signal?: NodeJS.Signals): Promise<void>
}

/** `ready` finds the address in what the process says. */
export async function startProcess(
  command: string,
  words: readonly string[],
  place: Place,
  ready: RegExp,
): Promise<Started> {
  const child = spawn(command, words, { ...place, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  const url = await new Promise<string>((resolve, reject) => {
    let told = ''
    const listen = (chunk: Buffer) => {
      told += chunk
      const found = ready.exec(told)?.[1]
      if (found) resolve(found)
    }
    child.stdout.on('data', listen)
    child.stderr.on('data', listen)
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`${command} ended: ${told}`)))
  })
  return {
    url,
    child,
    async stop(signal) {
      child.kill(signal)
      await ended
    },
  }
}
