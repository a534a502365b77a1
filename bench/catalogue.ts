// Real tool definitions for the benches, one JSON object a line. They are not part of the project: a path is given
// in TOOLSHELF_CATALOGUE, or as the last argument.
import { existsSync, readFileSync } from 'node:fs'
import type { Tool } from '../packages/core/src/index.ts'

export function readCatalogue(): Tool[] {
  const path =
    process.argv.slice(2).find((argument) => argument.endsWith('.jsonl')) ?? process.env.TOOLSHELF_CATALOGUE
  if (!path || !existsSync(path)) {
    console.error('This bench needs real tool definitions: name a tools.jsonl file as its argument.')
    process.exit(2)
  }
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as Tool)
}
