// The guides: what they link to is there, what they tell people to type exists, and their JSON can be read.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { chat } from '../src/cli/chat.ts'
import type { Command } from '../src/cli/command.ts'
import { config } from '../src/cli/config.ts'
import { doctor } from '../src/cli/doctor.ts'
import { importServers } from '../src/cli/import.ts'
import { login } from '../src/cli/login.ts'
import { mcp } from '../src/cli/mcp.ts'
import { pins } from '../src/cli/pins.ts'
import { run } from '../src/cli/run.ts'
import { serve } from '../src/cli/serve.ts'

const commands: readonly Command[] = [chat, config, doctor, importServers, login, mcp, pins, run, serve]
const folder = fileURLToPath(new URL('../docs/guides', import.meta.url))

describe.each(readdirSync(folder))('%s', (name) => {
  const file = join(folder, name)
  const text = readFileSync(file, 'utf8')

  it('links to files and headings that are there', () => {
    const links = [...text.matchAll(/\]\(([^)#\s]+)(?:#([^)]+))?\)/g)]
    expect(links.length).toBeGreaterThan(0)
    for (const [, path = '', anchor] of links) {
      const target = join(dirname(file), path)
      expect(existsSync(target), path).toBe(true)
      if (anchor) expect(anchorsIn(readFileSync(target, 'utf8')), `${path}#${anchor}`).toContain(anchor)
    }
  })

  it('has JSON that can be read', () => {
    for (const json of blocks(text, 'json')) expect(() => JSON.parse(json), json).not.toThrow()
  })

  it('names commands and options that exist', () => {
    const lines = blocks(text, 'sh').flatMap((block) => block.split('\n'))
    for (const line of lines) {
      const [, called, options = ''] = /\btoolshelf ([a-z]+)([^#]*)/.exec(line) ?? []
      if (called === undefined) continue
      const command = commands.find(({ name }) => name === called)
      expect(command, line).toBeDefined()
      for (const [, option = ''] of options.matchAll(/ --([a-z-]+)/g))
        expect(Object.keys(command?.options ?? {}), line).toContain(option)
    }
  })
})

function blocks(text: string, language: string): string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(
    ([, body = '']) => body,
  )
}

/** As GitHub names headings. */
function anchorsIn(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
}
