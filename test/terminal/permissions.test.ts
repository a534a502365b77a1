// Questions of the agent in a terminal: what would change is shown, an answer can hold for longer, and rules are seen.
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { keys, newPlace, openHere, type Place, rest, type Screen, shareScreen } from './support.ts'

const before = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`).join('\n')
const edit = { path: 'a.txt', old: 'line 10', new: 'changed\u001b[2J' }
const rules = [
  {
    when: 'edit',
    do: [{ call: 'Read', input: { path: 'a.txt' } }, { call: 'Edit', input: edit }, { say: 'Edited.' }],
  },
  {
    when: 'write',
    do: [{ call: 'Write', input: { path: 'new.txt', content: 'one\ntwo\n' } }, { say: 'Written.' }],
  },
  {
    when: 'outside',
    do: [{ call: 'Read', input: { path: '../outside.txt' } }, { say: 'Heard: {{result}}' }],
  },
  { when: 'again', do: [{ call: 'Bash', input: { command: 'echo loud' } }, { say: 'Heard: {{result}}' }] },
  { when: 'hidden', do: [{ call: 'Bash', input: { command: 'echo $(echo hidden)' } }, { say: 'Over.' }] },
]

/** Several tests share the one with colours. */
function scene(isShared = false): { readonly place: Place; readonly chat: () => Promise<Screen> } {
  const root = newPlace()
  const folder = join(root.folder, 'project')
  mkdirSync(folder)
  writeFileSync(join(folder, 'a.txt'), `${before}\n`)
  writeFileSync(join(root.folder, 'outside.txt'), 'private text\n')
  writeFileSync(join(folder, 'script.json'), JSON.stringify({ rules }))
  const place = { ...root, folder }
  const chat = async () => {
    const size = { columns: 110, rows: 45, isShared, hasColours: isShared }
    const screen = openHere(place, ['chat', '--script', 'script.json', '--audit', 'audit.jsonl'], size)
    await screen.shows(/Servers +none/)
    return screen
  }
  return { place, chat }
}

describe('a question', () => {
  const { place, chat } = scene(true)
  const shared = shareScreen(chat)

  it('about an edit shows the change in colour and without control characters, as the chat does afterwards', async () => {
    const screen = shared()
    await screen.enter('edit')
    const asked = await screen.shows('[y] yes')
    expect(asked).toMatch(/Allow Edit\?[\s\S]*a\.txt \(\+1 −1\)/)
    expect(asked).toMatch(/10 - line 10\s[\s\S]*10 \+ changed\\u\{1b\}\[2J/)
    expect(asked).toContain(' 7   line 7')
    expect(asked).not.toContain('line 6')
    expect(screen.raw()).toContain('\u001b[31m10 - line 10')
    expect(screen.raw()).toContain('\u001b[32m10 + changed')
    screen.type('y')
    await screen.shows('Edited.')
    expect(screen.scrolled()).toMatch(/● Edit a\.txt \(\+1 −1\)\n[\s\S]*10 - line 10\n[\s\S]*10 \+ changed/)
    expect(readFileSync(join(place.folder, 'a.txt'), 'utf8')).toContain('changed')
    // A call is in the audit file before it runs.
    const audit = readFileSync(join(place.folder, 'audit.jsonl'), 'utf8')
    expect(audit).toMatch(/"type":"opened","kind":"chat"/)
    expect(audit).toMatch(/"type":"permission".*"name":"Edit","isAllowed":true/)
    expect(audit).toMatch(/"type":"call".*"name":"Edit"/)
    expect(audit).not.toContain('line 10')
  })

  it('about a new file shows what it would hold', async () => {
    const screen = shared()
    await screen.enter('write')
    expect(await screen.shows('[y] yes')).toMatch(/new\.txt \(new, 2 lines\)[\s\S]*1 \+ one[\s\S]*2 \+ two/)
    screen.type('n')
    await screen.shows('Written.')
  })

  it('about a file outside of the folder shows where it is, and what ran shows it, too', async () => {
    const screen = shared()
    await screen.enter('outside')
    const asked = await screen.shows('[y] yes')
    expect(asked).toMatch(/Allow Read\?[\s\S]*reads outside of the working folder: .*outside\.txt/)
    screen.type('y')
    await screen.shows('private text')
    expect(screen.scrolled()).toMatch(
      /● Read\(path: "\.\.\/outside\.txt"\)\n.*outside of the working folder: \//,
    )
    expect(existsSync(place.folder)).toBe(true)
  })

  it('about a link inside the folder shows what it leads to', async () => {
    mkdirSync(join(place.folder, '.git/hooks'), { recursive: true })
    symlinkSync('.git/hooks/pre-commit', join(place.folder, 'new.txt'))
    const screen = shared()
    await screen.enter('write')
    expect(await screen.shows('[y] yes')).toMatch(/by a link, changes: .*\.git\/hooks\/pre-commit/)
    screen.type('n')
    await screen.shows('Written.')
  })

  it('about a line that hides something can only be allowed once', async () => {
    const screen = shared()
    await screen.enter('hidden')
    const asked = await screen.shows('[y] yes')
    expect(asked).not.toContain('[a] always')
    screen.type('u')
    await rest(100)
    screen.type('n')
    await screen.shows('Over.')
    expect(screen.scrolled()).not.toContain('Heard: hidden')
  })
})

describe('an answer', () => {
  it('can be given for this folder', async () => {
    const { chat } = scene()
    const screen = await chat()
    await screen.enter('again')
    await screen.shows('[p] in this folder')
    screen.type('p')
    await screen.shows('Heard: loud')
    await screen.enter('/permissions')
    await screen.shows(/allow +Bash\(echo loud\) +\(in this folder\)/)
    await screen.enter('/permissions remove Bash(none)')
    await screen.shows('No such rule: Bash(none).')
  })

  it('can be given for everywhere, which the next session knows, and /permissions shows and removes', async () => {
    const { place, chat } = scene()
    const first = await chat()
    await first.enter('again')
    expect(await first.shows('[y] yes')).toMatch(
      /\[a\] always in this session.*\[p\] in this folder.*\[u\] everywhere/,
    )
    expect(first.text()).toContain('rule for always: Bash(echo loud)')
    first.type('u')
    await first.shows('Heard: loud')
    const file = join(place.folder, '../home/.config/toolshelf/permissions.json')
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ allow: ['Bash(echo loud)'] })
    first.type(keys.ctrlD)
    await first.ended()
    const second = await chat()
    await second.enter('again')
    await second.shows('Heard: loud')
    expect(second.scrolled()).not.toContain('Allow Bash?')
    await second.enter('/permissions')
    await second.shows(/allow +Bash\(echo loud\) +\(everywhere\)/)
    await second.enter('/permissions remove Bash(echo loud)')
    await second.shows('Removed: allow Bash(echo loud) everywhere.')
    await second.enter('/permissions deny Bash(echo *)')
    await second.shows('deny Bash(echo *) holds in this session.')
    await second.enter('again')
    await second.shows('Refused by the permission rule')
  })
})
