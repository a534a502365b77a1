// The demo with servers that start in no time: the names and tools that its script needs, and enough others to defer.
import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { ConfigIn } from '../../packages/cli/src/demo/servers.ts'
import { demoServers } from '../../packages/cli/src/demo/servers.ts'
import { binary } from '../../packages/testkit/src/binary.ts'
import { serveHere, text } from '../mcp/support/server-here.ts'

const wire = new URL('../mcp/servers/wire.mjs', import.meta.url).href

/** What the script calls, described as the real servers describe it. */
const needed: { readonly [server: string]: { readonly [tool: string]: string } } = {
  filesystem: {
    write_file: 'Create a new file or completely overwrite an existing file with new content.',
    read_text_file: 'Read the complete contents of a file from the file system as text.',
    list_allowed_directories: 'Returns the list of directories that this server is allowed to access.',
  },
  memory: {
    create_entities: 'Create multiple new entities in the knowledge graph, to remember facts.',
    search_nodes: 'Search for nodes in the knowledge graph based on a query',
    read_graph: 'Read the entire knowledge graph',
  },
  everything: { 'get-sum': 'Returns the sum of two numbers. Add two numbers.' },
}

/** What a server's other tools are about: a search finds those of the right server. */
const subjects: { readonly [server: string]: string } = {
  filesystem: 'Write, read, move and list a file or a directory of the file system as text.',
  memory: 'Create, remember, search and delete facts, entities and relations of the knowledge graph.',
  everything: 'Shows a part of the protocol: samples, resources, links and images.',
  github: 'Works on repositories, issues, branches, commits and pull requests.',
  notion: 'Works on pages, databases, blocks and comments of a workspace.',
  trello: 'Works on boards, lists, cards, members and checklists.',
}

const OTHERS = 6
const padding = ' It is described at some length, since real servers describe theirs at length.'.repeat(4)

/** A folder of packages as the demo starts them. */
export function lightPackages(folder = mkdtempSync(join(tmpdir(), 'toolshelf-light-'))): string {
  for (const [name, server] of Object.entries(demoServers)) {
    const script = join(folder, server.package, server.script)
    mkdirSync(dirname(script), { recursive: true })
    writeFileSync(join(folder, server.package, 'package.json'), '{"type":"module"}')
    writeFileSync(script, sourceOf(name))
  }
  return folder
}

/** The same servers in this process. */
export function lightConfig(): ConfigIn {
  const servers = Object.keys(demoServers).map((name) => {
    const tools = toolsOf(name)
    return [
      name,
      { url: serveHere(() => ({ 'tools/list': () => ({ tools }), 'tools/call': () => text('done') })) },
    ]
  })
  return () => ({ mcpServers: Object.fromEntries(servers) })
}

function toolsOf(server: string): object[] {
  const own = Object.entries(needed[server] ?? {})
  const others = Array.from({ length: OTHERS }, (_, index) => [
    `routine_${index}`,
    `${subjects[server]}${padding}`,
  ])
  const inputSchema = { type: 'object', properties: {} }
  return [...own, ...others].map(([name, description]) => ({ name, description, inputSchema }))
}

function sourceOf(server: string): string {
  return `import { serve, text } from ${JSON.stringify(wire)}
const tools = ${JSON.stringify(toolsOf(server))}
serve({ 'tools/list': () => ({ tools }), 'tools/call': () => text('done') })
`
}

/** Arguments of Node that start a copy of the binary with these packages beside it. */
export function lightBinary(): string[] {
  const [built = '', ...more] = binary
  // Sources are not copied: without a build the real servers play.
  if (more.length > 0) return [...binary]
  const folder = mkdtempSync(join(tmpdir(), 'toolshelf-light-'))
  cpSync(dirname(built), folder, { recursive: true })
  lightPackages(join(folder, 'node_modules'))
  return [join(folder, basename(built))]
}
