// Builds the documentation site into site/: installs the pinned generator on the first run, copies the Markdown files of
// the repository into pages/ in the same layout, and renders them.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../..', import.meta.url))
const pages = join(here, 'pages')
const repository = 'https://github.com/toolshelf/toolshelf/blob/main/'

const single = [
  'README.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'bench/RESULTS.md',
  'deploy/README.md',
]
const inDocs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .map((name) => `docs/${name.replaceAll('\\', '/')}`)
  .filter((name) => /\.(md|svg)$/.test(name))
const files = new Set([...single, ...inDocs])

// Not `npm ci`: that demands optional packages for every platform, also those that a registry does not have.
const install = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
if (!isInstalled()) run('npm', install)
rmSync(pages, { recursive: true, force: true })
for (const file of files) copy(file)
run(process.execPath, [join(here, 'node_modules/vitepress/bin/vitepress.js'), 'build'])
console.log(
  `The site is in ${join(root, 'site')}. To look at it:\n  npx --prefix scripts/docs-site vitepress preview scripts/docs-site`,
)

function isInstalled() {
  const versionIn = (file) => {
    if (!existsSync(join(here, file))) return undefined
    return JSON.parse(readFileSync(join(here, file), 'utf8')).packages['node_modules/vitepress']?.version
  }
  const installed = versionIn('node_modules/.package-lock.json')
  return installed !== undefined && installed === versionIn('package-lock.json')
}

function copy(file) {
  const target = join(pages, asPage(file))
  mkdirSync(dirname(target), { recursive: true })
  if (file.endsWith('.md')) writeFileSync(target, relink(file, readFileSync(join(root, file), 'utf8')))
  else cpSync(join(root, file), target)
}

/** The generator serves index.md for a folder. */
function asPage(file) {
  return file.replace(/(^|\/)README\.md$/, '$1index.md')
}

/** Links between pages follow renamed files; links to other files go to the repository. */
function relink(file, text) {
  return text.replace(/\]\(([^)\s#:]+)(#[^)\s]*)?\)/g, (_, path, anchor = '') => {
    const target = posix.join(posix.dirname(file), path)
    if (!files.has(target)) return `](${repository}${target}${anchor})`
    return `](${asPage(path)}${anchor})`
  })
}

function run(command, words) {
  const { status } = spawnSync(command, words, {
    cwd: here,
    stdio: 'inherit',
    shell: process.platform === 'win32' && command === 'npm',
  })
  if (status !== 0) process.exit(status ?? 1)
}
