// A tiny engine and a folder of its own for each test.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Engine } from '../../packages/core/src/embed/engine.ts'
import type { Vector } from '../../packages/core/src/embed/store.ts'

export const DIMENSIONS = 8

/** Deterministic: how often each letter, modulo eight, is in the text, as a unit vector. */
export function vectorOf(text: string): number[] {
  const vector = new Array<number>(DIMENSIONS).fill(0)
  for (const character of `${text}.`) vector[character.charCodeAt(0) % DIMENSIONS]! += 1
  const length = Math.hypot(...vector)
  return vector.map((number) => number / length)
}

/** The numbers of a stored vector, each within half a step of the original. */
export function floatsOf({ codes, scale }: Vector): Float32Array {
  return Float32Array.from(codes, (code) => code * scale)
}

export type FakeEngine = Engine & {
  /** Every text that was embedded, in order. */
  readonly embedded: string[]
  readonly holds: boolean[]
  isClosed: boolean
  isLoaded: boolean
  /** The next calls wait until the function that this answers is called. */
  block(): () => void
}

export function fakeEngine(embed: (text: string) => number[] = vectorOf): FakeEngine {
  let gate = Promise.resolve()
  const engine: FakeEngine = {
    model: 'fake',
    dimensions: DIMENSIONS,
    embedded: [],
    holds: [],
    isClosed: false,
    isLoaded: false,
    async embed(texts) {
      engine.embedded.push(...texts)
      await gate
      if (engine.isClosed) throw new Error('closed')
      engine.isLoaded = true
      return texts.map(embed)
    },
    hold: (isHeld) => void engine.holds.push(isHeld),
    async close() {
      engine.isClosed = true
    },
    block() {
      let open = () => {}
      gate = new Promise((resolve) => {
        open = resolve
      })
      return open
    },
  }
  return engine
}

/** An empty folder that is gone after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolshelf-embed-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export const textsOf = (count: number, prefix = 'text') =>
  Array.from({ length: count }, (_, index) => `${prefix} ${index}`)
