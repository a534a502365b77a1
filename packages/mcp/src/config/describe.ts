// Describes a server in a few words, without anything that could be secret.
import { basename } from 'node:path'
import type { RemoteConfig, StdioConfig } from '../types.ts'

/** Returns the program, with its first argument if that says more, or the host. */
export function describeTransport(transport: StdioConfig | RemoteConfig): string {
  if (transport.kind !== 'stdio') return hostOf(transport.url)
  const program = basename(transport.command)
  const word = transport.args.find((argument) => !harmlessFlags.test(argument)) ?? ''
  return launchers.test(program) && /^[@\w./\\]/.test(word) && !word.includes('://')
    ? `${program} ${word}`
    : program
}

/** Returns the last argument that is a path; not one behind a flag, which may be a secret. */
export function pathArgument(transport: StdioConfig | RemoteConfig): string | undefined {
  if (transport.kind !== 'stdio') return undefined
  const { args } = transport
  return args.findLast(
    (word, index) =>
      /^(?:~|\.{0,2})[/\\]|^[a-z]:[/\\]/i.test(word) &&
      !word.includes('://') &&
      (index === 0 || harmlessFlags.test(args[index - 1] ?? '') || !args[index - 1]?.startsWith('-')),
  )
}

/** Flags that take no value. After any other flag, an argument may be a secret. */
const harmlessFlags = /^-(?:y|-yes|q|-quiet|m|u|i)$/

/** Programs whose first argument says more than their name. */
const launchers =
  /^(?:npx|bunx|uvx|uv|pipx|pnpm|yarn|npm|node|bun|deno|python[\d.]*|docker|podman|java|dotnet|cmd)(?:\.exe|\.cmd)?$/i

function hostOf(url: string): string {
  return /^[a-z]+:\/\/(?:[^/?#@]*@)?([^/?#]*)/i.exec(url)?.[1] ?? '?'
}
