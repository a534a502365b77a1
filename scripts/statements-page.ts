// Lists the numbered statements: which files implement each, which tests prove it. Part of `npm run reference`.
import { readdirSync, readFileSync } from 'node:fs'

/** A file by its path from the root of the repository. */
export type TextFile = { readonly path: string; readonly text: string }

const MAX_TESTS = 4
const root = new URL('../', import.meta.url)
// One number such as S8, or the numbers after the word wire: "wire 14", "wire 40, 41", "wire 17–23".
const number = /\bwire (\d+(?:(?:, |–)\d+)*)|\b([A-Z]\d+)\b/g
const tag = /^\/\/ Implements (.+)\.$/gm
// The first string after `it(`, `test.each([…])(` and the like, or on a line that ends a table of cases.
const title =
  /(?:\b(?:describe|it|test)\b(?:\.\w+)*(?:\([^\n]*?\))?|^ *\]?\))\(\s*(?:'((?:\\.|[^'\\\n])*)'|`([^`]*)`|"([^"\n]*)")/gm

const introduction = `# Statements

The numbers in test titles, such as S8 or wire 24, are statements of what must hold. A source file that implements one says
so at its top (\`// Implements S8, S9.\`), and the titles of tests that prove it name it and say what it demands.
\`npx vitest run -t S8\` runs them all. Generated from the code by \`npm run reference\`.

| No. | Source | Tests |
|---|---|---|`

/** The page: each number that a source file or a test names. */
export function statementsPage(sources: readonly TextFile[], tests: readonly TextFile[]): string {
  const implemented = namesIn(sources, 'tags')
  const proven = namesIn(tests, 'titles')
  const rows = [...new Set([...implemented.keys(), ...proven.keys()])].sort(byNumber).map((id) => {
    const files = [...new Set(implemented.get(id)?.map(({ path }) => link(path)))]
    const proofs = (proven.get(id) ?? []).map(({ path, text }) => `${cell(text)} (${link(path)})`)
    const more = proofs.length - MAX_TESTS
    const shown = more > 0 ? [...proofs.slice(0, MAX_TESTS), `${more} more`] : proofs
    return `| ${id} | ${files.join(', ')} | ${shown.join('<br>')} |`
  })
  return `${[introduction, ...rows].join('\n')}\n`
}

/** Where each number is named: by the tags of sources, or by the titles of tests. */
export function namesIn(
  files: readonly TextFile[],
  kind: 'tags' | 'titles',
): ReadonlyMap<string, readonly TextFile[]> {
  const names = new Map<string, TextFile[]>()
  for (const { path, text } of files)
    for (const line of kind === 'tags' ? taggedIn(text) : titlesIn(text))
      for (const id of idsIn(line)) names.set(id, [...(names.get(id) ?? []), { path, text: line }])
  return names
}

/** Source and test files of this repository. */
export function readFiles(folder: 'packages' | 'test'): TextFile[] {
  return readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter((path) => !/\/(node_modules|dist)\//.test(path))
    .filter((path) =>
      (folder === 'packages' ? /^packages\/(?!testkit\/)\w+\/src\/.*\.tsx?$/ : /\.test\.tsx?$/).test(path),
    )
    .sort()
    .map((path) => ({ path, text: readFileSync(new URL(path, root), 'utf8') }))
}

const taggedIn = (text: string) => [...text.matchAll(tag)].map(([, list = '']) => list)
const titlesIn = (text: string) => [...text.matchAll(title)].map(([, a, b, c]) => a ?? b ?? c ?? '')
const link = (path: string) => `[${path.slice(path.indexOf('/') + 1)}](../${path})`
const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll(/\s+/g, ' ')
const byNumber = (a: string, b: string) => a.localeCompare(b, 'en', { numeric: true })

function idsIn(text: string): string[] {
  return [...text.matchAll(number)].flatMap(([, wires, id = '']) =>
    wires === undefined
      ? [id]
      : wires
          .split(', ')
          .flatMap(range)
          .map((wire) => `wire ${wire}`),
  )
}

/** `14` is itself, `17–23` are seven numbers. */
function range(text: string): number[] {
  const [from = 0, to = from] = text.split('–').map(Number)
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}
