// The inspector's page in a browser, over a fixture process: every page and every action.
// biome-ignore-all lint/performance/useDomNodeTextContent: the tests read what a person sees
import { existsSync, readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { isThorough, sizeOf } from '../../packages/testkit/src/runs.ts'
// @ts-expect-error: plain JavaScript, part of the build
import { bundlePage } from '../../scripts/build/page.mjs'
import {
  browserPath,
  expectAccessible,
  expectFitting,
  goTo,
  type Look,
  type Opened,
  openPage,
  PATIENCE,
  setLook,
  skipReason,
  startBrowser,
} from './support/browser.ts'
import { sampleAbout, sampleData } from './support/data.ts'
import { createRecorder, manyEvents } from './support/events.ts'
import { type Fixture, type FixtureData, KEY, startFixture } from './support/server.ts'
import { HOSTILE, manyTools } from './support/tools.ts'

const CHAT = 'c'.repeat(32)
const SERVED = 'a'.repeat(32)

type Files = { readonly script: string; readonly style: string }

let files: Files
let browser: Browser
const fixtures: Fixture[] = []
const opened: Opened[] = []

/** The page as `npm run build` left it, or bundled here. */
async function pageFiles(): Promise<Files> {
  const built = (name: string) => new URL(`../../dist/inspector/${name}`, import.meta.url)
  if (!existsSync(built('page.js'))) return bundlePage()
  return { script: readFileSync(built('page.js'), 'utf8'), style: readFileSync(built('page.css'), 'utf8') }
}

/** Starts a process with this data and opens a place of its page. */
async function visit(hash: string, { data = sampleData() }: { data?: FixtureData } = {}) {
  const fixture = await startFixture(files, data)
  fixtures.push(fixture)
  const one = await openPage(browser, fixture.url, { hash })
  opened.push(one)
  return { fixture, ...one }
}

/** The page of all tests with the sample's data that leave it as they found it: to load it takes half a CPU second. */
let shared: Awaited<ReturnType<typeof visit>> | undefined

async function visitShared(hash: string) {
  if (!shared) {
    shared = await visit(hash)
    // They stay open.
    for (const list of [opened, fixtures]) list.splice(0)
  }
  shared.fixture.posts.splice(0)
  await goTo(shared.page, hash)
  return shared
}

const textOf = (page: Page, selector: string) => page.locator(selector).first().innerText()

/** A busy machine draws later. */
const SOON = { timeout: PATIENCE }

describe.skipIf(!browserPath)(`the page${skipReason}`, () => {
  beforeAll(async () => {
    files = await pageFiles()
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await shared?.fixture.close()
  })
  afterEach(async () => {
    const wrong = [...opened, ...(shared ? [shared] : [])].flatMap(({ errors, strangers }) => [
      ...errors,
      ...strangers,
    ])
    for (const one of opened.splice(0)) await one.close()
    for (const one of fixtures.splice(0)) await one.close()
    expect(wrong).toEqual([])
  })

  const places = {
    conversations: '#/conversations',
    conversation: `#/conversations/${CHAT}`,
    'a turn': `#/conversations/${CHAT}/3?compare=1`,
    search: '#/search?q=create%20an%20issue&expected=mcp__github__create_pull_request',
    costs: '#/costs',
    servers: '#/servers/github',
    'a hostile server': '#/servers/hostile',
  }
  const looks: readonly Look[] = [
    { theme: 'light', width: 1280 },
    { theme: 'dark', width: 400 },
    { theme: 'dark', width: 1280 },
    { theme: 'light', width: 400 },
  ]

  /** A wide turn has the panes of both pages above it, and a hostile server differs in its texts only. */
  const checked: Partial<Record<string, Look['theme']>> = {
    ...{ 'a turn': 'light', search: 'dark', costs: 'light', servers: 'dark' },
  }
  // By default every page fits in two looks, and each kind is checked in one; with TEST_EFFORT, all are in all four.
  for (const look of isThorough ? looks : looks.slice(0, 2))
    test(`every page is accessible and fits: ${look.theme}, ${look.width} pixels`, async () => {
      const { page } = await visitShared('#/conversations')
      await setLook(page, look)
      for (const [name, hash] of Object.entries(places)) {
        await goTo(page, hash)
        if (name === 'search') await page.locator('.rankings').waitFor()
        else await page.locator('main h2:visible').first().waitFor()
        await expectFitting(page)
        if (isThorough || checked[name] === look.theme) await expectAccessible(page)
      }
      await setLook(page)
    })

  test('a conversation is read from the list to the cause of a broken cache, and reload keeps the place', async () => {
    const { page } = await visitShared('#/conversations')
    await page.getByRole('link', { name: /toolshelf chat/ }).click()
    expect(await textOf(page, '.pane.middle .figures')).toContain('Cache broken')
    await page.getByRole('link', { name: /Turn 3/ }).click()
    const cache = page.getByRole('region', { name: 'Prompt cache' })
    await expect
      .poll(() => cache.innerText(), SOON)
      .toContain('The definition of mcp__files__read_file changed')
    await expect
      .poll(() => cache.locator('.diff .added').first().innerText(), SOON)
      .toContain('Read the complete contents of a file')
    await page.reload()
    await cache.waitFor()
    expect(page.url()).toContain(`${CHAT}/3`)
    expect(page.url()).not.toContain(KEY)
    await page.keyboard.press('k')
    await expect
      .poll(() => page.getByRole('region', { name: 'Call', exact: true }).innerText(), SOON)
      .toContain('412 ms')
    await page.keyboard.press('k')
    const search = page.getByRole('region', { name: 'Search', exact: true })
    await expect
      .poll(() => search.innerText(), SOON)
      .toMatch(/create an issue on github[\s\S]*not searched: jira[\s\S]*0\.912/)
    const set = await textOf(page, '.sets')
    expect(set).toMatch(/Always loaded 3[\s\S]*Loaded 0[\s\S]*On the shelf 9/)
  })

  test('two turns are compared', async () => {
    const { page } = await visitShared(`#/conversations/${CHAT}/2`)
    await page.getByLabel('Compare with turn').fill('1')
    await page.keyboard.press('Enter')
    const comparison = page.getByRole('region', { name: 'Turn 2 compared with turn 1' })
    await expect.poll(() => comparison.innerText(), SOON).toMatch(/Messages\s+1\s+3\s+\+2/)
    await expect
      .poll(() => comparison.locator('.set').first().innerText(), SOON)
      .toMatch(/create_issue\s+github\s+420/)
  })

  test('an export shows what was replaced, and the file is opened again, by picker and by drop', async () => {
    const { page, fixture } = await visitShared(`#/conversations/${CHAT}`)
    await page.getByRole('button', { name: 'Export…' }).click()
    const dialog = page.getByRole('dialog')
    await expect.poll(() => dialog.innerText(), SOON).toMatch(/home folder\s*3×/)
    const saving = page.waitForEvent('download')
    await dialog.getByRole('button', { name: 'Save the file' }).click()
    const path = (await (await saving).path()) ?? ''
    await page.keyboard.press('Escape')
    const kept = fixture.data.events.splice(0)
    await page.locator('input[type=file]').setInputFiles(path)
    await page.locator('.banner').waitFor()
    await expect.poll(() => page.locator('.pane.list .row').count(), SOON).toBe(1)
    await page.getByRole('button', { name: 'Close it' }).click()
    await expect.poll(() => page.locator('.pane.list .row').count(), SOON).toBe(3)
    await page.evaluate(`{
      const dropped = new DataTransfer()
      dropped.items.add(new File(['nothing of ours'], 'notes.txt'))
      dispatchEvent(new DragEvent('drop', { dataTransfer: dropped, cancelable: true }))
    }`)
    await page.getByText('notes.txt contains no events').first().waitFor({ state: 'attached' })
    fixture.data.events.push(...kept)
  })

  test('the playground shows all rankers, why a tool is not first, tries what would lift it and saves it', async () => {
    const { page, fixture } = await visitShared('#/search')
    await page.getByLabel('Query').fill('create an issue')
    await page.locator('.ranking').nth(2).waitFor()
    await expect
      .poll(() => page.locator('.ranking h2').allInnerTexts(), SOON)
      .toEqual(['hybrid', 'lexical', 'bm25'])
    await page.getByLabel('Expected tool').fill('mcp__github__create_pull_request')
    const expected = page.getByRole('region', { name: 'Expected tool' })
    await expected.getByText(/is number \d/).waitFor()
    const why = page.getByRole('region', { name: 'Why it ranks there' })
    await expect
      .poll(() => why.innerText(), SOON)
      .toContain('mcp__github__create_pull_request is number 3 by hybrid')
    await expect.poll(() => why.locator('.score-row').count(), SOON).toBe(2)
    await expect.poll(() => why.locator('.score-drawing .stack > span').count(), SOON).toBeGreaterThan(4)
    await expect.poll(() => why.locator('.word-map .dot').count(), SOON).toBeGreaterThan(0)
    await expected.getByRole('button', { name: 'Try', exact: true }).click()
    await expected.getByText('with a change, not saved').waitFor()
    await expected.getByText('is number 2.').waitFor()
    await expected.getByRole('button', { name: 'Save this hint…' }).click()
    const dialog = page.getByRole('dialog')
    await expect
      .poll(() => dialog.locator('.diff .added').innerText(), SOON)
      .toContain('"hint": "create an issue"')
    await dialog.getByRole('button', { name: 'Save', exact: true }).click()
    const saved = page.getByRole('dialog', { name: 'The hint is saved' })
    await saved.waitFor()
    await page.keyboard.press('Escape')
    await saved.waitFor({ state: 'detached' })
    const sent = fixture.posts.filter(({ path }) => path === 'api/hint').map(({ body }) => body)
    expect(sent).toMatchObject([{ isConfirmed: false }, { isConfirmed: true, hint: 'create an issue' }])
  })

  test('costs name the most expensive server, what is unused, and money beside tokens', async () => {
    const { page } = await visitShared('#/costs')
    const rows = page.getByRole('region', { name: 'Cost per server' }).locator('tbody tr')
    await expect.poll(() => rows.first().innerText(), SOON).toMatch(/hostile\s+1\s+5,000/)
    const tools = page.getByRole('group', { name: 'Cost per tool' }).locator('li')
    await expect.poll(() => tools.count(), SOON).toBe(12)
    expect(await tools.first().innerText()).toMatch(/mcp__hostile__trap\s+5,000/)
    const days = page.getByRole('region', { name: 'Savings by day' }).locator('tbody tr')
    await expect.poll(() => days.first().innerText(), SOON).toMatch(/2026-\d\d-\d\d.*\$0\.\d+/)
    const unused = page.getByRole('region', { name: 'Tools never used' })
    await expect.poll(() => unused.innerText(), SOON).toContain('10 tools')
    await unused.getByRole('button', { name: /^Called/ }).click()
    await expect.poll(() => unused.innerText(), SOON).toContain('mcp__github__create_issue')
  })

  test('servers are stopped and started, their changes accepted, and failures shown', async () => {
    const { page, fixture } = await visitShared('#/servers/github')
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    await page.getByRole('button', { name: 'Accept create_issue' }).click()
    await page.getByRole('button', { name: 'Accept create_issue' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Accept instructions' }).click()
    await page.getByRole('region', { name: 'Changed since accepted' }).waitFor({ state: 'detached' })
    expect(fixture.posts.filter(({ path }) => path === 'api/pins').map(({ body }) => body)).toEqual([
      { server: 'github', kind: 'tool', names: ['create_issue'], versions: ['v1'] },
      { server: 'github', kind: 'instructions', names: ['instructions'], versions: ['v2'] },
    ])
    await goTo(page, '#/servers/slack')
    await page.getByRole('button', { name: 'Log in…' }).click()
    await expect
      .poll(() => page.getByRole('alert').innerText(), SOON)
      .toBe('the server does not offer a login')
    await goTo(page, '#/servers/jira')
    expect(await textOf(page, '.server')).toMatch(/ended with code 1[\s\S]*JIRA_TOKEN is not set/)
  })

  test('everything is reached by keyboard, and colours can be chosen', async () => {
    const { page } = await visitShared('#/conversations')
    await page.keyboard.press('?')
    await expect.poll(() => page.getByRole('dialog').innerText(), SOON).toContain('next and previous turn')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('/')
    await page.keyboard.type('chat')
    await expect.poll(() => page.locator('.pane.list .row').count(), SOON).toBe(1)
    await page.keyboard.press('Tab')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'toolshelf chat' }).waitFor()
    await page.keyboard.press('4')
    await page.getByRole('heading', { name: '5 servers' }).waitFor()
    const ground = 'getComputedStyle(document.body).backgroundColor'
    const light = await page.evaluate(ground)
    await page.getByLabel('Colours').selectOption('dark')
    expect(await page.evaluate(ground)).not.toBe(light)
    await page.reload()
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark')
  })

  test('texts of a hostile server are shown and do nothing', async () => {
    const { page } = await visit('#/servers/hostile', { data: sampleData(true) })
    const log = page.getByRole('region', { name: 'Log' })
    await expect.poll(() => log.innerText(), SOON).toContain('<script>window.__harmed=true</script>')
    await expect.poll(() => log.locator('.mark').allInnerTexts(), SOON).toContain('U+202E')
    expect((await log.innerText()).length).toBeLessThan(3000)
    await log.getByRole('button', { name: /Show more/ }).click()
    expect((await log.innerText()).length).toBeGreaterThan(15_000)
    for (const hash of [places.conversations, `#/conversations/${CHAT}/2`, '#/costs', '#/search?q=trap']) {
      await goTo(page, hash)
      await page.locator('main h2, main h3').first().waitFor()
    }
    expect(await page.evaluate('window.__harmed')).toBeUndefined()
    expect(HOSTILE.long.length).toBeGreaterThan(1_000_000)
  })

  test('new events appear by themselves, and a lost connection is shown and comes back', async () => {
    const { page, fixture } = await visitShared('#/conversations')
    const { records, add } = createRecorder({ start: Date.UTC(2026, 10, 17), processId: 99 })
    const emit = (id: string) => {
      add({ type: 'opened', kind: 'chat', client: { name: `client ${id}` } }, id)
      fixture.emit(records.at(-1)!)
    }
    emit('first')
    await page.getByText('client first').waitFor()
    fixture.cutOff()
    await page.getByText('The connection to Toolshelf is lost').waitFor()
    fixture.resume()
    emit('second')
    await page.locator('.connection.live').waitFor()
    await page.getByText('client second').waitFor()
    await expect.poll(() => page.locator('.pane.list .row').count(), SOON).toBe(5)
  })

  test('without its key the page asks for it', async () => {
    const fixture = await startFixture(files, sampleData())
    fixtures.push(fixture)
    const one = await openPage(browser, fixture.url, { key: '', hash: `#/conversations/${SERVED}` })
    opened.push(one)
    await one.page.getByLabel('Key', { exact: true }).fill(KEY)
    await one.page.keyboard.press('Enter')
    await one.page.locator('.connection.live').waitFor()
    expect(await textOf(one.page, '.pane.middle')).toContain('claude-cli')
  })

  test('who may not read conversations is told so, and sees the rest', async () => {
    const data = sampleData()
    const can = { conversations: false, search: true, manageServers: false, saveHints: false }
    const { page } = await visit('#/conversations', { data: { ...data, about: sampleAbout({ can }) } })
    await page.getByRole('heading', { name: 'You cannot see what others did' }).waitFor()
    await page.locator('.connection.hidden').waitFor()
    await goTo(page, '#/servers/files')
    await page.getByRole('link', { name: /read_file/ }).click()
    await expect.poll(() => page.getByLabel('Expected tool').inputValue(), SOON).toBe('mcp__files__read_file')
  })

  test('where there is nothing, each page says what to do next, and costs claim no savings without a request', async () => {
    const data = { about: sampleAbout(), servers: [], tools: [], events: [] }
    const { page, fixture } = await visit('#/conversations', { data })
    expect(await textOf(page, 'main')).toContain('toolshelf mcp --audit')
    for (const [hash, advice] of [
      ['#/servers', 'toolshelf connect'],
      ['#/costs', 'toolshelf add'],
      ['#/search', 'What would a model search for?'],
    ] as const) {
      await goTo(page, hash)
      await page.locator('main').getByText(advice).first().waitFor()
      if (isThorough) await expectAccessible(page)
    }
    const { tools, servers } = sampleData()
    Object.assign(fixture.data, { tools, servers })
    const turn = { version: 1, time: '2026-01-01T00:00:00.000Z', processId: 1, conversation: 'a' }
    fixture.emit({ ...turn, sequence: 1, type: 'opened', kind: 'mcp' } as never)
    fixture.emit({
      ...turn,
      ...{ sequence: 2, type: 'listed', mode: 'bridge', pool: 'p', loaded: [] },
      tools: { visible: 0, total: 30, tokensWith: 0, tokensWithout: 4000 },
    } as never)
    await goTo(page, '#/costs')
    await page.getByText('Unknown: an MCP client').first().waitFor()
    expect(await textOf(page, 'main')).not.toContain('0 tokens in')
  })

  test('thousands of tools and events are lists of a few elements', async () => {
    const count = sizeOf({ quick: 1500, full: 10_000 })
    const tools = manyTools(count).map((tool) => ({ ...tool, server: 'server-0' }))
    const [server] = sampleData().servers
    const servers = [{ ...server!, name: 'server-0' }]
    const data = { ...sampleData(), tools, servers, events: manyEvents(count, tools) }
    const { page } = await visit('#/servers/server-0', { data })
    const list = page.getByRole('group', { name: 'Tools' })
    await list.locator('li').first().waitFor()
    await expect.poll(() => list.locator('li').count(), SOON).toBeLessThan(60)
    await list.focus()
    await page.keyboard.press('End')
    await page.getByText(`tool_${count - 1}`).waitFor()
    await goTo(page, '#/conversations')
    await page.locator('.pane.list .row').first().waitFor()
    await expect.poll(() => page.locator('*').count(), SOON).toBeLessThan(1500)
    await goTo(page, '#/costs')
    await page.getByRole('group', { name: 'Cost per tool' }).locator('li').first().waitFor()
    await expect.poll(() => page.locator('*').count(), SOON).toBeLessThan(1500)
  })
})
