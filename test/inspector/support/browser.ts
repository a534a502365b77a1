// A browser for the tests of the page: started once, with one context, and nothing may go wrong in it unnoticed.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { expect } from 'vitest'
// @ts-expect-error: plain JavaScript, shared with scripts/test.mjs
import { BROWSER_ADVICE, findBrowser } from '../../../scripts/browser.mjs'
import { KEY } from './server.ts'

export const browserPath: string | undefined = findBrowser()

/** Why the tests are skipped, for their title. */
export const skipReason = browserPath ? '' : ` (skipped: no browser found; ${BROWSER_ADVICE})`

const FLAGS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync', '--disable-dev-shm-usage', '--in-process-gpu'],
  ...['--renderer-process-limit=1', '--disable-extensions'],
]

/** For whatever the page or the browser takes on a busy machine. */
export const PATIENCE = 120_000

export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: browserPath ?? '', args: FLAGS, timeout: PATIENCE })
}

export type Look = { readonly theme: 'light' | 'dark'; readonly width: 400 | 1280 }

export type Opened = {
  readonly page: Page
  /** Requests to anywhere but the fixture. */
  readonly strangers: string[]
  /** Errors of the page and of its console. */
  readonly errors: string[]
  close(): Promise<void>
}

/** Opens a place of the page; `key` is left out to open it as a stranger. */
export async function openPage(
  browser: Browser,
  url: string,
  { hash = '', key = KEY }: { hash?: string; key?: string } = {},
): Promise<Opened> {
  const { page, errors, strangers } = await nextPage(browser, url)
  await page.goto(key === '' ? `${url}${hash}` : `${url}#key=${key}`)
  if (key !== '') await page.locator('.connection.live, .connection.ended, .connection.hidden').waitFor()
  if (key !== '' && hash !== '') await goTo(page, hash)
  return { page, errors, strangers, close: () => leave(page) }
}

async function nextPage(browser: Browser, url: string) {
  const context = await contextOf(browser)
  const page = idle.get(context)?.pop() ?? (await context.newPage())
  await setLook(page)
  const [errors, strangers] = watch(page, url)
  return { page, errors, strangers }
}

export async function setLook(
  page: Page,
  { theme, width }: Look = { theme: 'light', width: 1280 },
): Promise<void> {
  await page.setViewportSize({ width, height: 860 })
  await page.emulateMedia({ colorScheme: theme })
}

/** Pages that tests have left, for the next: a new one takes long. */
const idle = new WeakMap<BrowserContext, Page[]>()

async function leave(page: Page): Promise<void> {
  await page.goto('about:blank')
  await page.unrouteAll()
  for (const event of ['pageerror', 'console', 'dialog', 'request']) page.removeAllListeners(event)
  const context = page.context()
  idle.set(context, [...(idle.get(context) ?? []), page])
}

const contexts = new WeakMap<Browser, BrowserContext>()

/** Pages share one: each fixture has a port and so a storage of its own, and a new context takes a CPU second. */
async function contextOf(browser: Browser): Promise<BrowserContext> {
  const found = contexts.get(browser)
  if (found) return found
  const context = await browser.newContext({ acceptDownloads: true })
  context.setDefaultTimeout(PATIENCE)
  contexts.set(browser, context)
  return context
}

function watch(page: Page, url: string): [string[], string[]] {
  const [errors, strangers]: [string[], string[]] = [[], []]
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => {
    // A lost connection and a refused request are reported by the browser itself.
    if (message.type() === 'error' && !/Failed to load resource|ERR_/.test(message.text()))
      errors.push(message.text())
  })
  page.on('dialog', (dialog) => {
    errors.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(url)) strangers.push(request.url())
  })
  return [errors, strangers]
}

export async function goTo(page: Page, hash: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

type AxeResult = {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { html: string }[] }[]
}

/** Nothing is wider than the window. */
export async function expectFitting(page: Page): Promise<void> {
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
}

/** The page as it is now violates no rule of accessibility. */
export async function expectAccessible(page: Page): Promise<void> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe)
  const { violations } = (await page.evaluate('axe.run({ resultTypes: ["violations"] })')) as AxeResult
  const found = violations.flatMap(({ id, nodes }) =>
    nodes.slice(0, 3).map(({ html }) => `${id}: ${html.slice(0, 160)}`),
  )
  expect(found).toEqual([])
}
