// Every name that users import from `toolshelf` and `toolshelf/core`, every method of a shelf and every option has a doc
// comment, which editors show.
import { describe, expect, it } from 'vitest'
import { readSource } from './support/source.ts'

const files = readSource()
const textOf = (path: string) => files.find((file) => file.path === path)?.text ?? ''

/** The names in the braces of `export { … }`. */
function exportedNames(text: string): string[] {
  const lists = [...text.matchAll(/^export \{([^}]*)\}/gms)].flatMap(([, list = '']) => list.split(','))
  return lists.map((name) => name.replace('type ', '').trim()).filter((name) => name !== '')
}

/** Whether a line follows the end of a doc comment. */
const isDocumented = (lines: readonly string[], index: number) => /\*\/$/.test(lines[index - 1] ?? '')

describe('doc comments', () => {
  const names = [...new Set(['entries/core.ts', 'index.ts'].flatMap((path) => exportedNames(textOf(path))))]

  it.each(names)('%s has one', (name) => {
    const declaration = new RegExp(`^export (?:async )?(?:function|const|type|class) ${name}\\b`)
    // The oracle is an entry of its own.
    const places = files
      .filter(({ path }) => !path.startsWith('core/oracle/'))
      .filter(({ path }) => /^(core|node|rankers|validate)\//.test(path))
      .flatMap(({ text }) => {
        const lines = text.split('\n')
        return lines.flatMap((line, index) => (declaration.test(line) ? [isDocumented(lines, index)] : []))
      })
    expect(places).toContain(true)
    expect(places).not.toContain(false)
  })

  it.each([
    ['core/shelf.ts', 'Shelf'],
    ['core/shelf.ts', 'ShelfOptions'],
    ['core/options.ts', 'Services'],
    ['core/options.ts', 'Settings'],
  ])('%s: every member of %s has one', (path, type) => {
    const [, body = ''] =
      new RegExp(`^export type ${type} = [^\\n]*\\{\\n(.*?)^\\}`, 'ms').exec(textOf(path)) ?? []
    const lines = body.split('\n')
    const members = lines.flatMap((line, index) => {
      const [, name] = /^ {2}(?:readonly )?(\w+)[?(<:]/.exec(line) ?? []
      return name === undefined ? [] : [{ name, isDocumented: isDocumented(lines, index) }]
    })
    expect(members.length).toBeGreaterThan(2)
    expect(members.filter(({ isDocumented }) => !isDocumented)).toEqual([])
  })
})
