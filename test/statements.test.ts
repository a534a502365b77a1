// docs/statements.md is the key to the numbers in test names: each once, with files that exist and tests that name it.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const root = new URL('../', import.meta.url)
const page = readFileSync(new URL('docs/statements.md', root), 'utf8')
const rows = [...page.matchAll(/^\| ([A-Z]\d+) \|.*\|(.*)\|(.*)\|$/gm)].map(([, number, sources, tests]) => ({
  number: number ?? '',
  sources: quoted(sources),
  tests: quoted(tests),
}))

function quoted(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? '')
}

const exists = (path: string) => existsSync(new URL(path, root))
const isFile = (path: string) => exists(path) && statSync(new URL(path, root)).isFile()
const names = (path: string, number: string) =>
  new RegExp(`\\b${number}\\b`).test(readFileSync(new URL(path, root), 'utf8'))

describe('the page of statements', () => {
  it('has each number once', () => {
    const numbers = rows.map(({ number }) => number)
    expect(numbers.length).toBeGreaterThan(100)
    expect(numbers.filter((number, index) => numbers.indexOf(number) !== index)).toEqual([])
  })

  it('names sources that exist', () => {
    const missing = rows.flatMap(({ number, sources }) =>
      sources
        .filter((file) => ![`src/core/${file}`, `src/${file}`, file].some(exists))
        .map((file) => [number, file]),
    )
    expect(missing).toEqual([])
  })

  it('names tests that prove the statement by its number', () => {
    const wrong = rows.flatMap(({ number, tests }) =>
      tests
        .map((file) => `test/${file}`)
        .filter((path) => !exists(path) || (isFile(path) && !names(path, number)))
        .map((path) => [number, path]),
    )
    expect(wrong).toEqual([])
    expect(rows.filter(({ tests }) => tests.length === 0)).toEqual([])
  })
})
