// Adds servers to our own file: keeps the existing text, comments included, and replaces the file atomically.

import { randomUUID } from 'node:crypto'
import { mkdir, open, realpath, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Fields, isFields } from '../../lib/index.ts'

import { type MemberSpan, parseJson } from './json.ts'

export type NamedFields = readonly (readonly [name: string, fields: Fields])[]

/** Returns the names of the servers in a text. Throws an error that says what is wrong with it. */
export function serverNames(text: string): readonly string[] {
  const { value } = parseJson(text)
  const servers = isFields(value) ? value.mcpServers : undefined
  return isFields(servers) ? Object.keys(servers).map((name) => name.trim()) : []
}

/** Returns the text with the servers added. Throws an error that says what is wrong with it. */
export function addServers(text: string, servers: NamedFields): string {
  const { value, spans } = parseJson(text)
  if (!isFields(value)) throw new Error('it is not a JSON object')
  const { mcpServers } = value
  if (mcpServers === undefined)
    return insert(text, spans.get(value), `"mcpServers": ${asJson(Object.fromEntries(servers), 1)}`, 1)
  if (!isFields(mcpServers)) throw new Error('"mcpServers" is not an object')
  const members = servers.map(([name, fields]) => `${JSON.stringify(name)}: ${asJson(fields, 2)}`)
  return members.length === 0 ? text : insert(text, spans.get(mcpServers), members.join(`,\n${indent(2)}`), 2)
}

/** Inserts members after the last one, and after a comment that follows it. */
function insert(text: string, span: MemberSpan | undefined, members: string, depth: number): string {
  if (!span) return text
  const before = text.slice(0, span.end)
  const comma = span.isEmpty || span.hasComma ? '' : ','
  const between = text.slice(span.end, span.close).trimEnd()
  return `${before}${comma}${between}\n${indent(depth)}${members}\n${indent(depth - 1)}${text.slice(span.close)}`
}

const indent = (depth: number) => '  '.repeat(depth)

function asJson(value: unknown, depth: number): string {
  return JSON.stringify(value, null, 2).replaceAll('\n', `\n${indent(depth)}`)
}

/** Writes atomically, readable by the owner only. Follows a symbolic link instead of replacing it. */
export async function writePrivately(file: string, text: string): Promise<void> {
  const target = await realpath(file).catch(() => file)
  const temporary = `${target}.${randomUUID()}`
  await mkdir(dirname(target), { recursive: true, mode: 0o700 })
  try {
    const handle = await open(temporary, 'wx', 0o600)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, target)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}
