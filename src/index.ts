// The package's main entry: core with what it cannot have itself, a validator, a clock, the environment and a voice.
import { createShelf as createPureShelf, type Shelf, type ShelfOptions } from './core/index.ts'
import { validate } from './validate.ts'

export { capabilitiesFromFile, capabilitiesFromUrl, keepFresh } from './capability-source.ts'
export * from './core/index.ts'
export { validate } from './validate.ts'

export function createShelf(options: ShelfOptions): Shelf {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  return createPureShelf({
    validate,
    timer: startTimer,
    environment: process.env,
    notify: (message) => console.warn(`toolshelf: ${message}`),
    ...given,
  })
}

function startTimer(milliseconds: number) {
  let handle: ReturnType<typeof setTimeout> | undefined
  const over = new Promise<void>((resolve) => {
    handle = setTimeout(resolve, milliseconds)
  })
  return { over, cancel: () => clearTimeout(handle) }
}
