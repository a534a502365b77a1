// `npm run size`: what the project weighs, a line each. Every limit that a change is held to is counted here.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { everyCommand } from '../src/cli/main.ts'

const root = fileURLToPath(new URL('../', import.meta.url))

/** Every file below a folder of the repository, by its path from the root. */
function filesIn(folder: string): string[] {
  const entries = readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
}

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const count = (paths: readonly string[], pattern: RegExp) =>
  paths.reduce((sum, path) => sum + (read(path).match(pattern)?.length ?? 0), 0)
const linesOf = (paths: readonly string[]) => count(paths, /\n/g)
const isCode = (path: string) => /\.tsx?$/.test(path)

/** The files that `exports` of package.json leads to. */
function doors(): string[] {
  const { exports } = JSON.parse(read('package.json')) as { exports: { [name: string]: { types?: string } } }
  const types = Object.values(exports).flatMap((entry) => entry.types ?? [])
  return types.map((path) => path.replace('./dist/', 'src/').replace(/\.d\.ts$/, '.ts'))
}

/** The names that a door exports, types included. */
function exportsOf(path: string): string[] {
  const code = read(path).replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
  const listed = [...code.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names = '']) =>
    names.split(','),
  )
  const declared = [...code.matchAll(/^export (?:declare )?(?:async )?(?:const|function|class|type) (\w+)/gm)]
  return [...listed.map((name) => name.trim()).filter(Boolean), ...declared.map(([, name = '']) => name)]
}

const source = filesIn('src').filter(isCode)
const isInspector = (path: string) => path.startsWith('src/inspector/')
const tests = filesIn('test')
const docs = [...filesIn('docs'), 'README.md'].filter((path) => path.endsWith('.md'))
const commands = await everyCommand()

const sizes: readonly (readonly [string, number])[] = [
  ['source, lines', linesOf(source.filter((path) => !isInspector(path)))],
  ['inspector, lines', linesOf(source.filter(isInspector))],
  ['tests and testkit, lines', linesOf(tests.filter((path) => /\.(ts|tsx|mjs)$/.test(path)))],
  ['golden text, lines', linesOf(tests.filter((path) => path.endsWith('.txt')))],
  ['exports', doors().reduce((sum, path) => sum + exportsOf(path).length, 0)],
  ['commands', commands.length],
  ['options', commands.reduce((sum, { options }) => sum + Object.keys(options).length, 0)],
  ['barrels', source.filter((path) => path.endsWith('/index.ts')).length],
  ['words of docs', count(docs, /\S+/g)],
]
for (const [name, value] of sizes) console.log(`size ${name}: ${value}`)
