// `npm run size`: what the project weighs, a line each. Every limit that a change is held to is counted here.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { everyCommand } from '../packages/cli/src/main.ts'

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

/** Folders of the packages, by their names. */
const packages = readdirSync(join(root, 'packages'))

/** The files that `exports` of the packages lead to; internal doors are for our own packages, and promise nothing to others. */
const doors = packages.flatMap((name) => {
  const manifest = JSON.parse(read(`packages/${name}/package.json`)) as {
    readonly private?: boolean
    readonly exports: { readonly [door: string]: string }
  }
  const entries = manifest.private ? [] : Object.entries(manifest.exports)
  return entries.flatMap(([door, file]) =>
    isCode(file) ? [{ path: join('packages', name, file), isInternal: door.startsWith('./internal') }] : [],
  )
})

/** The names that a door exports, types included. */
function exportsOf(path: string): string[] {
  const code = read(path).replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
  const listed = [...code.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names = '']) =>
    names.split(','),
  )
  const declared = [...code.matchAll(/^export (?:declare )?(?:async )?(?:const|function|class|type) (\w+)/gm)]
  return [...listed.map((name) => name.trim()).filter(Boolean), ...declared.map(([, name = '']) => name)]
}

const isTestkit = (path: string) => path.startsWith('packages/testkit/')
const isInspector = (path: string) => path.startsWith('packages/inspector/')
const source = packages.flatMap((name) => filesIn(`packages/${name}/src`)).filter(isCode)
const tests = [...filesIn('test'), ...source.filter(isTestkit)]
const exportsOfDoors = (internal: boolean) =>
  doors.reduce((sum, { path, isInternal }) => sum + (isInternal === internal ? exportsOf(path).length : 0), 0)
const docs = [...filesIn('docs'), 'README.md'].filter((path) => path.endsWith('.md'))
const commands = await everyCommand()

const sizes: readonly (readonly [string, number])[] = [
  ['source, lines', linesOf(source.filter((path) => !isInspector(path) && !isTestkit(path)))],
  ['inspector, lines', linesOf(source.filter(isInspector))],
  ['tests and testkit, lines', linesOf(tests.filter((path) => /\.(ts|tsx|mjs)$/.test(path)))],
  ['golden text, lines', linesOf(tests.filter((path) => path.endsWith('.txt')))],
  ['exports', exportsOfDoors(false)],
  ['exports for our own packages', exportsOfDoors(true)],
  ['commands', commands.length],
  ['options', commands.reduce((sum, { options }) => sum + Object.keys(options).length, 0)],
  [
    'barrels',
    source.filter((path) => path.endsWith('/index.ts') && !/^packages\/\w+\/src\/index\.ts$/.test(path))
      .length,
  ],
  ['words of docs', count(docs, /\S+/g)],
]
for (const [name, value] of sizes) console.log(`size ${name}: ${value}`)
