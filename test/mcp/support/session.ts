// Opens one session with a server that a test writes as a shell script.
import { onTestFinished } from 'vitest'
import {
  openServerSession,
  type ServerSession,
  type ServerSessionOptions,
} from '../../../packages/mcp/src/session/session.ts'
import type { ServerConfig } from '../../../packages/mcp/src/types.ts'
import { defaults } from './servers.ts'

type Given = Partial<Omit<ServerSessionOptions, 'config'>> & { readonly config?: Partial<ServerConfig> }

export type OpenSession = {
  readonly session: ServerSession
  /** `[method, params]` of each notification. */
  readonly heard: readonly (readonly [string, object])[]
  /** Resolves to the reason and the last words when the session ends by itself. */
  readonly ended: Promise<readonly [reason: string, stderr: string]>
  readonly hasEnded: () => boolean
}

/** Opens a session, which is closed after the test. */
export async function openSession(
  transport: ServerConfig['transport'],
  { config = {}, ...given }: Given = {},
): Promise<OpenSession> {
  const heard: [string, object][] = []
  let isOver = false
  let end: (ending: readonly [string, string]) => void = () => {}
  const ended = new Promise<readonly [string, string]>((resolve) => {
    end = resolve
  })
  const session = await openServerSession({
    config: { ...defaults('one'), transport, ...config },
    clientInfo: { name: 'tester', version: '2.0.0' },
    capabilities: {},
    isKnownLegacy: false,
    authProvider: undefined,
    limits: undefined,
    redact: (text) => text,
    signal: new AbortController().signal,
    onNotification: (method, params) => void heard.push([method, params]),
    onRequest: async () => ({}),
    onEnd: (...ending) => {
      isOver = true
      end(ending)
    },
    ...given,
  })
  onTestFinished(() => session.close())
  return { session, heard, ended, hasEnded: () => isOver }
}

/** Long enough for a busy machine. */
export const options = { timeoutMs: 60_000 }

/** The message of an error, behind an exclamation mark. */
export const messageOf = (work: Promise<unknown>) => work.then(String, (error: Error) => `! ${error.message}`)
