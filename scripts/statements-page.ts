// Fills in docs/statements.md: which files implement each statement, which tests prove it. Part of `npm run reference`.
import { readdirSync, readFileSync } from 'node:fs'

/** A file by its path from the root of the repository. */
export type TextFile = { readonly path: string; readonly text: string }

const MAX_TESTS = 4
const root = new URL('../', import.meta.url)
const row = /^\| ([A-Z]\d+|wire \d+) \| (.*) \| [^|]* \| [^|]* \|$/gm
// One number such as S8, or the numbers after the word wire: "wire 14", "wire 40, 41", "wire 17–23".
const number = /\bwire (\d+(?:(?:, |–)\d+)*)|\b([A-Z]\d+)\b/g
const tag = /^\/\/ Implements (.+)\.$/gm
// The first string after `it(`, `test.each([…])(` and the like, or on a line that ends a table of cases.
const title =
  /(?:\b(?:describe|it|test)\b(?:\.\w+)*(?:\([^\n]*?\))?|^ *\]?\))\(\s*(?:'((?:\\.|[^'\\\n])*)'|`([^`]*)`|"([^"\n]*)")/gm

/** The page with both generated columns filled in anew; the statements themselves stay as they are. */
export function statementsPage(
  page: string,
  sources: readonly TextFile[],
  tests: readonly TextFile[],
): string {
  const implemented = countNumbers(sources, taggedIn)
  const proven = countNumbers(tests, titlesIn)
  return page.replaceAll(row, (_, id: string, text: string) => {
    const source = linksTo(implemented.get(id), 'src/')
    const proofs = linksTo(proven.get(id), 'test/')
    const more = proofs.length - MAX_TESTS
    const shown = more > 1 ? [...proofs.slice(0, MAX_TESTS), `${more} more`] : proofs
    return `| ${id} | ${text} | ${source.join(', ')} | ${shown.join(', ')} |`
  })
}

/** Every number that a file tags or a test title names, with the files that do. */
export function numbersIn(files: readonly TextFile[], kind: 'tags' | 'titles'): Map<string, string[]> {
  const counts = countNumbers(files, kind === 'tags' ? taggedIn : titlesIn)
  return new Map([...counts].map(([id, paths]) => [id, [...paths.keys()]]))
}

/** Source and test files of this repository. */
export function readFiles(folder: 'src' | 'test'): TextFile[] {
  return readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter((path) => !path.includes('/node_modules/'))
    .filter((path) => (folder === 'src' ? /\.tsx?$/ : /\.test\.tsx?$/).test(path))
    .sort()
    .map((path) => ({ path, text: readFileSync(new URL(path, root), 'utf8') }))
}

const taggedIn = (text: string) => [...text.matchAll(tag)].map(([, list = '']) => list)
const titlesIn = (text: string) => [...text.matchAll(title)].map(([, a, b, c]) => a ?? b ?? c ?? '')

type Counts = Map<string, Map<string, number>>

/** For each number, how often each file names it. */
function countNumbers(files: readonly TextFile[], textsIn: (text: string) => string[]): Counts {
  const counts: Counts = new Map()
  for (const { path, text } of files)
    for (const id of textsIn(text).flatMap(idsIn)) {
      const paths = counts.get(id) ?? new Map<string, number>()
      counts.set(id, paths.set(path, (paths.get(path) ?? 0) + 1))
    }
  return counts
}

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

/** Links in the order of how often a file names the number, then of their paths. */
function linksTo(paths: ReadonlyMap<string, number> = new Map(), folder: string): string[] {
  return [...paths]
    .sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1))
    .map(([path]) => `[${path.slice(folder.length).replace(/^core\//, '')}](../${path})`)
}
