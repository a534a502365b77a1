// The test servers of ../servers as configurations.
import { fileURLToPath } from 'node:url'
import type { ServerConfig } from '../../../packages/mcp/src/types.ts'

export type Given = Partial<Omit<ServerConfig, 'transport'>> & {
  readonly env?: { readonly [name: string]: string }
}

/** Long enough for a busy machine: whatever ends earlier than its test has not merely waited. */
const PATIENCE = 60_000

/** `local('bad', 'crash start')`: the server crash with the argument `start`. */
export function local(name: string, script: string, { env = {}, ...given }: Given = {}): ServerConfig {
  const [file = '', ...args] = script.split(' ')
  const program = [process.execPath, scriptPath(file), ...args]
  const [command = '', ...words] = IN_SHELL.includes(file) ? ['sh', badPath, ...program] : program
  const transport = { kind: 'stdio', command, args: words, env, cwd: undefined } as const
  return { ...defaults(name), transport, ...given }
}

/** A server at an address. */
export function httpServer(name: string, url: string, { env: _, ...given }: Given = {}): ServerConfig {
  return { ...defaults(name), transport: { kind: 'http', url, headers: {} }, ...given }
}

/** Servers whose processes are shells: those start in a few milliseconds. */
const IN_SHELL = ['crash', 'hang', 'garbled', 'stubborn']
const badPath = fileURLToPath(new URL('../servers/bad.sh', import.meta.url))

export function scriptPath(file: string): string {
  return fileURLToPath(new URL(`../servers/${file}.mjs`, import.meta.url))
}

export function defaults(name: string): Omit<ServerConfig, 'transport'> {
  return {
    name,
    disabled: false,
    lazy: false,
    alwaysLoad: undefined,
    description: undefined,
    tools: {},
    allow: [],
    deny: [],
    connectTimeoutMs: PATIENCE,
    callTimeoutMs: PATIENCE,
    source: 'test',
  }
}
