// Defines all keys of Toolshelf's own file, with their types and defaults. docs/toolshelf.schema.json describes the same
// for editors.
import {
  allOrNames,
  fieldsKind,
  flag,
  milliseconds,
  oneOf,
  readKeys,
  text,
  texts,
  textsByName,
  wholeNumber,
} from './fields.ts'

export const rootKeys = { $schema: text, mcpServers: fieldsKind, gateway: fieldsKind }

export const serverKeys = {
  type: oneOf('stdio', 'http', 'sse', 'auto'),
  command: text,
  args: texts,
  env: textsByName,
  inheritEnv: allOrNames,
  cwd: text,
  url: text,
  headers: textsByName,
  alwaysLoad: flag,
  lazy: flag,
  description: text,
  disabled: flag,
  tools: fieldsKind,
  allow: texts,
  deny: texts,
  elicitation: oneOf('ask', 'deny'),
  sampling: oneOf('ask', 'deny'),
  connectTimeout: milliseconds,
  callTimeout: milliseconds,
  maxTools: wholeNumber(1),
  resultBudget: wholeNumber(0),
  credentials: oneOf('user'),
}

export const toolKeys = { alwaysLoad: flag, hint: text, resultBudget: wholeNumber(0) }

export const gatewayKeys = {
  mode: oneOf('auto', 'list', 'bridge'),
  onChange: oneOf('report', 'hold'),
  instructions: wholeNumber(0),
  concurrency: wholeNumber(1),
  resultBudget: wholeNumber(0),
  batches: flag,
  scripts: flag,
  inheritEnv: allOrNames,
}

/** Default timeouts of a server, in milliseconds. */
export const serverDefaults = { connectTimeout: 60_000, callTimeout: 120_000 }

export type GatewaySettings = {
  /** How tools are shown: `auto` decides by the client's capabilities. */
  readonly mode: 'auto' | 'list' | 'bridge'
  /** What to do with a tool, a prompt or instructions that changed since first seen. */
  readonly onChange: 'report' | 'hold'
  /** Maximum characters of the instructions of all servers together. */
  readonly instructions: number
  /** How many servers connect at the same time. */
  readonly concurrency: number
  /** Longest result, in characters, that is passed on whole; longer ones are stored. 0 passes all on whole. */
  readonly resultBudget: number
  /** Whether clients in `bridge` mode get CallTools, which makes several calls in one. */
  readonly batches: boolean
  /** Whether clients get RunScript, which runs small programs over the tools. */
  readonly scripts: boolean
}

/** Default settings of the gateway. */
export const gatewayDefaults: GatewaySettings = {
  mode: 'auto',
  onChange: 'report',
  instructions: 4096,
  concurrency: 4,
  resultBudget: 25_000,
  batches: false,
  scripts: false,
}

/**
 * Reads the gateway settings of a file, without the defaults.
 *
 * @returns Also which variables all servers of this file inherit.
 */
export function readGateway(value: unknown): {
  readonly settings: Partial<GatewaySettings>
  readonly inheritEnv?: boolean | readonly string[] | undefined
  readonly problems: readonly string[]
} {
  if (value === undefined) return { settings: {}, problems: [] }
  const fields = fieldsKind.read(value)
  if (!fields) return { settings: {}, problems: ['"gateway" must be an object; it is ignored.'] }
  const { values, problems } = readKeys(gatewayKeys, fields)
  const { inheritEnv, ...settings } = values
  return { settings, inheritEnv, problems: problems.map((problem) => `in "gateway", ${problem}`) }
}
