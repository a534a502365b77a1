// All keys of our own file, with their types and defaults. docs/toolshelf.schema.json describes the same for editors.
import type { Fields } from '../../lib/index.ts'
import type { LintSettings } from '../types.ts'
import {
  fieldsKind,
  flag,
  levelsByName,
  milliseconds,
  oneOf,
  readKeys,
  text,
  texts,
  textsByName,
  wholeNumber,
} from './fields.ts'

export const rootKeys = { $schema: text, mcpServers: fieldsKind, gateway: fieldsKind, lint: fieldsKind }

export const serverKeys = {
  type: oneOf('stdio', 'http', 'sse', 'auto'),
  command: text,
  args: texts,
  env: textsByName,
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
  trustAnnotations: flag,
  lint: fieldsKind,
  resultBudget: wholeNumber(0),
  credentials: oneOf('user'),
}

export const toolKeys = { alwaysLoad: flag, hint: text, lint: fieldsKind, resultBudget: wholeNumber(0) }

export const lintKeys = { rules: levelsByName, budget: fieldsKind }

export const budgetKeys = { tokens: wholeNumber(1), tools: wholeNumber(1) }

export const gatewayKeys = {
  mode: oneOf('auto', 'list', 'bridge'),
  onChange: oneOf('report', 'hold'),
  instructions: wholeNumber(0),
  concurrency: wholeNumber(1),
  learn: flag,
  resultBudget: wholeNumber(0),
  batches: flag,
  scripts: flag,
}

export const serverDefaults = { connectTimeout: 60_000, callTimeout: 120_000 }

export type GatewaySettings = {
  /** How tools are shown: `auto` decides by the client's capabilities. */
  readonly mode: 'auto' | 'list' | 'bridge'
  /** What to do with a tool, a prompt or instructions that changed since first seen. */
  readonly onChange: 'report' | 'hold'
  /** The most characters that the instructions of all servers may take together. */
  readonly instructions: number
  /** How many servers connect at the same time. */
  readonly concurrency: number
  /** Whether searches learn from the calls that follow them. */
  readonly learn: boolean
  /** Characters up to which a result is passed on whole; a longer one is put on the shelf. 0 passes all on whole. */
  readonly resultBudget: number
  /** Whether clients in `bridge` mode get CallTools, which makes several calls in one. */
  readonly batches: boolean
  /** Whether clients get RunScript, which runs small programs over the tools. */
  readonly scripts: boolean
}

export const gatewayDefaults: GatewaySettings = {
  mode: 'auto',
  onChange: 'report',
  instructions: 4096,
  concurrency: 4,
  learn: true,
  resultBudget: 25_000,
  batches: false,
  scripts: false,
}

/** The gateway settings of a file, without the defaults. */
export function readGateway(value: unknown): {
  readonly settings: Partial<GatewaySettings>
  readonly problems: readonly string[]
} {
  if (value === undefined) return { settings: {}, problems: [] }
  const fields = fieldsKind.read(value)
  if (!fields) return { settings: {}, problems: ['"gateway" must be an object; it is ignored.'] }
  const { values, problems } = readKeys(gatewayKeys, fields)
  return { settings: values, problems: problems.map((problem) => `in "gateway", ${problem}`) }
}

/** What `toolshelf doctor --ci` checks, of a file, a server or a tool. */
export function readLint(fields: Fields): {
  readonly settings: LintSettings
  readonly problems: readonly string[]
} {
  const { values, problems } = readKeys(lintKeys, fields)
  const budget = readKeys(budgetKeys, values.budget ?? {})
  return {
    settings: {
      ...(values.rules ? { rules: values.rules } : {}),
      ...(Object.keys(budget.values).length > 0 ? { budget: budget.values } : {}),
    },
    problems: [
      ...problems.map((problem) => `in "lint", ${problem}`),
      ...budget.problems.map((problem) => `in "lint", "budget", ${problem}`),
    ],
  }
}
