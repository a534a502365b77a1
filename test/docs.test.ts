// The documentation: every relative link and anchor resolves, the README stays short, and each client's page has the
// entry and the file that `toolshelf connect` would name. So does every file that the heads of sources name.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { clientEntries } from '../packages/cli/src/connect/apply.ts'
import { configPlaces } from '../packages/mcp/src/config/places.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const MAX_README_WORDS = 900
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const pagesIn = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter((name) => name.endsWith('.md'))
const pages = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'deploy/README.md',
  ...pagesIn('docs'),
  ...readdirSync(join(root, 'packages'))
    .map((name) => `packages/${name}/README.md`)
    .filter((page) => existsSync(join(root, page))),
]
/** What the pages of packages put before a path, since npm shows them elsewhere. */
const REPOSITORY = 'https://github.com/toolshelf/toolshelf/blob/main/'

describe.each(pages)('%s', (page) => {
  it('links to files and headings that exist', () => {
    const broken = linksIn(read(page)).filter((link) => !resolves(page, link))
    expect(broken).toEqual([])
  })
})

it('README.md has at most 900 words beside its code', () => {
  expect(withoutCode(read('README.md')).split(/\s+/).length).toBeLessThanOrEqual(MAX_README_WORDS)
})

it('the heads of files, ARCHITECTURE.md and CONTRIBUTING.md name files that exist', () => {
  const sources = readdirSync(join(root, 'packages')).map((name) => `packages/${name}/src`)
  const files = [...sources, 'test', 'scripts', 'bench', 'examples'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:tsx?|mjs)$/.test(name) && !name.includes('node_modules'))
      .map((name) => `${folder}/${name.replaceAll('\\', '/')}`),
  )
  // `core/gate.ts` is short for `packages/core/src/gate.ts`.
  const known = ['vitest.config.ts', ...files].flatMap((file) => [
    `/${file}`,
    `/${file.replace(/^packages\/(\w+)\/src/, '$1')}`,
  ])
  const heads = files.map((file) => [file, /^(?:\/\/.*\n)*/.exec(read(file))?.[0] ?? ''] as const)
  const pages = ['ARCHITECTURE.md', 'CONTRIBUTING.md'].map((page) => [page, read(page)] as const)
  const missing = [...heads, ...pages].flatMap(([from, text]) =>
    [...text.matchAll(/(?<![\w@*./-])(?:\.\/)?([\w./-]*\w\.(?:tsx?|mjs))\b/g)]
      .map(([, path]) => path)
      .filter((path) => path !== 'test/x.test.ts' && !known.some((file) => file.endsWith(`/${path}`)))
      .map((path) => `${from}: ${path}`),
  )
  expect(heads.length).toBeGreaterThan(500)
  expect(missing).toEqual([])
})

describe('docs/decisions', () => {
  const decisions = pagesIn('docs/decisions').filter((page) => basename(page) !== 'README.md')

  it.each(decisions)('%s is dated, short, and has a context and consequences', (page) => {
    const text = read(page)
    const [date = ''] = /^\d{4}-\d\d-\d\d/.exec(basename(page)) ?? []
    expect(text).toMatch(new RegExp(`^# .+\\n\\n${date}, `))
    const headings = [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
    expect(headings).toEqual(
      ['Context', 'Decision', 'Figures', 'Consequences'].filter((name) => headings.includes(name)),
    )
    expect(headings).toEqual(expect.arrayContaining(['Context', 'Decision', 'Consequences']))
    expect(text.split(/\s+/).length).toBeLessThan(500)
    expect(read('docs/decisions/README.md')).toContain(`](${basename(page)}) | ${date} |`)
  })
})

describe('docs/clients', () => {
  const home = '/home/you'
  const places = configPlaces({ home, folder: '/project', platform: 'linux', environment: {} })
  const text = pagesIn('docs/clients').map(read).join('\n')
  const names = ['Claude Code', 'Claude Desktop', 'Cursor', 'VS Code', 'Codex']
  const clients = [...names, 'Gemini CLI', 'Qwen Code', 'opencode', 'Windsurf', 'Cline']

  it.each(clients)(
    '%s has a heading, the entry that connect prints, and files that connect reads',
    (client) => {
      const [entry] = clientEntries([client], ['toolshelf', 'mcp'])
      expect(text).toMatch(new RegExp(`^##? ${client}$`, 'm'))
      expect(text).toContain(`\n${entry?.text}\n\`\`\``)
      const files = places.filter((place) => place.client === client)
      const named = files.filter(({ file }) => text.includes(`\`${shown(file)}\``))
      expect(named.length).toBeGreaterThan(0)
      if (files.some(({ isProject }) => isProject))
        expect(named.some(({ isProject }) => isProject)).toBe(true)
    },
  )

  const shown = (file: string) => file.replace('/project/', '').replace(home, '~')
})

function withoutCode(text: string): string {
  return text.replaceAll(/^ *```.*?^ *```/gms, '')
}

/** Targets of links and pictures, those with a scheme left out. */
function linksIn(text: string): string[] {
  const prose = withoutCode(text).replaceAll(/`[^`\n]*`/g, '`')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => target.startsWith(REPOSITORY) || !/^[a-z]+:/.test(target))
}

function resolves(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const here = path === '' ? page : join(dirname(page), path)
  const target = path.startsWith(REPOSITORY) ? path.slice(REPOSITORY.length) : here
  if (!existsSync(join(root, target))) return false
  return anchor === undefined || anchorsIn(read(target)).includes(anchor)
}

/** Headings as GitHub names them. */
function anchorsIn(text: string): string[] {
  return [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-'),
  )
}
