// `npm run faults`: proves that the suites can fail. Each patch in test/faults is one fault made by hand; its first line says
// which suite must catch it (`Caught by: wires`) and the second what is wrong. Each is put into a worktree of its own commit,
// and the suite's tests run there. Arguments choose patches by a part of their name.
import { spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))
const folder = join(root, 'test/faults')

/** Runs a program; resolves with its exit code and output. */
function run(command, words, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, words, { stdio: ['ignore', 'pipe', 'pipe'], ...options })
    const output = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk))
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, output: Buffer.concat(output).toString() }))
  })
}

/** The changes of a patch: a file, the lines that must be there, and those that come in their place. */
function readPatch(text) {
  const changes = []
  let path
  for (const line of text.split('\n')) {
    if (line.startsWith('+++ ')) path = line.slice(4).replace(/^b\//, '').trim()
    else if (line.startsWith('@@')) changes.push({ path, old: [], now: [] })
    else if (changes.length > 0 && /^[ +-]/.test(line) && !line.startsWith('---')) {
      const { old, now } = changes.at(-1)
      if (line[0] !== '+') old.push(line.slice(1))
      if (line[0] !== '-') now.push(line.slice(1))
    }
  }
  return changes
}

/** Where the lines are in a text, whatever their indentation; -1 if nowhere, or twice. */
function placeOf(lines, wanted) {
  const places = lines.flatMap((_, start) =>
    wanted.every((line, at) => lines[start + at]?.trim() === line.trim()) ? [start] : [],
  )
  return places.length === 1 ? places[0] : -1
}

/** Makes one change in the file it names or, after a move, in the one file of packages/ that has these lines. */
async function change(worktree, { path, old, now }) {
  const sources = (await readdir(join(worktree, 'packages'), { recursive: true }))
    .filter((name) => /^\w+\/src\/.*\.tsx?$/.test(name))
    .map((name) => join('packages', name))
  const found = []
  for (const source of [path, ...sources.filter((one) => one !== path)]) {
    const lines = await readFile(join(worktree, source), 'utf8').then(
      (text) => text.split('\n'),
      () => [],
    )
    const place = placeOf(lines, old)
    if (place >= 0) found.push({ source, lines, place })
    if (place >= 0 && source === path) break
  }
  if (found.length !== 1) return false
  const [{ source, lines, place }] = found
  await writeFile(join(worktree, source), lines.toSpliced(place, old.length, ...now).join('\n'))
  return true
}

/** Links what is installed, but our own packages to those of the worktree. */
async function linkModules(worktree) {
  const modules = join(worktree, 'node_modules')
  await mkdir(join(modules, '@toolshelf'), { recursive: true })
  for (const name of await readdir(join(root, 'node_modules')))
    if (name !== '@toolshelf' && name !== 'toolshelf')
      await symlink(join(root, 'node_modules', name), join(modules, name))
  for (const name of await readdir(join(worktree, 'packages'))) {
    const place = name === 'cli' ? 'toolshelf' : join('@toolshelf', name)
    await symlink(join(worktree, 'packages', name), join(modules, place))
  }
}

/** What becomes of one fault: caught, not caught, or a patch that must be written anew. */
async function tryFault(name, worktree) {
  const text = await readFile(join(folder, name), 'utf8')
  const suite = /^Caught by: (\S+)/.exec(text)?.[1]
  if (!suite) return { name, problem: 'its first line does not say "Caught by: <suite>"' }
  for (const one of readPatch(text))
    if (!(await change(worktree, one)))
      return { name, problem: `does not apply: ${one.path} has changed; write the patch anew` }
  const words = [
    'node_modules/vitest/vitest.mjs',
    'run',
    `test/suites/${suite}`,
    '--maxWorkers=1',
    '--bail=1',
  ]
  const env = { ...process.env, PROPERTY_SHRINK: 'off' }
  const { code, output } = await run(process.execPath, words, { cwd: worktree, env })
  await run('git', ['checkout', '-q', '--', 'packages'], { cwd: worktree })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours of the terminal
  const plain = output.replace(/\u001b\[[0-9;]*m/g, '')
  const test = /FAIL\s+(.*)/.exec(plain)?.[1] ?? ''
  if (code !== 0 && test === '') return { name, problem: `the suite does not run:\n${plain.slice(-2000)}` }
  return code === 0 ? { name, problem: `NOT CAUGHT by ${suite}` } : { name, suite, test }
}

const parts = process.argv.slice(2)
const names = (await readdir(folder))
  .filter((name) => name.endsWith('.patch'))
  .filter((name) => parts.length === 0 || parts.some((part) => name.includes(part)))
const places = await mkdtemp(join(tmpdir(), 'faults-'))
const queue = [...names]
const failures = []

async function work(number) {
  const worktree = join(places, String(number))
  await run('git', ['worktree', 'add', '-q', '--detach', worktree, 'HEAD'], { cwd: root })
  await linkModules(worktree)
  await cp(join(root, 'packages/cli/dist'), join(worktree, 'packages/cli/dist'), { recursive: true }).catch(
    () => {},
  )
  for (let name = queue.shift(); name; name = queue.shift()) {
    const { suite, test, problem } = await tryFault(name, worktree)
    if (problem) failures.push(name)
    console.log(problem ? `${name}: ${problem}` : `${name}: caught by ${suite} (${test.trim()})`)
  }
  await run('git', ['worktree', 'remove', '--force', worktree], { cwd: root })
}

try {
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, (_, number) => work(number)))
} finally {
  await rm(places, { recursive: true, force: true })
}
console.log(`${names.length - failures.length} of ${names.length} faults are caught`)
if (failures.length > 0 || names.length === 0) process.exitCode = 1
