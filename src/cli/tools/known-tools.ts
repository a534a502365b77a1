// Lets searches name tools that are not installed, from catalogues and exports of an MCP registry.
import type { FindRelated } from '../../core/index.ts'
import { fieldsOf, isFields, listOf, textOf } from '../../lib/index.ts'
import { readBoundedFile } from '../../node/index.ts'
import { rankers } from '../../rankers/index.ts'
import { createRelatedSearch, type RelatedEntry } from '../../search/index.ts'
import { parseTools } from './catalogue.ts'

const MAX_BYTES = 50_000_000
const MAX_ENTRIES = 20_000

/** Options of `openKnownTools`. */
export type KnownToolsOptions = {
  readonly files: readonly string[]
  /** Names of the configured servers: their tools are not running rather than not installed. */
  readonly servers: readonly string[]
  readonly notify: (message: string) => void
}

/** Reads the files at the first search. A file that cannot be read is reported once, and the others count. */
export function openKnownTools(options: KnownToolsOptions): FindRelated {
  let opened: Promise<FindRelated> | undefined
  return async (query, tools) => {
    opened ??= readAll(options).then((entries) => createRelatedSearch(() => entries, rankers.hybrid))
    return (await opened)(query, tools)
  }
}

async function readAll({ files, servers, notify }: KnownToolsOptions): Promise<readonly RelatedEntry[]> {
  const configured = new Set(servers)
  const read = files.map(async (file) => {
    try {
      return entriesIn((await readBoundedFile(file, MAX_BYTES)).toString('utf8'), file, configured, notify)
    } catch (error) {
      notify(`cannot read the tools in ${file}: ${(error as Error).message}`)
      return []
    }
  })
  const entries = (await Promise.all(read)).flat()
  if (entries.length > MAX_ENTRIES)
    notify(`${files.join(', ')}: ${entries.length} tools are known; the first ${MAX_ENTRIES} are searched.`)
  return entries.slice(0, MAX_ENTRIES)
}

function entriesIn(
  text: string,
  file: string,
  configured: ReadonlySet<string>,
  notify: (message: string) => void,
): RelatedEntry[] {
  const registry = registryServers(text)
  if (registry) return registry.flatMap(serverEntry)
  return parseTools(text, file, notify).map((tool) => {
    const { name, description = '', server } = tool
    const isConfigured = server !== undefined && configured.has(server)
    const advice = isConfigured
      ? `its server "${server}" is configured but not running; the user can start it`
      : `${server === undefined ? 'the user' : `a tool of "${server}"; the user`} can install its server with "toolshelf add"`
    return {
      item: { kind: isConfigured ? 'not running:' : 'not installed:', name, description, advice },
      tool,
    }
  })
}

/** A response of `GET /v0/servers`, or a list of server.json documents. */
function registryServers(text: string): unknown[] | undefined {
  if (!/^\uFEFF?\s*[{[]/.test(text)) return undefined
  try {
    const parsed: unknown = JSON.parse(text.replace(/^\uFEFF/, ''))
    if (Array.isArray(parsed)) return parsed
    const { servers } = fieldsOf(parsed)
    return Array.isArray(servers) ? servers : undefined
  } catch {
    return undefined
  }
}

/** Returns an entry for a whole server, because a registry does not list tools. */
function serverEntry(entry: unknown): RelatedEntry[] {
  const server = fieldsOf(isFields(fieldsOf(entry).server) ? fieldsOf(entry).server : entry)
  const [name, description] = [textOf(server.name), textOf(server.description)]
  if (name === '' || description === '') return []
  const short = (name.split('/').at(-1) ?? name).replaceAll(/[^\w.-]+/g, '-')
  const command = commandOf(server, short)
  const advice = `a server; the user can add it${command === undefined ? ' with "toolshelf add"' : `: ${command}`}`
  return [
    {
      item: { kind: 'not installed:', name, description, advice },
      tool: { name: short, description: `${textOf(server.title)} ${description}`.trim(), server: short },
    },
  ]
}

const PACKAGE = /^(@[\w.-]+\/)?\w[\w.-]*$/

/** Returns the command that adds the server. Entries are untrusted, so only names without shell syntax or a leading dash qualify. */
function commandOf(
  { packages, remotes }: { readonly [key: string]: unknown },
  short: string,
): string | undefined {
  if (!/^\w/.test(short)) return undefined
  for (const one of listOf(packages).map(fieldsOf)) {
    const identifier = textOf(one.identifier)
    if (textOf(one.registryType) === 'npm' && PACKAGE.test(identifier))
      return `toolshelf add ${short} -- npx -y ${identifier}`
  }
  for (const { url } of listOf(remotes).map(fieldsOf))
    if (/^https:\/\/[\w./:-]+$/.test(textOf(url))) return `toolshelf add ${short} ${textOf(url)}`
  return undefined
}
