// Logins from start to end: requests to each server, what the user reads, and what is kept. The servers answer in this process.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type LoginOptions, login } from '../../src/mcp/oauth/index.ts'
import type { Loose } from '../support/talk.ts'
import { type AuthOptions, browse, startAuthServer } from './support/auth-server.ts'
import { temporaryFolder } from './support/folder.ts'
import { httpServer } from './support/servers.ts'

/** Parameters that are different each time. */
const HIDDEN = new Set(['state', 'code', 'code_challenge', 'code_verifier'])

function story() {
  const folder = join(temporaryFolder(), 'tokens')
  const lines: string[] = []
  const places: [address: string, name: string][] = []
  const say = (text: string) => void lines.push(text)
  const attempt = async (title: string, options: AuthOptions = {}, more: Partial<LoginOptions> = {}) => {
    const server = await startAuthServer(options)
    places.push([server.issuer, '<issuer>'], [server.url, '<server>'])
    lines.push(`— ${title}`)
    const config = httpServer('notes', server.url)
    const clientInfo = { name: 'test', version: '1' }
    const given = { config, folder, clientInfo, print: say, notify: say, openBrowser: browse }
    const outcome = await login({ ...given, ...more }).then(
      JSON.stringify,
      (error: Error) => `! ${error.message}`,
    )
    for (const path of ['/authorize', '/token'])
      for (const asked of server.asked(path)) {
        const shown = [...asked].filter(([name]) => !HIDDEN.has(name))
        lines.push(`${path} ${shown.map((pair) => pair.join('=')).join(' ')}`)
      }
    lines.push(outcome, `files: ${existsSync(folder) ? readdirSync(folder).length : 'none'}`)
  }
  const tell = async (name: string) => {
    const named = places.reduce(
      (text, [address, place]) =>
        text.replaceAll(address, place).replaceAll(encodeURIComponent(address), place),
      lines.join('\n'),
    )
    const text = named
      .replace(/client-\d+/g, '<client>')
      .replace(/127\.0\.0\.1(:|%3A)\d+/g, '<here>')
      .replace(/(state|code_challenge)=[^&\s]+/g, '$1=…')
      .replace(/\(\d{4,5}\)/, '(<port>)')
    await expect(`${text}\n`).toMatchFileSnapshot(`./parts/${name}.txt`)
  }
  return { attempt, lines, tell }
}

it('H1 a login that is granted is kept, and used at once', async () => {
  const { attempt, lines, tell } = story()
  await attempt('granted', {}, { scope: 'tools more' })
  const kept: Loose[] = []
  const file = {
    read: async () => kept[0],
    write: async (credentials: object) => {
      kept[0] = { server: 'notes', url: '', ...credentials }
    },
    remove: async () => {},
    alone: (work: () => Promise<Loose>) => work(),
  }
  const print = (text: string) => {
    lines.push(text)
    void browse(/http\S+/.exec(text)?.[0] ?? '')
  }
  const client = { id: 'by-hand', secret: 'secret-by-hand' }
  await attempt('by hand', { registers: false }, { client, file, print, openBrowser: async () => true })
  lines.push(Object.keys(kept[0] ?? {}).join(), JSON.stringify(kept[0]?.client))
  await attempt('registered', {}, { file })
  lines.push(JSON.stringify(kept[0]?.client))
  await tell('oauth-login-granted')
})

it('H1 a login that fails says why, and leaves nothing, unless the server fails after it', async () => {
  const { attempt, tell } = story()
  await attempt('refused', { refuses: true })
  await attempt('no registration', { registers: false })
  await attempt('needs a key', { isBare: true })
  await attempt('another issuer', { namesIssuer: true, issuerSent: 'https://else.example' })
  await attempt('nobody answers', {}, { openBrowser: async () => true, timeoutMs: 1 })
  const stop = new AbortController()
  const openBrowser = async () => {
    stop.abort()
    return true
  }
  await attempt('cancelled', {}, { openBrowser, signal: stop.signal })
  await attempt('cancelled before', {}, { signal: AbortSignal.abort(new Error('no more')) })
  await attempt('fails afterwards', { isBroken: true })
  await tell('oauth-login-failed')
})

it('H1 only a login page that nobody can read along is opened', async () => {
  const { attempt, tell } = story()
  const openBrowser = async () => true
  for (const page of [
    'http://a.example',
    'http://localhost:1',
    'http://[::1]:1',
    'https://a.example',
    'ftp://localhost',
  ])
    await attempt(
      page,
      { metadata: { authorization_endpoint: `${page}/login` } },
      { openBrowser, timeoutMs: 1 },
    )
  await tell('oauth-login-pages')
})

it('H1 a server that needs no login gets none; without a browser the user opens the page', async () => {
  const { attempt, tell } = story()
  const local = { ...httpServer('notes', ''), transport: { kind: 'stdio' } as never }
  await attempt('on this machine', {}, { config: local })
  await attempt('open to all', { isOpen: true, isBare: true })
  await attempt('open to all, with a login', { isOpen: true })
  await attempt('open to all, without tools', { isOpen: true, isBare: true, isEmpty: true })
  await attempt('open to all, with a login that is broken', { isOpen: true, metadata: { issuer: 5 } })
  await attempt('no browser', {}, { openBrowser: async (at) => !(await browse(at)) })
  await tell('oauth-login-unneeded')
})
