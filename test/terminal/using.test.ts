// What helps a model use tools it cannot see: what it did, why, and its switches, as a person sees them.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { lightPackages } from '../cli/light-demo.ts'
import { newPlace, openHere } from './support.ts'

const script = join(lightPackages(), '@modelcontextprotocol/server-everything/dist/index.js')

function place() {
  const made = newPlace()
  const config = made.file('mcp.json', {
    mcpServers: { everything: { command: process.execPath, args: [script] } },
  })
  const rules = made.file('script.json', { rules: [{ do: [{ say: 'I heard: {{user}}' }] }] })
  return { made, words: ['chat', '--script', rules, '--config', config] }
}

describe('using what is deferred, in a chat', () => {
  it('a tool that a message names is loaded, and /tools and /using say why', async () => {
    const { made, words } = place()
    const screen = openHere(made, [...words, '--remind', '2'], { columns: 120 })
    await screen.shows(/everything \d+/)
    await screen.enter('get-sum would add two numbers for me')
    await screen.shows('I heard: get-sum')
    await screen.enter('/tools')
    await screen.shows('mcp__everything__get-sum (you named it)')
    await screen.enter('/using')
    const shown = await screen.shows('mcp__everything__get-sum: named in your message')
    expect(shown).toMatch(/describe +off/)
    expect(shown).toMatch(/remind +2 deferred tools that fit/)
    expect(shown).toMatch(/preload +tools that your message names/)
    expect(shown).toMatch(/learn +off/)
    expect(await screen.shows('To switch:')).toMatch(
      /To switch: +\/using remind 0 · \/using preload off · \/using learn on\n/,
    )
  })

  it('each can be switched off and on', async () => {
    const { made, words } = place()
    const screen = openHere(made, words, { columns: 120 })
    await screen.shows(/everything \d+/)
    await screen.enter('/using preload off')
    await screen.shows('preload is off.')
    await screen.enter('get-sum, please')
    await screen.shows('I heard: get-sum')
    await screen.enter('/tools')
    expect(await screen.shows('none by search yet')).not.toContain('you named it')
    await screen.enter('/using remind 3')
    await screen.shows('3 deferred tools named')
    await screen.enter('Which tool tells me the sum of two numbers?')
    await screen.shows('I heard: Which tool')
    await screen.enter('/using')
    await screen.shows(/mcp__everything__\S+: fits your last message/)
    await screen.enter('/using forget mcp__everything__get-sum')
    await screen.shows('Learning is off: start with --learn')
    await screen.enter('/using remind many')
    await screen.shows('To switch: /using remind 3')
  })

  it('reports a pin with its reason, and it can be forgotten', async () => {
    const { made, words } = place()
    const used = { tool: 'mcp__everything__get-sum', server: 'everything', original: 'get-sum', tokens: 100 }
    const session = { turns: 4, searchTokens: 4000, tools: [used] }
    const usage = { version: 1, sessions: [session, session, session], forgotten: [] }
    mkdirSync(join(made.folder, 'data', 'toolshelf'), { recursive: true })
    made.file(join('data', 'toolshelf', 'usage.json'), usage)
    const screen = openHere(made, [...words, '--learn'], { columns: 120 })
    await screen.shows(/everything \d+/)
    await screen.enter('/tools')
    await screen.shows(/Working set .*mcp__everything__get-sum/s)
    await screen.enter('/using')
    await screen.shows(/mcp__everything__get-sum: loaded and called in 3 of the last 3 sessions/)
    await screen.enter('/using forget mcp__everything__get-sum')
    await screen.shows('no longer kept loaded, from the next session on')
    await screen.enter('/quit')
    expect(await screen.ended()).toBe(0)
    const again = openHere(made, [...words, '--learn'], { columns: 120 })
    await again.shows(/everything \d+/)
    await again.enter('/using')
    expect(await again.shows('To switch')).not.toContain('get-sum')
  })
})
