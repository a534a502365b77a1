// Wraps other search libraries as rankers; each index is cached per list of tools.
import { create, insertMultiple, search } from '@orama/orama'
import FlexSearch from 'flexsearch'
import { initSqlJs } from 'fts5-sql-bundle'
import MiniSearch from 'minisearch'
import type { PoolTool, Rank } from '../packages/core/src/index.ts'
import { searchFields } from '../packages/core/src/search/words.ts'

type Text = {
  readonly id: number
  readonly name: string
  readonly description: string
  readonly params: string
}

const split = (text: string) =>
  text
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')

function textsOf(tools: readonly PoolTool[]): Text[] {
  return tools.map((tool, id) => {
    const [, , , description, names, descriptions] = searchFields(tool)
    const name = split(tool.name).join(' ')
    return { id, name, description: description?.[0] ?? '', params: [names, descriptions].flat().join(' ') }
  })
}

/** A ranker made of a function that indexes tools and one that finds their places. */
function peer(make: (texts: Text[]) => Promise<Find> | Find): Rank {
  const finders = new WeakMap<readonly PoolTool[], Promise<Find> | Find>()
  return async (tools, query, limit) => {
    const known = finders.get(tools) ?? make(textsOf(tools))
    finders.set(tools, known)
    const places = await (await known)(query, limit)
    return { hits: places.map((place) => ({ tool: tools[place]!, score: 1 })), matched: places.length }
  }
}

type Find = (query: string, limit: number) => number[] | Promise<number[]>

function miniSearch(fields: string[], options: object): Rank {
  return peer((texts) => {
    const index = new MiniSearch<Text>({ fields, tokenize: split, searchOptions: options })
    index.addAll(texts)
    return (query, limit) =>
      index
        .search(query)
        .slice(0, limit)
        .map(({ id }) => id as number)
  })
}

const orama = peer(async (texts) => {
  const db = create({ schema: { name: 'string', description: 'string', params: 'string' } as const })
  await insertMultiple(
    db,
    texts.map(({ id, ...text }) => ({ id: String(id), ...text })),
    5000,
  )
  return async (query, limit) => {
    const { hits } = await search(db, { term: query, limit, boost: { name: 3 } })
    return hits.map(({ id }) => Number(id))
  }
})

const flexSearch = peer((texts) => {
  const index = new FlexSearch.Index({ tokenize: 'strict', encode: split })
  for (const { id, name, description, params } of texts) index.add(id, `${name} ${description} ${params}`)
  return (query, limit) => index.search(query, { limit, suggest: true }) as number[]
})

const sqlite = peer(async (texts) => {
  const { Database } = await initSqlJs()
  const db = new Database()
  db.run("CREATE VIRTUAL TABLE tools USING fts5(name, description, params, tokenize='porter unicode61')")
  const insert = db.prepare('INSERT INTO tools(rowid, name, description, params) VALUES (?, ?, ?, ?)')
  for (const { id, name, description, params } of texts) insert.run([id + 1, name, description, params])
  const find = db.prepare('SELECT rowid FROM tools WHERE tools MATCH ? ORDER BY bm25(tools, 3, 1, 1) LIMIT ?')
  return (query, limit) => {
    const words = split(query)
    if (words.length === 0) return []
    find.bind([words.map((word) => `"${word}"`).join(' OR '), limit])
    const places: number[] = []
    while (find.step()) places.push(Number(find.get()[0]) - 1)
    find.reset()
    return places
  }
})

export const peers: Readonly<Record<string, Rank>> = {
  MiniSearch: miniSearch(['name', 'description'], {}),
  'MiniSearch tuned': miniSearch(['name', 'description', 'params'], {
    boost: { name: 3 },
    prefix: true,
    fuzzy: 0.2,
  }),
  Orama: orama,
  FlexSearch: flexSearch,
  'SQLite FTS5': sqlite,
}
