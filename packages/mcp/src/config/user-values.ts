// Finds references to values of a user, `${user:NAME}`, and fills them in.
import type { RemoteConfig, ServerConfig, StdioConfig } from '../types.ts'
import { recordOf } from './fields.ts'

const USER_VALUE = /\$\{user:([A-Za-z_]\w*)\}/g

type Transport = StdioConfig | RemoteConfig

/** Returns the names of the values that a server needs of each user, without duplicates. */
export function userValuesIn(transport: Transport): readonly string[] {
  const texts = Object.values(settingsOf(transport))
  return [...new Set(texts.flatMap((text) => [...text.matchAll(USER_VALUE)].map(([, name = '']) => name)))]
}

export function hasUserValue(text: string): boolean {
  return text.search(USER_VALUE) >= 0
}

/** Returns the settings in which users' values are filled in: none that decides which program or host gets them. */
function settingsOf(transport: Transport): { readonly [name: string]: string } {
  return transport.kind === 'stdio' ? transport.env : transport.headers
}

/** Fills in the values of a user, which are then hidden wherever they appear. All of them must be present. */
export function fillUserValues(
  config: ServerConfig,
  values: { readonly [name: string]: string },
): ServerConfig {
  const { blocked: _, ...rest } = config
  const used: [string, string][] = userValuesIn(config.transport).map((name) => [name, values[name] ?? ''])
  const fill = (text: string) => text.replace(USER_VALUE, (_whole, name: string) => values[name] ?? '')
  const filled = recordOf(
    Object.entries(settingsOf(config.transport)).map(([name, text]) => [name, fill(text)] as const),
  )
  const transport: Transport =
    config.transport.kind === 'stdio'
      ? { ...config.transport, env: filled }
      : { ...config.transport, headers: filled }
  return { ...rest, transport, variables: { ...config.variables, ...Object.fromEntries(used) } }
}
