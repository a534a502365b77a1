// Adds servers to the text of Toolshelf's own file and removes them: keeps the rest of the text, including comments.
import { type Fields, isFields } from '@toolshelf/core/internal'

import { lineEnding } from './edits.ts'
import { type MemberSpan, parseJson } from './json.ts'
import { moveServers } from './move.ts'

type NamedFields = readonly (readonly [name: string, fields: Fields])[]

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

/** Returns the text without a server. Throws an error that says what is wrong with it. */
export function removeServer(text: string, name: string): string {
  const { value } = parseJson(text)
  const servers = isFields(value) && isFields(value.mcpServers) ? Object.keys(value.mcpServers) : []
  const paths = servers.filter((key) => key.trim() === name).map((key) => ['mcpServers', key])
  return paths.length === 0 ? text : moveServers(text, paths, undefined).text
}

/** Inserts members after the last one, and after a comment that follows it. */
function insert(text: string, span: MemberSpan | undefined, members: string, depth: number): string {
  if (!span) return text
  const ending = lineEnding(text)
  const before = text.slice(0, span.end)
  const comma = span.isEmpty || span.hasComma ? '' : ','
  const between = text.slice(span.end, span.close).trimEnd()
  const inserted = `\n${indent(depth)}${members}\n${indent(depth - 1)}`.replaceAll('\n', ending)
  return `${before}${comma}${between}${inserted}${text.slice(span.close)}`
}

const indent = (depth: number) => '  '.repeat(depth)

function asJson(value: unknown, depth: number): string {
  return JSON.stringify(value, null, 2).replaceAll('\n', `\n${indent(depth)}`)
}
