// Renders the gateway as an entry of a client's configuration, in each client's format.

type Spelling = (words: readonly string[]) => string

/** For each format: the clients that use it, and the text to insert. */
export function clientEntries(
  clients: readonly string[],
  words: readonly string[],
): readonly { readonly clients: readonly string[]; readonly text: string }[] {
  const bySpelling = new Map<Spelling, string[]>()
  for (const client of clients) {
    const spelling = spellings.get(client) ?? common
    bySpelling.set(spelling, [...(bySpelling.get(spelling) ?? []), client])
  }
  return [...bySpelling].map(([spelling, clients]) => ({ clients, text: spelling(words) }))
}

const common = under('mcpServers')
const vsCode = under('servers')

const spellings: ReadonlyMap<string, Spelling> = new Map([
  ['VS Code', vsCode],
  ['VS Code Insiders', vsCode],
  ['Zed', under('context_servers')],
  ['opencode', (words) => member('mcp', { type: 'local', command: words })],
  ['Codex', toml],
  // It defers the tools of every server, including the gateway's, unless configured otherwise.
  ['Qwen Code', ([command, ...args]) => member('mcpServers', { command, args, alwaysLoadTools: true })],
])

function under(key: string): Spelling {
  return ([command, ...args]) => member(key, { command, args })
}

function member(key: string, entry: object): string {
  return `{ "${key}": {\n  "toolshelf": ${onOneLine(entry)}\n} }`
}

function toml([command, ...args]: readonly string[]): string {
  return `[mcp_servers.toolshelf]\ncommand = ${onOneLine(command)}\nargs = ${onOneLine(args)}`
}

function onOneLine(value: unknown): string {
  return JSON.stringify(value, null, 1).replace(/\n */g, ' ')
}
