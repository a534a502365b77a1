// `toolshelf mcp --http` or `serve` in this process, as an operator starts it, and requests with the keys of its users.
import { onTestFinished } from 'vitest'
import { runCli } from '../../packages/cli/src/main.ts'
import { createKey } from '../../packages/server/src/users/records.ts'
import { enter } from '../../packages/testkit/src/cli-here.ts'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { until } from '../mcp/support/processes.ts'
import type { Place } from '../terminal/support.ts'

/** Users as an operator writes them by hand, each with the profile of their name and a key. */
export function usersByHand(profiles: { readonly [user: string]: object }) {
  const keys: { [user: string]: string } = {}
  const file: Loose = { profiles, users: {}, keys: {} }
  for (const user of Object.keys(profiles)) {
    const { id, token, record } = createKey(user)
    keys[user] = token
    file.users[user] = { profile: user }
    file.keys[id] = record
  }
  return { file, keys }
}

export type Answer = { readonly status: number; readonly text: string; readonly body: Loose }

/** Starts a gateway until the test is over. */
export async function startGateway(place: Place, words: readonly string[]) {
  let told = ''
  const leave = enter(place.folder, place.environment)
  const code = runCli([...words, '--port', '0'], {
    print: () => {},
    report: (line) => {
      told += `${line}\n`
    },
    isInteractive: false,
  }).finally(leave)
  onTestFinished(async () => {
    process.emit('SIGTERM', 'SIGTERM')
    await code
  })
  await until(() => told.includes('ready at'), 'it is ready')
  const url = /ready at (\S+)/.exec(told)?.[1] ?? ''
  const [, page = '', printed = ''] = /inspect(?:or at)? +(\S+?)#key=(\S+)/.exec(told) ?? []
  /** A request to an endpoint of the inspector: with a body it is a POST. */
  async function inspect(
    endpoint: string,
    key: string | undefined,
    { body, headers = {} }: { readonly body?: object; readonly headers?: Loose } = {},
  ): Promise<Answer> {
    const response = await fetch(`${page}${endpoint}`, {
      method: body ? 'POST' : 'GET',
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...headers,
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    // The stream of events never ends: its status says enough.
    const isStream = response.headers.get('content-type')?.includes('ndjson') ?? false
    if (isStream) await response.body?.cancel()
    const text = isStream ? '' : await response.text()
    return {
      status: response.status,
      text,
      body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : undefined,
    }
  }
  return { url, page, printed, inspect, told: () => told }
}
