// Renders the gateway as an entry of a client's configuration, in each client's format.
import type { Fields } from '@toolshelf/core/internal'
import { onOneLine } from '@toolshelf/mcp/internal'

/** A variable that servers behind the gateway refer to, with VS Code's input if it comes from one. */
export type HandedVariable = { readonly variable: string; readonly input: string | undefined }

/** Returns the entry in each format, with the clients that use this format. */
export function clientEntries(
  clients: readonly string[],
  words: readonly string[],
): readonly { readonly clients: readonly string[]; readonly text: string }[] {
  const byText = new Map<string, string[]>()
  for (const client of clients) {
    const form = formOf(client)
    const text = (form.key === 'mcp_servers' ? asToml : asJson)(form.key, gatewayEntry(client, words, []))
    byText.set(text, [...(byText.get(text) ?? []), client])
  }
  return [...byText].map(([text, clients]) => ({ clients, text }))
}

/**
 * Returns the gateway's entry for a client. The entry passes on the variables that the servers behind the gateway refer to,
 * in the client's syntax, because many clients start servers without their own environment.
 */
export function gatewayEntry(
  client: string,
  words: readonly string[],
  variables: readonly HandedVariable[],
): Fields {
  const { entry, hand } = formOf(client)
  return { ...entry(words), ...(variables.length > 0 ? hand(variables) : {}) }
}

type Form = {
  /** The key that holds the servers. */
  readonly key: string
  readonly entry: (words: readonly string[]) => Fields
  readonly hand: (variables: readonly HandedVariable[]) => Fields
}

const split = ([command, ...args]: readonly string[]) => ({ command, args })
const nothing = () => ({})

const common: Form = { key: 'mcpServers', entry: split, hand: nothing }
const vsCode: Form = {
  key: 'servers',
  entry: split,
  // VS Code keeps asking for its inputs, and stores the answers. Its other variables reach every server anyway.
  hand: (variables) =>
    inEnv(
      variables.filter(({ input }) => input !== undefined),
      ({ input }) => `\${input:${input}}`,
    ),
}

const forms: ReadonlyMap<string, Form> = new Map([
  ['VS Code', vsCode],
  ['VS Code Insiders', vsCode],
  ['Cursor', { ...common, hand: withReferences(({ variable }) => `\${env:${variable}}`) }],
  ['Windsurf', { ...common, hand: withReferences(({ variable }) => `\${env:${variable}}`) }],
  ['Gemini CLI', { ...common, hand: withReferences(({ variable }) => `$${variable}`) }],
  ['Zed', { ...common, key: 'context_servers' }],
  ['opencode', { key: 'mcp', entry: (command) => ({ type: 'local', command }), hand: nothing }],
  [
    'Codex',
    {
      key: 'mcp_servers',
      entry: split,
      hand: (variables) => ({ env_vars: variables.map(({ variable }) => variable) }),
    },
  ],
  [
    'Qwen Code',
    {
      key: 'mcpServers',
      // It defers the tools of every server, including the gateway's, unless configured otherwise.
      entry: (words) => ({ ...split(words), alwaysLoadTools: true }),
      hand: withReferences(({ variable }) => `$${variable}`),
    },
  ],
])

function formOf(client: string): Form {
  return forms.get(client) ?? common
}

function withReferences(spell: (variable: HandedVariable) => string): Form['hand'] {
  return (variables) => inEnv(variables, spell)
}

function inEnv(
  variables: readonly HandedVariable[],
  spell: (variable: HandedVariable) => string,
): { readonly env?: Fields } {
  const pairs = variables.map((one) => [one.variable, spell(one)] as const)
  return pairs.length === 0 ? {} : { env: Object.fromEntries(pairs) }
}

function asJson(key: string, entry: Fields): string {
  return `{ "${key}": {\n  "toolshelf": ${onOneLine(entry)}\n} }`
}

function asToml(key: string, entry: Fields): string {
  const pairs = Object.entries(entry).map(([name, value]) => `${name} = ${onOneLine(value)}`)
  return [`[${key}.toolshelf]`, ...pairs].join('\n')
}
