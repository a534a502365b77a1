// What a process that a test started says.
import type { ChildProcess } from 'node:child_process'

/** All of it so far, whenever asked. */
export function heardFrom({ stdout, stderr }: ChildProcess): {
  readonly out: () => string
  readonly told: () => string
} {
  let out = ''
  let told = ''
  stdout?.on('data', (chunk) => {
    out += chunk
  })
  stderr?.on('data', (chunk) => {
    told += chunk
  })
  return { out: () => out, told: () => told }
}
