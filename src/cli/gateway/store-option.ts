// The option `--store`: where replicas keep what they share. The store is loaded only if one is named.
import { setTimeout as sleep } from 'node:timers/promises'
import { errorMessage } from '../../lib/index.ts'
import type { StateStore } from '../../store/index.ts'
import { CommandError, type Input, type Option, UsageError } from '../command.ts'

/** Options of commands that share state with other processes. */
export const storeOption: { readonly [name: string]: Option } = {
  store: {
    type: 'string',
    value: 'url',
    values: ['redis://', 'rediss://', 'valkey://'],
    about: 'redis://… that replicas share; better in TOOLSHELF_STORE, as it may hold a password',
  },
}

/** Waits for a database that starts at the same time as the gateway. */
const ATTEMPTS = 5
const PAUSE_MS = 1000

/**
 * Opens the store that `--store` or TOOLSHELF_STORE names and waits until it answers; undefined if none is named. The caller
 * closes it.
 */
export async function storeIn(
  input: Input,
  environment: { readonly [name: string]: string | undefined } = process.env,
  pauseMs: number = PAUSE_MS,
): Promise<StateStore | undefined> {
  const url = input.text('store') ?? environment.TOOLSHELF_STORE
  if (url === undefined || url === '') return undefined
  const source = input.text('store') === undefined ? 'TOOLSHELF_STORE' : '--store'
  const { openStateStore } = await import('../../store/index.ts')
  const store = await openStateStore(url).catch((error: unknown) => {
    throw new UsageError(`${source}: ${sentenceOf(error)}`)
  })
  for (let attempt = 1; ; attempt++) {
    const problem = await store.ping().then(
      () => undefined,
      (error: unknown) => error,
    )
    if (problem === undefined) return store
    if (attempt === ATTEMPTS) {
      await store.close()
      throw new CommandError(
        `${source}: ${sentenceOf(problem)} Check that the server is up and the URL is right.`,
      )
    }
    await sleep(pauseMs)
  }
}

/** Returns the message with exactly one full stop. */
function sentenceOf(error: unknown): string {
  return `${errorMessage(error).replace(/\.$/, '')}.`
}
