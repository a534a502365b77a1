// What can be wrong around a chat: each a sentence that says what to do, and nothing is lost.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runHere } from '../../packages/testkit/src/cli-here.ts'
import { keys, newPlace, openHere, type Place } from './support.ts'

const scriptIn = (place: Place) =>
  place.file('script.json', { rules: [{ do: [{ say: 'I heard: {{user}}' }] }] })

/** An API that refuses, as the real one does. */
async function refusing(status: number, type: string, message: string): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ type: 'error', error: { type, message } }))
    })
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const isRoot = process.getuid?.() === 0

describe('bad input to a chat', () => {
  it('a configuration that cannot be read is named, and the chat works', async () => {
    const place = newPlace()
    const config = place.file('mcp.json', '{ "mcpServers": { oops')
    const configs = ['--config', config, '--config', 'none.json']
    const screen = openHere(place, ['chat', '--script', scriptIn(place), ...configs], { rows: 40 })
    const text = await screen.shows(/Servers +none/)
    expect(text).toMatch(/mcp\.json/)
    expect(text).toMatch(/none\.json/)
    await screen.enter('hello')
    await screen.shows('I heard: hello')
  })

  it('reports an unknown model with what to do, and another can be chosen', async () => {
    const url = await refusing(404, 'not_found_error', 'model: no-such-model')
    const place = newPlace({ ANTHROPIC_API_KEY: 'key' })
    const screen = openHere(place, ['chat', '--base-url', url, '--model', 'no-such-model'])
    await screen.shows(/Servers +none/)
    await screen.enter('hello')
    const text = await screen.shows('Check the name of the model')
    expect(text).toContain('model: no-such-model')
    await screen.enter('/model another')
    await screen.shows('The model is now another.')
  })

  it('reports a refused key with what to do, and keeps the message', async () => {
    const url = await refusing(401, 'authentication_error', 'invalid x-api-key')
    const place = newPlace({ ANTHROPIC_API_KEY: 'wrong' })
    const screen = openHere(place, ['chat', '--base-url', url])
    await screen.shows(/Servers +none/)
    await screen.enter('hello there')
    const text = await screen.shows('check ANTHROPIC_API_KEY')
    expect(text).toContain('invalid x-api-key')
    screen.type(keys.up)
    await screen.shows(/> hello there.*> hello there/s)
  })

  it('without any model it says how to get one', async () => {
    const screen = openHere(newPlace(), ['chat'])
    expect(await screen.ended()).toBe(1)
    await screen.shows('Set ANTHROPIC_API_KEY')
  })

  it('reports an invalid script, and starts nothing', async () => {
    const place = newPlace()
    const screen = openHere(place, ['chat', '--script', place.file('bad.json', '{')])
    expect(await screen.ended()).toBe(1)
    await screen.shows('bad.json')
  })

  it('reports a folder that does not exist', async () => {
    const place = newPlace()
    const screen = openHere(place, ['chat', '--script', scriptIn(place), '--directory', '/no/such/folder'])
    expect(await screen.ended()).toBe(1)
    await screen.shows('the folder /no/such/folder does not exist')
  })

  it('reports a full disk once, and the chat continues', async () => {
    const place = newPlace({ XDG_DATA_HOME: isRoot ? '/dev/full' : '/proc' })
    const screen = openHere(place, ['chat', '--script', scriptIn(place)], { rows: 40 })
    await screen.shows(/Servers +none/)
    await screen.shows('the conversation is not being saved')
    for (const word of ['one', 'two']) {
      await screen.enter(word)
      await screen.shows(new RegExp(`I heard: ${word}.*\\d out`, 's'))
    }
    expect(screen.scrolled().match(/is not being saved/g)).toHaveLength(1)
    screen.type(keys.ctrlD)
    expect(await screen.ended()).toBe(0)
    expect(screen.scrolled()).not.toContain('The session is saved')
  })

  it.skipIf(isRoot)('reports a folder without permission', async () => {
    const place = newPlace()
    const data = join(place.folder, 'data')
    mkdirSync(data)
    chmodSync(data, 0o500)
    const screen = openHere(place, ['chat', '--script', scriptIn(place)], { rows: 40 })
    await screen.shows('the conversation is not being saved')
    await screen.shows('/help shows')
    await screen.enter('hello')
    await screen.shows('I heard: hello')
  })

  it('a skill with broken front matter is named, and the others are there', async () => {
    const place = newPlace()
    for (const [name, text] of [
      ['broken', '---\nname: [broken\n---\nx'],
      ['whole', '---\nname: whole\ndescription: Does it all\n---\nDo it.'],
    ] as const) {
      mkdirSync(join(place.folder, '.agents/skills', name), { recursive: true })
      writeFileSync(join(place.folder, '.agents/skills', name, 'SKILL.md'), text)
    }
    const screen = openHere(place, ['chat', '--script', scriptIn(place)], { rows: 40 })
    // What cannot be used needs no trust.
    const asked = await screen.shows('Trust this content?')
    expect(asked).toContain('(1 skill)')
    await screen.enter('y')
    await screen.shows(/Servers +none/)
    await screen.shows('the skill in .agents/skills/broken is left out')
    await screen.enter('/skills')
    await screen.shows(/whole {2}Does it all/)
  })

  it('without a terminal it points to run', async () => {
    const place = newPlace()
    const { code, told } = await runHere(place, ['chat', '--script', scriptIn(place)])
    expect(code).toBe(1)
    expect(told).toContain('a chat needs a terminal. Without one, use "toolshelf run".')
  })
})
